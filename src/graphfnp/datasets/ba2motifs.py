"""BA2Motifs, generated: a Barabasi-Albert tree of 20 nodes with a five-node cycle (class 0) or a house (class 1)."""

import networkx as nx
import numpy as np
import torch
from torch import Tensor

from graphfnp.degrees import DEGREE_SIZE, degree_feature
from graphfnp.graphs import PackedGraphs, Schema
from graphfnp.randomness import derive_seed

TREE, MOTIF = 20, 5
CYCLE = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)]
HOUSE = [*CYCLE, (1, 4)]  # a square 1-2-3-4 under the roof 0

SCHEMA = Schema(class_names=("cycle", "house"), node_sizes=(DEGREE_SIZE,), features="degree")


def generate_ba2motifs(num_graphs: int = 1000, seed: int = 0) -> PackedGraphs:
    """The first half are cycles, the second houses, as in the public file; ``edge_truth`` marks the motif's edges."""
    random = np.random.default_rng(derive_seed(seed, "ba2motifs"))
    labels = torch.arange(num_graphs) >= num_graphs // 2
    edges = [_one_graph(HOUSE if label else CYCLE, random) for label in labels.tolist()]
    edge_index = torch.cat(edges, dim=1)
    node_ptr = torch.arange(num_graphs + 1) * (TREE + MOTIF)
    edge_ptr = torch.tensor([0, *np.cumsum([e.shape[1] for e in edges])])
    offset = torch.repeat_interleave(node_ptr[:-1], edge_ptr.diff())
    return PackedGraphs.build(
        x=degree_feature(edge_index + offset, int(node_ptr[-1])),
        edge_index=edge_index,
        node_ptr=node_ptr,
        edge_ptr=edge_ptr,
        y=labels.long(),
        schema=SCHEMA,
        edge_truth=(edge_index >= TREE).all(0),
    )


def _one_graph(motif: list[tuple[int, int]], random: np.random.Generator) -> Tensor:
    """[2, edges] in both directions: nodes 0-19 are the tree, 20-24 the motif."""
    tree = list(nx.barabasi_albert_graph(TREE, 1, seed=int(random.integers(2**31))).edges)
    link = (int(random.integers(TREE)), TREE + int(random.integers(MOTIF)))
    edges = torch.tensor([*tree, *((TREE + a, TREE + b) for a, b in motif), link]).T
    return torch.cat([edges, edges.flip(0)], dim=1)
