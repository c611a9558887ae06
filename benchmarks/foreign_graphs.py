"""Graphs that a model should call foreign: shuffled ones, and those of other datasets in the model's features."""

from dataclasses import replace
from itertools import pairwise

import networkx as nx
import torch

from graphfnp.chemistry.smiles import graphs_from_smiles
from graphfnp.chemistry.structures import structure_to_smiles, structures_from_graphs
from graphfnp.datasets.load import load
from graphfnp.graphs.matching import matching
from graphfnp.graphs.networkx_graphs import from_networkx
from graphfnp.graphs.packed import PackedGraphs, Schema
from graphfnp.randomness import stream

SWAPS = 5  # tries for each edge


def rewired(graphs: PackedGraphs, seed: int = 0) -> PackedGraphs:
    """The same nodes and degrees: pairs of edges (a, b), (c, d) become (a, d), (c, b) where that is a simple graph."""
    generator = stream(seed, "rewired")
    source, target = graphs.edge_index.clone()
    for first, last in pairwise(graphs.edge_ptr.tolist()):
        ends = list(zip(source[first:last].tolist(), target[first:last].tolist(), strict=True))
        place = {edge: k for k, edge in enumerate(ends)}
        for e, f in torch.randint(max(len(ends), 1), (SWAPS * len(ends), 2), generator=generator).tolist():
            (a, b), (c, d) = ends[e], ends[f]
            if len({a, b, c, d}) < 4 or (a, d) in place or (c, b) in place:
                continue
            for old, new in (((a, b), (a, d)), ((c, d), (c, b)), ((b, a), (d, a)), ((d, c), (b, c))):
                k = place.pop(old)
                ends[k], place[new] = new, k
        if ends:
            source[first:last], target[first:last] = torch.tensor(ends).T
    return PackedGraphs.build(
        graphs.x, torch.stack([source, target]), graphs.node_ptr, graphs.edge_ptr, graphs.y, graphs.schema,
        graphs.edge_attr, graphs.node_type,
    )  # fmt: skip


def molecules_of(name: str, schema: Schema) -> PackedGraphs:
    """The molecules of a dataset with the features of ``schema``, whatever its own are."""
    graphs = load(name).graphs
    if graphs.schema.features == schema.features == "molecule":
        return replace(graphs, schema=schema)
    spelled = list(graphs.text or ())
    if graphs.schema.features != "molecule":
        own = structures_from_graphs(graphs)
        spelled = [smiles for one in own if (smiles := structure_to_smiles(one, graphs.schema))]
    made, _, _ = graphs_from_smiles(spelled, schema=schema)
    assert made is not None
    return made


def plain_graphs(schema: Schema, count: int = 200) -> dict[str, PackedGraphs]:
    """Graphs without features that are not BA2Motifs."""
    made = {
        "trees of 25 nodes without a motif": [nx.barabasi_albert_graph(25, 1, seed) for seed in range(count)],
        "random graphs of 25 nodes": [nx.gnm_random_graph(25, 26, seed) for seed in range(count)],
        "trees of 100 nodes": [nx.barabasi_albert_graph(100, 1, seed) for seed in range(count)],
    }
    return {name: matching(from_networkx(graphs, [0] * len(graphs)), schema) for name, graphs in made.items()}
