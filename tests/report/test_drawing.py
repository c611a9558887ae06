"""Drawings: molecules by RDKit, sentences as words, everything else as a layout."""

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import networkx as nx
import numpy as np
import pytest
import torch
from sample_reports import MOLECULES, motif, pack_molecules

from graphfnp.datasets.ba2motifs import HOUSE, generate_ba2motifs
from graphfnp.graphs.packed import PackedGraphs, Schema
from graphfnp.graphs.structure import Structure
from graphfnp.report.cards import write_cards
from graphfnp.report.drawing import legend, node_colour, picture_graph, picture_structure
from graphfnp.report.layout import place_nodes
from graphfnp.report.molecule import MoleculePicture
from graphfnp.report.palette import ALERT
from graphfnp.report.sketch import Sketch

PLAIN = Schema(("a", "b"))
BENZENE = Structure((0,) * 6, ((0, 1, 3), (1, 2, 3), (2, 3, 3), (3, 4, 3), (4, 5, 3), (0, 5, 3)))


def draw_graph(graphs: PackedGraphs, index: int) -> str:
    return picture_graph(graphs, index).svg()


def draw_structure(structure: Structure, schema: Schema, highlight_nodes=(), highlight_edges=()) -> str:
    return picture_structure(structure, schema, highlight_nodes, highlight_edges).svg()


def words_graph(sentence: str, num_nodes: int) -> PackedGraphs:
    edges = [(i, i + 1) for i in range(num_nodes - 1)]
    both = torch.tensor([*edges, *((b, a) for a, b in edges)]).T
    return PackedGraphs.build(
        torch.zeros(num_nodes, 1), both, torch.tensor([0, num_nodes]), torch.tensor([0, both.shape[1]]),
        torch.tensor([0]), Schema(("negative", "positive"), kind="text", node_width=1), text=[sentence],
    )  # fmt: skip


def from_networkx(graph: nx.Graph) -> Structure:
    edges = tuple((min(a, b), max(a, b), 0) for a, b in graph.edges)
    return Structure((0,) * graph.number_of_nodes(), edges)


def test_layout_draws_each_node_once_and_each_undirected_edge_once():
    graphs = generate_ba2motifs(2)
    picture = picture_graph(graphs, 1)
    assert isinstance(picture, Sketch)
    assert len(picture.dots) == 25
    plain = [stroke for stroke in picture.strokes if stroke.colour != ALERT]
    assert len(plain) == 19 + len(HOUSE) + 1
    assert len(picture.strokes) - len(plain) == len(HOUSE)  # edge_truth, once for each edge


@pytest.mark.parametrize("size", [1, 2, 3])
def test_smallest_structures_are_drawn(size: int):
    svg = draw_structure(from_networkx(nx.path_graph(size)), PLAIN)
    assert ElementTree.fromstring(svg).findall(".//{*}circle")[0] is not None
    assert svg.count("<circle") == size


def test_marked_nodes_and_edges_stand_out():
    house = motif(HOUSE)
    assert ALERT not in draw_structure(house, PLAIN)
    assert ALERT in draw_structure(house, PLAIN, highlight_nodes=[0])
    assert ALERT in draw_structure(house, PLAIN, highlight_edges=[(1, 0)])


def test_large_graph_is_cut_to_what_can_be_seen_and_says_so():
    svg = draw_structure(from_networkx(nx.barabasi_albert_graph(600, 2, seed=0)), PLAIN)
    assert "400 of 600 nodes" in svg
    assert svg.count("<circle") == 400
    assert len(svg) < 60_000


@pytest.mark.parametrize(
    "graph",
    [
        nx.path_graph(1),
        nx.star_graph(6),
        nx.empty_graph(4),
        nx.disjoint_union(nx.cycle_graph(5), nx.path_graph(2)),
        nx.barabasi_albert_graph(150, 1, seed=0),
    ],
)
def test_nodes_lie_inside_the_box_and_apart(graph: nx.Graph):
    at = place_nodes(graph.number_of_nodes(), np.array(graph.edges, dtype=int).reshape(-1, 2), 240, 180, margin=10)
    assert np.isfinite(at).all()
    assert (at >= 9.9).all()
    assert (at <= [230.1, 170.1]).all()
    assert len(np.unique(at.round(3), axis=0)) == len(at)


def test_molecule_is_drawn_by_rdkit_from_its_smiles():
    graphs = pack_molecules(["c1ccccc1Cl", "CCO"], [0, 1])
    assert isinstance(picture_graph(graphs, 0), MoleculePicture)
    assert "bond-0" in draw_graph(graphs, 0)


def test_decoded_structure_that_is_a_molecule_is_drawn_as_one():
    assert isinstance(picture_structure(BENZENE, MOLECULES), MoleculePicture)


def test_decoded_structure_that_is_no_molecule_is_drawn_as_a_graph():
    picture = picture_structure(Structure((0,) * 6, tuple((0, i, 1) for i in range(1, 6))), MOLECULES)
    assert isinstance(picture, Sketch)
    assert {word.text for word in picture.words} == {"C"}


def test_hydrogens_are_not_drawn_and_a_marked_bond_to_one_marks_its_atom():
    schema = Schema(
        ("a", "b"), "molecule", node_sizes=(3,), edge_sizes=(1,), node_types=("C", "N", "H"), edge_types=("single",),
        features="types",
    )  # fmt: skip
    methylamine = Structure((0, 1, 2, 2, 2, 2, 2), ((0, 1, 0), (0, 2, 0), (0, 3, 0), (0, 4, 0), (1, 5, 0), (1, 6, 0)))
    svg = draw_structure(methylamine, schema)
    assert "bond-0" in svg
    assert "bond-1" not in svg
    assert "ellipse" not in svg
    assert draw_structure(methylamine, schema, highlight_edges=[(1, 5)]).count("ellipse") >= 1


def test_sentence_is_drawn_as_its_words():
    svg = draw_graph(words_graph("never <loses> its nerve", 4), 0)
    written = [text.text for text in ElementTree.fromstring(svg).findall(".//{*}text")]
    assert written == ["never", "<loses>", "its", "nerve"]


def test_sentence_whose_words_do_not_match_the_nodes_is_drawn_as_a_graph():
    assert "<text" not in draw_graph(words_graph("three words here", 4), 0)


def test_smiles_that_cannot_be_read_falls_back_to_types():
    graphs = replace(pack_molecules(["CCO"], [0]), text=("not a molecule",))
    assert draw_graph(graphs, 0).startswith("<")


def test_a_page_of_cards_says_which_colour_is_which_node_type(tmp_path: Path) -> None:
    schema = Schema(class_names=("a", "b"), node_types=("hub", "leaf"), edge_types=("edge",))
    page = write_cards(tmp_path / "page.html", "Title", (), (), "", legend=legend(schema)).read_text()
    for number, name in enumerate(schema.node_types):
        assert f'background:{node_colour(schema, number)}"></i>{name}' in page
    assert "Edges" not in page, "one type needs no key"
    assert legend(replace(schema, kind="molecule")) == {}
