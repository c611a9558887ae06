"""Breadth-first order of graphs, and the decisions a decoder takes to write them down in that order."""

from dataclasses import dataclass

import torch
from torch import Tensor

from graphfnp.graphs.packed import Batch
from graphfnp.graphs.subgraphs import edges_both_ways

FAR = 8  # tree distances from here on are not told apart


@dataclass(frozen=True, eq=False)
class DecisionBatch:
    """Several graphs as lists of decisions: node t of a graph, then its edges to candidates p(t-1), ..., t-1.

    p(t) is the earliest neighbour of node t, or t itself for the first node of a component. In breadth-first order p
    never decreases, so no neighbour of t comes before p(t-1). Nodes are numbered across the batch in decoding order; a
    *pair* is one edge decision, sorted by new node, then by old node.
    """

    node_type: Tensor  # [nodes]
    x: Tensor | None  # [nodes, columns] where node features are continuous
    graph: Tensor  # [nodes]: whose node it is
    ptr: Tensor  # [graphs + 1]
    new: Tensor  # [pairs]: node t
    old: Tensor  # [pairs]: node j < t of the same graph
    edge_class: Tensor  # [pairs]: 0 = no edge, else 1 + edge type
    degree: Tensor  # [pairs]: edges of j when t comes in
    tree_distance: (
        Tensor  # [pairs]: steps from j to t's first neighbour along parents, at most FAR; 0 = t has no edge yet
    )

    @property
    def num_graphs(self) -> int:
        return len(self.ptr) - 1

    @property
    def num_nodes(self) -> int:
        return len(self.node_type)

    @property
    def sizes(self) -> Tensor:
        return self.ptr.diff()

    @property
    def step(self) -> Tensor:
        """[nodes]: t, counted from 0 in every graph."""
        return torch.arange(self.num_nodes, device=self.ptr.device) - self.ptr[self.graph]


def breadth_first_order(batch: Batch, generator: torch.Generator) -> Tensor:
    """[nodes]: nodes of each graph in a random breadth-first order from a random root, component after component."""
    count, device = batch.num_nodes, batch.batch.device
    source, target = edges_both_ways(batch)
    shuffled = torch.randperm(count, generator=generator, device=generator.device).to(device)
    rank = torch.empty_like(shuffled).scatter_(0, shuffled, torch.arange(count, device=device))
    place = torch.full_like(rank, -1)  # in the order; -1: not reached yet
    next_place = batch.ptr[:-1].clone()
    while (waiting := torch.where(place < 0)[0]).numel():
        undone = place[target] < 0
        source, target = source[undone], target[undone]
        seen = place[source] >= 0
        parent = torch.full_like(place, count).scatter_reduce_(0, target[seen], place[source[seen]], "amin")
        # A graph that still waits but was not reached has a component left: its root is the first of the shuffle.
        owner = batch.batch[waiting]
        reached = torch.zeros_like(next_place).index_add_(0, owner, (parent[waiting] < count).long()) > 0
        stranded = waiting[~reached[owner]]
        first = torch.full_like(next_place, count).scatter_reduce_(0, batch.batch[stranded], rank[stranded], "amin")
        root = shuffled[first[first < count]]
        parent[root] = next_place[batch.batch[root]]
        level = torch.where(parent < count)[0]
        level = level[torch.argsort(parent[level] * count + rank[level])]
        owner = batch.batch[level]
        added = torch.bincount(owner, minlength=batch.num_graphs)
        within = torch.arange(len(level), device=device) - (added.cumsum(0) - added)[owner]
        place[level] = next_place[owner] + within
        next_place += added
    return torch.argsort(place)


def decisions_in_order(batch: Batch, order: Tensor) -> DecisionBatch:
    """The decisions that write the graphs down in the given breadth-first order of their nodes."""
    count, device = batch.num_nodes, order.device
    every = torch.arange(count, device=device)
    place = torch.empty_like(order).scatter_(0, order, every)
    graph = batch.batch[order]
    old, new = place[batch.edge_index]
    kind = torch.zeros_like(old) if batch.edge_attr is None else batch.edge_attr[:, 0].long()
    back = torch.where(old < new)[0] if batch.undirected else torch.where(old != new)[0]
    old, new, kind = torch.minimum(old, new)[back], torch.maximum(old, new)[back], kind[back]
    parent = every.clone().scatter_reduce_(0, new, old, "amin")

    start = torch.where(every == batch.ptr[graph], every, parent.roll(1))
    candidates = every - start
    pair_start = candidates.cumsum(0) - candidates
    pair_new = torch.repeat_interleave(every, candidates)
    pairs = torch.arange(len(pair_new), device=device)
    pair_old = pairs - pair_start[pair_new] + start[pair_new]
    edge_class = torch.zeros_like(pairs)
    edge_class[pair_start[new] + old - start[new]] = kind + 1

    connected = edge_class > 0
    has_edge = parent[pair_new] < pair_old  # t's first neighbour is its parent, which was decided before j
    distance = tree_distance(parent, pair_old, torch.where(has_edge, parent[pair_new], pair_old))
    return DecisionBatch(
        node_type=torch.zeros_like(order) if batch.node_type is None else batch.node_type[order],
        x=batch.x[order] if batch.x.is_floating_point() else None,
        graph=graph,
        ptr=batch.ptr,
        new=pair_new,
        old=pair_old,
        edge_class=edge_class,
        degree=_degree_before(pair_new, pair_old, connected, count),
        tree_distance=distance,
    )


def breadth_first_decisions(batch: Batch, generator: torch.Generator) -> DecisionBatch:
    """The decisions of a random breadth-first order."""
    return decisions_in_order(batch, breadth_first_order(batch, generator))


def _degree_before(new: Tensor, old: Tensor, connected: Tensor, count: int) -> Tensor:
    """[pairs]: edges that j has to nodes before t."""
    backward = torch.bincount(new[connected], minlength=count)
    forward = torch.sort(old[connected] * count + new[connected]).values
    earlier = torch.searchsorted(forward, old * count + new) - torch.searchsorted(forward, old * count)
    return backward[old] + earlier


def tree_distance(parent: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """Steps between a and b in the breadth-first tree, at most FAR: the later of the two climbs until they meet.

    ``parent`` is one list of all nodes, or one row for each pair.
    """
    steps = torch.zeros_like(a)
    for _ in range(FAR):
        apart = a != b
        a, b = torch.minimum(a, b), torch.maximum(a, b)
        above = parent[b] if parent.ndim == 1 else parent.gather(1, b.unsqueeze(1)).squeeze(1)
        b = torch.where(apart, above, b)
        steps += apart
    return steps
