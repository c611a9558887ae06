"""Undirected edges: the two directions of an edge under one number."""

import torch
from torch import Tensor


def edge_pairs(edge_index: Tensor, num_nodes: int) -> tuple[Tensor, int]:
    """[edges]: the same number for u -> v and v -> u, from 0; and how many numbers there are."""
    low, high = edge_index.min(0).values, edge_index.max(0).values
    keys, pair = torch.unique(low * num_nodes + high, return_inverse=True)
    return pair, len(keys)


def pair_mean(values: Tensor, pair: Tensor, count: int) -> Tensor:
    """[pairs]: the mean over the directions of each edge."""
    sums = values.new_zeros(count).index_add_(0, pair, values)
    return sums / torch.bincount(pair, minlength=count).clamp(min=1)
