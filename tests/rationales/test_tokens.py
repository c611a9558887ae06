"""Drawn features of words."""

from dataclasses import replace

import torch

from graphfnp.chemistry.structures import structures_from_graphs
from graphfnp.graphs.packed import PackedGraphs, Schema
from graphfnp.graphs.structure import Structure, substructure
from graphfnp.rationales.candidates import with_known_features, with_usual_features
from graphfnp.report.drawing import picture_structure


def test_drawn_features_become_the_nearest_known_words() -> None:
    schema = Schema(("bad", "good"), "text", node_width=2)
    vectors = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    graphs = PackedGraphs.build(
        vectors, edges, torch.tensor([0, 3]), torch.tensor([0, 4]), torch.tensor([1]), schema, text=["very good film"]
    )
    drawn = Structure((0, 0), ((0, 1, 0),), x=torch.tensor([[0.9, 0.1], [0.1, 0.8]]))
    found = with_known_features([drawn], graphs)[0]
    assert found.names == ("good", "film")
    assert torch.equal(found.x, vectors[1:])
    assert structures_from_graphs(graphs)[0].names == ("very", "good", "film")
    assert substructure(structures_from_graphs(graphs)[0], [1, 2]).names == ("good", "film")
    twice = replace(graphs, text=["good good film"])
    assert torch.equal(with_usual_features([found], twice)[0].x, torch.tensor([[0.5, 0.0], [0.0, 1.0]]))
    svg = picture_structure(found, schema).svg()
    assert "good" in svg
    assert "film" in svg
