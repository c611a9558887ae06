"""Undirected edges: the two directions of an edge under one number."""

import torch
from torch import Tensor

from graphfnp.graphs.packed import Batch


def pair_numbers(batch: Batch) -> tuple[Tensor, int]:
    """[edges]: the same number for u -> v and v -> u, from 0; and how many numbers there are."""
    low, high = batch.edge_index.min(0).values, batch.edge_index.max(0).values
    keys, pair = torch.unique(low * batch.num_nodes + high, return_inverse=True)
    return pair, len(keys)


def pair_mean(values: Tensor, pair: Tensor, count: int) -> Tensor:
    """[pairs]: the mean over the directions of each edge."""
    sums = values.new_zeros(count).index_add_(0, pair, values)
    return sums / torch.bincount(pair, minlength=count).clamp(min=1)
