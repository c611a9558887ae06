"""States of nodes in every partial graph at once, for teacher forcing: causal, or afresh in every prefix."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from graphfnp.model.breadth_first import DecisionBatch
from graphfnp.model.decoder_layers import DecoderLayer, rows


@dataclass(frozen=True, eq=False)
class Moments:
    """Points where a node is decided: a partial graph of ``step`` nodes of ``graph``; the first are the nodes' own."""

    graph: Tensor  # [moments]
    step: Tensor  # [moments]

    @classmethod
    def of(cls, decisions: DecisionBatch, with_stop: bool) -> "Moments":
        """One before each node and, ``with_stop``, one after the last node of each graph."""
        graph, step = decisions.graph, decisions.step
        if with_stop:
            graph = torch.cat([graph, torch.arange(decisions.num_graphs, device=graph.device)])
            step = torch.cat([step, decisions.sizes])
        return cls(graph, step)


@dataclass(frozen=True, eq=False)
class DecoderStates:
    """What the heads read. A new node has one *state* for each number of edges accepted so far, 0 to its last."""

    new: Tensor  # [nodes + edges, width]: h_t after its first k edges
    owner: Tensor  # [nodes + edges]: node t of each state
    old: Tensor  # [old rows, width]: h_j as a candidate sees it
    pair_new: Tensor  # [pairs]: row of new
    pair_old: Tensor  # [pairs]: row of old
    last: Tensor  # [moments, width]: h of the last node, 0 in an empty graph
    partial_graph: Tensor  # [moments, width]: mean of h over the partial graph, 0 if it is empty


class _NewNodes:
    """Runs layers over all states (t, k): t receives the messages of its first k edges."""

    def __init__(self, decisions: DecisionBatch) -> None:
        connected = decisions.edge_class > 0
        count = decisions.num_nodes
        self.target, self.source = decisions.new[connected], decisions.old[connected]
        self.edge_type = decisions.edge_class[connected] - 1
        degree = torch.bincount(self.target, minlength=count)
        nodes = torch.arange(count, device=degree.device)
        self.edge_end = degree.cumsum(0)  # edges are sorted by target
        self.owner = torch.repeat_interleave(nodes, degree + 1)
        self.final = nodes + self.edge_end  # the state with all edges
        self._end = torch.arange(len(self.owner), device=degree.device) - self.owner
        self._start = (self.edge_end - degree)[self.owner]
        before = connected.long().cumsum(0) - connected.long()
        self.pair_state = decisions.new + before

    def totals(self, messages: Tensor) -> Tensor:
        """[states, width]: sum of the first k messages of t; in double, as one running sum crosses the batch."""
        running = _running_sum(messages)
        return (rows(running, self._end) - rows(running, self._start)).to(messages.dtype)


def causal_states(
    layers: Sequence[DecoderLayer], inputs: Tensor, decisions: DecisionBatch, moments: Moments
) -> DecoderStates:
    """Messages go from earlier to later nodes only, so that a node's state is final once its edges are decided."""
    nodes = _NewNodes(decisions)
    new = rows(inputs, nodes.owner)
    for layer in layers:
        new = layer(new, nodes.totals(layer.messages(new[nodes.final], nodes.source, nodes.edge_type)))
    old = new[nodes.final]
    begin = decisions.ptr[moments.graph]
    running = _running_sum(old)
    total = (rows(running, begin + moments.step) - rows(running, begin)).to(old.dtype)
    return DecoderStates(
        new=new,
        owner=nodes.owner,
        old=old,
        pair_new=nodes.pair_state,
        pair_old=decisions.old,
        last=rows(old, (begin + moments.step - 1).clamp(min=0)) * (moments.step > 0).unsqueeze(1),
        partial_graph=total / moments.step.clamp(min=1).unsqueeze(1),
    )


def prefix_states(
    layers: Sequence[DecoderLayer], inputs: Tensor, decisions: DecisionBatch, moments: Moments
) -> DecoderStates:
    """The layers run over every partial graph afresh, messages going both ways: the letter of the paper."""
    nodes = _NewNodes(decisions)
    begin = decisions.ptr[moments.graph]
    row_start = moments.step.cumsum(0) - moments.step
    member = _ranges(begin, moments.step)  # node of each row (moment, node)
    moment = torch.repeat_interleave(torch.arange(len(begin), device=begin.device), moments.step)
    shift = row_start - begin  # row of node v at moment m: v + shift[m]

    edge_ptr = torch.cat([nodes.edge_end.new_zeros(1), nodes.edge_end])
    edge_count = edge_ptr[begin + moments.step] - edge_ptr[begin]
    edge = _ranges(edge_ptr[begin], edge_count)
    edge_shift = torch.repeat_interleave(shift, edge_count)
    a, b = nodes.source[edge] + edge_shift, nodes.target[edge] + edge_shift
    source, target = torch.cat([a, b]), torch.cat([b, a])
    edge_type = nodes.edge_type[edge].repeat(2)

    old, new = rows(inputs, member), rows(inputs, nodes.owner)
    seen = nodes.source + shift[nodes.target]
    for layer in layers:
        received = nodes.totals(layer.messages(old, seen, nodes.edge_type))
        old_received = torch.zeros_like(old).index_add(0, target, layer.messages(old, source, edge_type))
        old, new = layer(old, old_received), layer(new, received)
    total = torch.zeros_like(rows(inputs, begin)).index_add(0, moment, old)
    last = torch.zeros_like(total)
    filled = torch.where(moments.step > 0)[0]
    last = last.index_copy(0, filled, old[(row_start + moments.step - 1)[filled]])
    return DecoderStates(
        new=new,
        owner=nodes.owner,
        old=old,
        pair_new=nodes.pair_state,
        pair_old=decisions.old + shift[decisions.new],
        last=last,
        partial_graph=total / moments.step.clamp(min=1).unsqueeze(1),
    )


def _running_sum(values: Tensor) -> Tensor:
    """[n + 1, width]: sums of the first 0, 1, ..., n rows."""
    return torch.cat([values.new_zeros(1, values.shape[1]), values]).cumsum(0, dtype=torch.float64)


def _ranges(start: Tensor, length: Tensor) -> Tensor:
    """start_0, start_0 + 1, ... for length_0 numbers, then start_1, ..."""
    offset = start - (length.cumsum(0) - length)
    return torch.arange(int(length.sum()), device=start.device) + torch.repeat_interleave(offset, length)
