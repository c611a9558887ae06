"""Masks over many graphs at once: directions of an edge as one, nodes from edges and back, the best share."""

import torch
from torch import Tensor

from graphfnp.graphs.edge_pairs import edge_pairs, pair_mean
from graphfnp.graphs.pointers import rank_within


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


def top_share(score: Tensor, owner: Tensor, share: float) -> Tensor:
    """[items], bool: of each owner's items the best ``share``, rounded up, as far as they score; but at least one.

    Of equals the first are kept.
    """
    rank = rank_within(score, owner)
    # A hair less, or 0.2 * 15 would round up to 4.
    kept = torch.ceil(share * torch.bincount(owner).double() - 1e-9)
    return (rank < kept[owner]) & ((score > 0) | (rank == 0))


def top_edges(edge_mask: Tensor, edge_index: Tensor, owner: Tensor, share: float) -> Tensor:
    """[edges], bool: of each graph's undirected edges the best ``share``; ``owner`` [nodes] is each node's graph."""
    pair, count = edge_pairs(edge_index, len(owner))
    pair_owner = owner.new_zeros(count).scatter_(0, pair, owner[edge_index[0]])
    return top_share(pair_mean(edge_mask, pair, count), pair_owner, share)[pair]
