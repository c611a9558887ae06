"""BA2Motifs, generated or public: a Barabasi-Albert tree of 20 nodes with a five-node cycle (class 0) or a house."""

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from graphfnp.datasets.archives import member_bytes, numeric_arrays, refused_pickle
from graphfnp.datasets.dataset import Reading
from graphfnp.errors import InvalidGraphs
from graphfnp.graphs.edges import tidy_edges
from graphfnp.graphs.packed import PackedGraphs, Schema
from graphfnp.graphs.pointers import pointer_array
from graphfnp.randomness import derive_seed

TREE, MOTIF = 20, 5
CYCLE = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)]
HOUSE = [*CYCLE, (1, 4)]  # a square 1-2-3-4 under the roof 0
ARRAYS = "BA_2Motifs.npz"
PICKLES = ("BA_2Motifs.pkl", "BA-2motif.pkl")  # the names PyG and PGExplainer give it


def generate_ba2motifs(num_graphs: int = 1000, seed: int = 0) -> PackedGraphs:
    """The first half are cycles, the second houses, as in the public file; ``edge_truth`` marks the motif's edges."""
    random = np.random.default_rng(derive_seed(seed, "ba2motifs"))
    labels = torch.arange(num_graphs) >= num_graphs // 2
    edges = [_one_graph(HOUSE if label else CYCLE, random) for label in labels.tolist()]
    edge_ptr = torch.from_numpy(pointer_array([e.shape[1] for e in edges]))
    return _packed(torch.cat(edges, dim=1), edge_ptr, labels.long())


def constant_features(graphs: PackedGraphs) -> PackedGraphs:
    """The same graphs, all nodes with the same features, as explainers of edges are compared.

    Degrees would tell a model the number of edges by themselves, so that no edge had to be looked at.
    """
    schema = replace(graphs.schema, node_sizes=(1,), features="types")
    node_type = torch.zeros(len(graphs.x), dtype=torch.long)
    return replace(graphs, x=node_type.unsqueeze(1), node_type=node_type, schema=schema)


def _packed(edge_index: Tensor, edge_ptr: Tensor, y: Tensor) -> PackedGraphs:
    node_ptr, schema = torch.arange(len(y) + 1) * (TREE + MOTIF), Schema.of_degrees(("cycle", "house"))
    truth = (edge_index >= TREE).all(0)
    return PackedGraphs.build(None, edge_index, node_ptr, edge_ptr, y, schema, edge_truth=truth)


def _one_graph(motif: list[tuple[int, int]], random: np.random.Generator) -> Tensor:
    """[2, edges] in both directions: nodes 0-19 are the tree, 20-24 the motif."""
    import networkx as nx  # slow to import, and only generating needs it

    tree = list(nx.barabasi_albert_graph(TREE, 1, seed=int(random.integers(2**31))).edges)
    link = (int(random.integers(TREE)), TREE + int(random.integers(MOTIF)))
    edges = torch.tensor([*tree, *((TREE + a, TREE + b) for a, b in motif), link]).T
    return torch.cat([edges, edges.flip(0)], dim=1)


def read_ba2motifs(place: Path) -> Reading:
    """The public file as ``BA_2Motifs.npz`` (adj, x, y); the original, a pickle, is refused.

    Its constant features say nothing, so the degree is the feature here too. In 40 graphs the motif hangs on nothing:
    the linking edge is a self-loop, which goes.
    """
    content = member_bytes(place, ARRAYS)
    if content is None:
        found = next((name for name in PICKLES if (place / name).is_file()), PICKLES[0])
        opened = f"import numpy, pickle; a, x, y = pickle.load(open('{found}', 'rb'))"
        raise refused_pickle(place / found, ARRAYS, f"{opened}; numpy.savez('{ARRAYS}', adj=a, x=x, y=y)")
    arrays = numeric_arrays(io.BytesIO(content), ARRAYS, ("adj", "y"))
    adjacency, label = arrays["adj"], arrays["y"]
    label = label.argmax(1) if label.ndim == 2 else label
    nodes = TREE + MOTIF
    if adjacency.shape[1:] != (nodes, nodes) or label.shape != adjacency.shape[:1]:
        given = f"{ARRAYS} with adj of shape {adjacency.shape} and y of shape {label.shape}"
        raise InvalidGraphs(given, f"[graphs, {nodes}, {nodes}] and [graphs]", "check the file")
    graph, source, target = np.nonzero(adjacency)
    node_ptr = np.arange(len(adjacency) + 1) * nodes
    tidy = tidy_edges(source + node_ptr[graph], target + node_ptr[graph], node_ptr)
    return Reading(_packed(tidy.edge_index, tidy.edge_ptr, torch.as_tensor(label).long()), tidy.notes)
