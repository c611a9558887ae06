"""Random connected parts of graphs: they teach a classifier what a part is worth, and keep a decoder's graphs small."""

from dataclasses import replace

import torch
from torch import Tensor

from graphfnp.graphs.packed import Batch, Schema, rows_of, side_by_side
from graphfnp.graphs.pointers import pointers

SMALLEST_SUBGRAPH = 3


def beside_subgraphs(batch: Batch, parts: float, schema: Schema) -> Batch:
    """Every graph, and a random connected part of it with the label of the whole, in one batch.

    Weights are such that a mean over all is (mean over graphs + parts * mean over parts) / (1 + parts): parts are an
    augmentation, and count for no further evidence. All are normalised together, as they will be met.
    """
    both = side_by_side(batch, random_subgraphs(batch, schema))
    weight = both.x.new_full((both.num_graphs,), 2 / (1 + parts), dtype=torch.float)
    weight[batch.num_graphs :] *= parts
    return replace(both, weight=weight)


def random_connected_nodes(batch: Batch, sizes: Tensor, generator: torch.Generator) -> Tensor:
    """Nodes kept, ascending: ``sizes`` [graphs] nodes of each graph, grown from a random one by random neighbours.

    A graph no larger than its size is kept whole. A graph that is cut stays inside one component, even if that is
    smaller than the size: what is cut is connected.
    """
    device, count = batch.batch.device, batch.num_nodes
    source, target = edges_both_ways(batch)
    kept = (batch.sizes <= sizes)[batch.batch]
    boundary = ~kept  # any node may be the first
    for size in range(int(sizes.max())):
        boundary &= (size < sizes)[batch.batch]
        # In each graph, the boundary node that comes first in a fresh shuffle.
        shuffled = torch.randperm(count, generator=generator, device=generator.device).to(device)
        shuffled = shuffled[boundary[shuffled]]
        first = torch.full_like(batch.ptr[:-1], count)
        first.scatter_reduce_(0, batch.batch[shuffled], torch.arange(len(shuffled), device=device), "amin")
        kept[shuffled[first[first < count]]] = True
        boundary = torch.zeros_like(kept)
        boundary[target[kept[source]]] = True
        boundary &= ~kept
    return torch.where(kept)[0]


def random_subgraphs(batch: Batch, schema: Schema) -> Batch:
    """A random connected part of each graph, its size drawn evenly on a log scale from three nodes to all.

    On that scale small parts, as small as a reason can be, are as frequent as large ones. Degrees are counted anew.
    """
    ratio = (batch.sizes / SMALLEST_SUBGRAPH).clamp(min=1)
    sizes = torch.round(SMALLEST_SUBGRAPH * ratio.pow(torch.rand(batch.num_graphs, device=ratio.device))).long()
    parts = induced_subgraphs(batch, random_connected_nodes(batch, sizes, torch.default_generator))
    return replace(parts, x=schema.refeaturised(parts.x, parts.edge_index))


def induced_subgraphs(batch: Batch, kept: Tensor) -> Batch:
    """The batch on these nodes (ascending, at least one of each graph) and the edges among them.

    Features are selected, not recomputed: degrees in ``x`` and descriptors are still those of the whole graph.
    """
    inside = torch.zeros(batch.num_nodes, dtype=torch.bool, device=kept.device)
    inside[kept] = True
    number = inside.cumsum(0) - 1
    edges = torch.where(inside[batch.edge_index].all(0))[0]
    owner, fields = batch.batch[kept], rows_of(batch, kept, edges)
    ptr = pointers(torch.bincount(owner, minlength=batch.num_graphs))
    return replace(batch, **fields, edge_index=number[batch.edge_index[:, edges]], batch=owner, ptr=ptr)


def edges_both_ways(batch: Batch) -> Tensor:
    """[2, edges]: every edge in both directions, without self-loops."""
    edges = batch.edge_index[:, batch.edge_index[0] != batch.edge_index[1]]
    return edges if batch.undirected else torch.cat([edges, edges.flip(0)], dim=1)
