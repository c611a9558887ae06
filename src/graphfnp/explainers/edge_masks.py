"""Masks over many graphs at once: directions of an edge as one, nodes from edges and back, the best share."""

import torch
from torch import Tensor

from graphfnp.networks.edge_pairs import pair_mean


def edge_pairs(edge_index: Tensor, num_nodes: int) -> tuple[Tensor, int]:
    """[edges]: the same number for u -> v and v -> u, from 0; and how many numbers there are."""
    low, high = edge_index.min(0).values, edge_index.max(0).values
    keys, pair = torch.unique(low * num_nodes + high, return_inverse=True)
    return pair, len(keys)


def symmetric(edge_mask: Tensor, edge_index: Tensor, num_nodes: int) -> Tensor:
    """[edges]: the mean over the directions of each edge."""
    pair, count = edge_pairs(edge_index, num_nodes)
    return pair_mean(edge_mask, pair, count)[pair]


def nodes_of_edges(edge_mask: Tensor, edge_index: Tensor, num_nodes: int) -> Tensor:
    """[nodes]: the largest mask of a node's edges, so that above any threshold nodes are the ends of the edges."""
    ends = edge_index.flatten()
    return edge_mask.new_zeros(num_nodes).scatter_reduce_(0, ends, edge_mask.repeat(2), "amax")


def edges_of_nodes(node_mask: Tensor, edge_index: Tensor) -> Tensor:
    """[edges]: the smaller mask of both ends, so that above any threshold edges are those among the nodes."""
    return node_mask[edge_index].amin(0)


def position_within(owner: Tensor) -> Tensor:
    """[items]: how many items of the same owner come before, in the order given."""
    order = torch.argsort(owner, stable=True)
    count = torch.bincount(owner)
    rank = torch.arange(len(owner), device=owner.device) - (count.cumsum(0) - count)[owner[order]]
    return torch.empty_like(rank).scatter_(0, order, rank)


def top_share(score: Tensor, owner: Tensor, share: float) -> Tensor:
    """[items], bool: of each owner's items the best ``share``, rounded up, as far as they score; but at least one.

    Of equals the first are kept.
    """
    order = torch.argsort(score, descending=True, stable=True)
    rank = torch.empty_like(order).scatter_(0, order, position_within(owner[order]))
    # A hair less, or 0.2 * 15 would round up to 4.
    kept = torch.ceil(share * torch.bincount(owner).double() - 1e-9)
    return (rank < kept[owner]) & ((score > 0) | (rank == 0))


def top_edges(edge_mask: Tensor, edge_index: Tensor, owner: Tensor, share: float) -> Tensor:
    """[edges], bool: of each graph's undirected edges the best ``share``; ``owner`` [nodes] is each node's graph."""
    pair, count = edge_pairs(edge_index, len(owner))
    pair_owner = owner.new_zeros(count).scatter_(0, pair, owner[edge_index[0]])
    return top_share(pair_mean(edge_mask, pair, count), pair_owner, share)[pair]
