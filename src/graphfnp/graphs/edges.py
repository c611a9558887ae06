"""Edges of graphs: tidy and in the order PackedGraphs keeps, their two directions under one number, and degrees."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TidyEdges:
    """Undirected edges of all graphs; ``row[e]`` is the given edge that edge e (or its mirror image) comes from."""

    edge_index: Tensor  # [2, edges], local to the graph
    edge_ptr: Tensor  # [graphs + 1]
    row: Integers  # [edges]
    notes: tuple[str, ...]


def tidy_edges(source: Integers, target: Integers, node_ptr: Integers) -> TidyEdges:
    """Loops and duplicates go, missing mirror images come; nodes are numbered over all graphs."""
    count = int(node_ptr[-1])
    row = np.flatnonzero(source != target)
    loops = len(source) - len(row)
    key, first = np.unique(target[row] * count + source[row], return_index=True)  # the first of equals stays
    duplicates = len(row) - len(key)
    row = row[first]
    mirror = (key % count) * count + key // count if count else key
    missing = ~np.isin(mirror, key, assume_unique=True)
    key, row = np.concatenate([key, mirror[missing]]), np.concatenate([row, row[missing]])
    order = np.argsort(key, kind="stable")
    key, row = key[order], row[order]
    edges = np.stack([key % count, key // count]) if count else np.zeros((2, 0), dtype=np.int64)
    owner = np.searchsorted(node_ptr, edges[1], side="right") - 1
    said = ((loops, "self-loops removed"), (duplicates, "duplicate edges removed"), (missing.sum(), "edges mirrored"))
    return TidyEdges(
        edge_index=torch.from_numpy(edges - node_ptr[owner]),
        edge_ptr=torch.from_numpy(np.searchsorted(owner, np.arange(len(node_ptr)))),
        row=row,
        notes=tuple(f"{number} {what}" for number, what in said if number),
    )


def global_edges(edge_index: Tensor, node_ptr: Tensor, edge_ptr: Tensor) -> Tensor:
    """Local node numbers as numbers over all graphs."""
    return edge_index + torch.repeat_interleave(node_ptr[:-1], edge_ptr.diff())


def edge_pairs(edge_index: Tensor, num_nodes: int) -> tuple[Tensor, int]:
    """[edges]: the same number for u -> v and v -> u, from 0; and how many numbers there are."""
    low, high = edge_index.min(0).values, edge_index.max(0).values
    keys, pair = torch.unique(low * num_nodes + high, return_inverse=True)
    return pair, len(keys)


def pair_mean(values: Tensor, pair: Tensor, count: int) -> Tensor:
    """[pairs]: the mean over the directions of each edge."""
    sums = values.new_zeros(count).index_add_(0, pair, values)
    return sums / torch.bincount(pair, minlength=count).clamp(min=1)


def neighbours_once(edge_index: Tensor) -> tuple[Tensor, Tensor]:
    """[2, pairs] with the lower node first, every two neighbours once; and the number of the edge that stands for them.

    That is the edge from the lower node or, where it goes one way only, the other.
    """
    source, target = edge_index.long()
    size = int(edge_index.max()) + 1 if edge_index.numel() else 0
    is_alone = ~torch.isin(target * size + source, source * size + target)
    once = torch.where((source < target) | ((source > target) & is_alone))[0]
    return edge_index[:, once].long().sort(0).values, once


EXACT = 16  # degrees 0..15 are told apart; above, two bins for every doubling
DEGREE_SIZE = EXACT + 2 * 12  # degrees up to 2**16


def degree_feature(edge_index: Tensor, num_nodes: int) -> Tensor:
    """Binned degree of every node, [nodes, 1]; exact to 15, then half-octave bins."""
    degree = torch.bincount(edge_index[1], minlength=num_nodes)
    octaves = torch.floor(2 * torch.log2(degree.clamp(min=EXACT) / EXACT)).long()
    binned = torch.where(degree < EXACT, degree, EXACT + octaves)
    return binned.clamp(max=DEGREE_SIZE - 1).unsqueeze(1)
