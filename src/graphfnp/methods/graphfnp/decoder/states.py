"""States of nodes in every partial graph at once, for teacher forcing: causal, or afresh in every prefix."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from graphfnp.methods.graphfnp.decoder.breadth_first import DecisionBatch
from graphfnp.methods.graphfnp.decoder.layers import DecoderLayer, rows


@dataclass(frozen=True, eq=False)
class DecisionPoints:
    """Points where a node is decided: a partial graph of ``step`` nodes of ``graph``; the first are the nodes' own."""

    graph: Tensor  # [points]
    step: Tensor  # [points]
    cycles: Tensor  # [points]: independent cycles of the partial graph

    @classmethod
    def of(cls, decisions: DecisionBatch, with_stop: bool) -> "DecisionPoints":
        """One before each node and, ``with_stop``, one after the last node of each graph."""
        graph, step = decisions.graph, decisions.step
        if with_stop:
            graph = torch.cat([graph, torch.arange(decisions.num_graphs, device=graph.device)])
            step = torch.cat([step, decisions.sizes])
        # A node's first edge to an earlier node joins it to the tree; every further one closes a cycle.
        backward = torch.bincount(decisions.new[decisions.edge_class > 0], minlength=decisions.num_nodes)
        closed = torch.cat([backward.new_zeros(1), (backward - 1).clamp(min=0).cumsum(0)])
        begin = decisions.ptr[graph]
        return cls(graph, step, closed[begin + step] - closed[begin])


@dataclass(frozen=True, eq=False)
class DecoderStates:
    """What the heads read. A new node has a *state* before its edges are decided and one after each accepted edge."""

    new: Tensor  # [starts + edges, width]: h_t with no edge, then h_t after each edge
    new_row: Tensor  # [nodes + edges]: row of ``new`` of every state
    owner: Tensor  # [nodes + edges]: node t of every state
    old: Tensor  # [old rows, width]: h_j as a candidate
    pair_new: Tensor  # [pairs]: state of t
    pair_old: Tensor  # [pairs]: row of ``old``
    last: Tensor  # [points, width]: h of the last node, 0 in an empty graph
    partial_graph: Tensor  # [points, width]: mean of h over the partial graph, 0 if it is empty


@dataclass(frozen=True, eq=False)
class Inputs:
    """Nodes before any message, each different one once: nodes of one type are alike until they get an edge."""

    vectors: Tensor  # [starts, width]
    row: Tensor  # [nodes]: row of ``vectors``

    def __getitem__(self, nodes: Tensor) -> Tensor:
        return rows(self.vectors, self.row[nodes])


class _NewNodes:
    """Index arithmetic of the states (t, edges accepted so far), and the sums of messages they receive."""

    def __init__(self, decisions: DecisionBatch, inputs: Inputs) -> None:
        connected = decisions.edge_class > 0
        self.inputs, self.starts, count = inputs, len(inputs.vectors), decisions.num_nodes
        self.target, self.source = decisions.new[connected], decisions.old[connected]  # sorted by target
        self.edge_type = decisions.edge_class[connected] - 1
        degree = torch.bincount(self.target, minlength=count)
        self.edge_end = degree.cumsum(0)
        self.edge_start = self.edge_end - degree
        self.edges = torch.arange(len(self.target), device=degree.device)
        self.final = torch.where(degree > 0, self.starts + self.edge_end - 1, inputs.row)  # row of h_t with all edges
        self.new_row = torch.cat([inputs.row, self.starts + self.edges])
        self.owner = torch.cat([torch.arange(count, device=degree.device), self.target])
        before = connected.long().cumsum(0) - connected.long()  # edges accepted before each pair
        none = before == self.edge_start[decisions.new]
        self.pair_new = torch.where(none, decisions.new, count + before - 1)

    def initial(self) -> Tensor:
        return torch.cat([self.inputs.vectors, self.inputs[self.target]])

    def received(self, messages: Tensor) -> Tensor:
        """[starts + edges, width]: 0, then the sum of a node's messages up to each edge.

        In double precision, as one running sum crosses the whole batch.
        """
        running = _running_sum(messages)
        sums = (running[1:] - rows(running, self.edge_start[self.target])).to(messages.dtype)
        return torch.cat([messages.new_zeros(self.starts, messages.shape[1]), sums])


def causal_states(
    layers: Sequence[DecoderLayer], inputs: Inputs, decisions: DecisionBatch, points: DecisionPoints
) -> DecoderStates:
    """Messages go from earlier to later nodes only, so that a node's state is final once its edges are decided."""
    nodes = _NewNodes(decisions, inputs)
    new = nodes.initial()
    for layer in layers:
        new = layer(new, nodes.received(layer.messages(new, nodes.final[nodes.source], nodes.edge_type)))
    old = rows(new, nodes.final)
    begin = decisions.ptr[points.graph]
    running = _running_sum(old)
    total = (rows(running, begin + points.step) - rows(running, begin)).to(old.dtype)
    return DecoderStates(
        new=new,
        new_row=nodes.new_row,
        owner=nodes.owner,
        old=old,
        pair_new=nodes.pair_new,
        pair_old=decisions.old,
        last=rows(old, (begin + points.step - 1).clamp(min=0)) * (points.step > 0).unsqueeze(1),
        partial_graph=total / points.step.clamp(min=1).unsqueeze(1),
    )


def prefix_states(
    layers: Sequence[DecoderLayer], inputs: Inputs, decisions: DecisionBatch, points: DecisionPoints
) -> DecoderStates:
    """The layers run over every partial graph afresh, messages going both ways: the letter of the paper."""
    nodes = _NewNodes(decisions, inputs)
    begin = decisions.ptr[points.graph]
    row_start = points.step.cumsum(0) - points.step
    member = _ranges(begin, points.step)  # node of each row (moment, node)
    moment = torch.repeat_interleave(torch.arange(len(begin), device=begin.device), points.step)
    shift = row_start - begin  # row of node v at moment m: v + shift[m]

    edge_ptr = torch.cat([nodes.edge_end.new_zeros(1), nodes.edge_end])
    edge_count = edge_ptr[begin + points.step] - edge_ptr[begin]
    edge = _ranges(edge_ptr[begin], edge_count)
    edge_shift = torch.repeat_interleave(shift, edge_count)
    a, b = nodes.source[edge] + edge_shift, nodes.target[edge] + edge_shift
    source, target = torch.cat([a, b]), torch.cat([b, a])
    edge_type = nodes.edge_type[edge].repeat(2)

    old, new = inputs[member], nodes.initial()
    seen = nodes.source + shift[nodes.target]
    for layer in layers:
        received = nodes.received(layer.messages(old, seen, nodes.edge_type))
        old_received = torch.zeros_like(old).index_add(0, target, layer.messages(old, source, edge_type))
        old, new = layer(old, old_received), layer(new, received)
    total = old.new_zeros(len(begin), old.shape[1]).index_add(0, moment, old)
    last = torch.zeros_like(total)
    filled = torch.where(points.step > 0)[0]
    last = last.index_copy(0, filled, old[(row_start + points.step - 1)[filled]])
    return DecoderStates(
        new=new,
        new_row=nodes.new_row,
        owner=nodes.owner,
        old=old,
        pair_new=nodes.pair_new,
        pair_old=decisions.old + shift[decisions.new],
        last=last,
        partial_graph=total / points.step.clamp(min=1).unsqueeze(1),
    )


def _running_sum(values: Tensor) -> Tensor:
    """[n + 1, width]: sums of the first 0, 1, ..., n rows."""
    return torch.cat([values.new_zeros(1, values.shape[1]), values]).cumsum(0, dtype=torch.float64)


def _ranges(start: Tensor, length: Tensor) -> Tensor:
    """start_0, start_0 + 1, ... for length_0 numbers, then start_1, ..."""
    offset = start - (length.cumsum(0) - length)
    return torch.arange(int(length.sum()), device=start.device) + torch.repeat_interleave(offset, length)
