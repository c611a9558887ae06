"""Graphs drawn from a decoder, all candidates together: one loop over nodes and, inside, one over earlier nodes."""

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from graphfnp.errors import InvalidConfig
from graphfnp.graphs.packed import Schema
from graphfnp.graphs.structure import Structure
from graphfnp.methods.graphfnp.decoder.breadth_first import tree_distance
from graphfnp.methods.graphfnp.decoder.graph_decoder import GraphDecoder
from graphfnp.methods.graphfnp.decoder.layers import pair_feature


@dataclass(eq=False)
class PartialGraphs:
    """Candidates under construction, as dense tensors with room for every node; ``step`` nodes are there."""

    node_type: Tensor  # [candidates, room]
    x: Tensor  # [candidates, room, columns]
    edge_class: Tensor  # [candidates, room, room], symmetric: 0 = no edge, else 1 + edge type
    parent: Tensor  # [candidates, room]: earliest neighbour, or the node itself
    size: Tensor  # [candidates]: nodes it will have; the room while that is open
    step: int = 0

    @classmethod
    def empty(cls, schema: Schema, count: int, room: int, size: Tensor, device: torch.device) -> "PartialGraphs":
        return cls(
            node_type=torch.zeros(count, room, dtype=torch.long, device=device),
            x=torch.zeros(count, room, schema.node_width, device=device),
            edge_class=torch.zeros(count, room, room, dtype=torch.long, device=device),
            parent=torch.arange(room, device=device).repeat(count, 1),
            size=size.to(device),
        )

    @property
    def growing(self) -> Tensor:
        return self.step < self.size


class Rules(Protocol):
    """What may come next, e.g. by valence: boolean masks, at least one entry of every row true."""

    def node_types(self, partial: PartialGraphs) -> Tensor:
        """[candidates, node types] allowed for node ``partial.step``."""

    def edge_classes(self, partial: PartialGraphs, old: int) -> Tensor:
        """[candidates, 1 + edge types] allowed between nodes ``partial.step`` and ``old``."""


@torch.no_grad()
def sample(
    decoder: GraphDecoder,
    z: Tensor,
    sizes: Tensor | None = None,
    temperature: float = 1.0,
    generator: torch.Generator | None = None,
    max_nodes: int | None = None,
    connected: bool = False,
    rules: Rules | None = None,
) -> list[Structure]:
    """One graph for each row of z [candidates, dims], with ``sizes`` [candidates] nodes or until the decoder stops.

    Temperature 0 takes the most probable decision every time. ``connected`` gives a node that got no edge its most
    probable one.
    """
    if sizes is None and decoder.config.size_condition:
        raise InvalidConfig(
            "no sizes for a decoder conditioned on size", "the number of nodes of each candidate", "pass sizes"
        )
    room = int(sizes.max()) if sizes is not None else max_nodes or decoder.config.max_nodes
    count, device = len(z), z.device
    partial = PartialGraphs.empty(
        decoder.schema, count, room, torch.full((count,), room) if sizes is None else sizes, device
    )
    sampler = GraphSampler(decoder, z, partial, temperature, generator or torch.Generator(), rules)
    while partial.step < room and partial.growing.any():
        sampler.see_graph()
        sampler.add_node(may_stop=sizes is None and partial.step > 0)
        sampler.add_edges(connected)
        sampler.finish_node()
    return structures_of(partial)


class GraphSampler:
    """One step of all candidates: states of the nodes that are there, then a node, then its edges."""

    def __init__(
        self,
        decoder: GraphDecoder,
        z: Tensor,
        partial: PartialGraphs,
        temperature: float,
        generator: torch.Generator,
        rules: Rules | None,
    ) -> None:
        self.decoder, self.z, self.partial, self.rules = decoder, z, partial, rules
        self.temperature, self.generator = temperature, generator
        self.every = torch.arange(len(z), device=z.device)
        width, depths, room = decoder.config.width, decoder.config.layers + 1, partial.node_type.shape[1]
        self.seen = z.new_zeros(depths, len(z), room, width)  # states at every depth of the nodes that are there
        self.received = z.new_zeros(depths - 1, len(z), width)  # messages summed by the new node
        self.new = z.new_zeros(depths, len(z), width)  # its states at every depth
        self.new_term = torch.zeros_like(self.new[-1])  # its part of the edge head's first layer

    def see_graph(self) -> None:
        """The last node and the mean of all."""
        step = self.partial.step
        states = self.seen[-1, :, :step]
        self.last = states[:, -1].clone() if step else torch.zeros_like(self.new[-1])
        self.mean = states.mean(1) if step else torch.zeros_like(self.last)

    def add_node(self, may_stop: bool) -> None:
        partial, head, kinds = self.partial, self.decoder.node_head, len(self.decoder.schema.node_types)
        hidden = head.hidden(self.last, self._context(head.context))
        logits = head.kind(hidden)[:, : kinds + may_stop]
        if self.rules is not None:
            logits[:, :kinds] = logits[:, :kinds].masked_fill(~self.rules.node_types(partial), -torch.inf)
        kind = self._choose(logits)
        partial.size = torch.where(partial.growing & (kind == kinds), partial.step, partial.size)
        kind = torch.where(partial.growing, kind, 0)
        partial.node_type[:, partial.step] = kind
        if head.features is not None:
            mean, log_variance = head.gaussian(hidden)
            noise = torch.randn(mean.shape, generator=self.generator, device=self.generator.device).to(mean.device)
            partial.x[:, partial.step] = mean + self.temperature * torch.exp(0.5 * log_variance) * noise
        self.new[0] = self.decoder.node_input(kind, partial.x[:, partial.step])
        self.received.zero_()
        self._update_new(self.every)

    def add_edges(self, connected: bool) -> None:
        partial, head, step = self.partial, self.decoder.edge_head, self.partial.step
        if step == 0 or not partial.growing.any():
            return
        context, pair_terms = self._context(head.context), head.pair_terms()
        start = partial.parent[:, step - 1]
        degree = (partial.edge_class[:, :step, :step] > 0).sum(-1)
        score = torch.full(
            (len(self.every), step, len(self.decoder.schema.edge_types)), -torch.inf, device=context.device
        )
        for old in range(int(start[partial.growing].min()), step):
            candidate = partial.growing & (start <= old)
            first = partial.parent[:, step]
            place = torch.full_like(first, old)
            distance = torch.where(first < step, tree_distance(partial.parent, place, first), 0)
            feature = pair_feature(degree[:, old], torch.full_like(place, step - old), distance)
            logits = head.logits(self.new_term + context, head.old(self.seen[-1, :, old]), pair_terms[feature])
            if self.rules is not None:
                logits = logits.masked_fill(~self.rules.edge_classes(partial, old), -torch.inf)
            score[:, old] = torch.where(candidate[:, None], logits.log_softmax(-1)[:, 1:], -torch.inf)
            self._connect(torch.where(candidate, self._choose(logits), 0), place)
        if connected:
            best, choice = score.flatten(1).max(1)
            lonely = partial.growing & (partial.parent[:, step] == step) & (best > -torch.inf)
            self._connect(torch.where(lonely, choice % score.shape[2] + 1, 0), choice // score.shape[2])

    def finish_node(self) -> None:
        """Keep the new node's states or, in the prefix form, run over the larger graph afresh."""
        partial, step = self.partial, self.partial.step
        partial.step = step + 1
        if self.decoder.config.form == "causal":
            self.seen[:, :, step] = self.new
            return
        self.seen[0, :, step] = self.new[0]
        graph, a, b = torch.where(partial.edge_class[:, : step + 1, : step + 1] > 0)
        kind, nodes = partial.edge_class[graph, a, b] - 1, partial.step
        for depth, layer in enumerate(self.decoder.message_layers):
            states = self.seen[depth, :, :nodes].flatten(0, 1)
            messages = layer.messages(states, graph * nodes + a, kind)
            total = torch.zeros_like(states).index_add_(0, graph * nodes + b, messages)
            self.seen[depth + 1, :, :nodes] = layer(states, total).view(-1, nodes, states.shape[1])

    def _connect(self, edge_class: Tensor, old: Tensor) -> None:
        """Add edges of these classes (0: none) from the new node to node ``old`` of each candidate."""
        partial, step = self.partial, self.partial.step
        hit = torch.where(edge_class > 0)[0]
        if len(hit) == 0:
            return
        chosen, place = edge_class[hit], old[hit]
        partial.edge_class[hit, step, place] = chosen
        partial.edge_class[hit, place, step] = chosen
        partial.parent[hit, step] = torch.minimum(partial.parent[hit, step], place)
        for depth, layer in enumerate(self.decoder.message_layers):
            states = self.seen[depth, hit, place]
            self.received[depth, hit] += layer.messages(states, torch.arange(len(hit), device=hit.device), chosen - 1)
        self._update_new(hit)

    def _update_new(self, changed: Tensor) -> None:
        for depth, layer in enumerate(self.decoder.message_layers):
            self.new[depth + 1, changed] = layer(self.new[depth, changed], self.received[depth, changed])
        self.new_term[changed] = self.decoder.edge_head.new(self.new[-1, changed])

    def _context(self, context: torch.nn.Module) -> Tensor:
        step = torch.full_like(self.partial.size, self.partial.step)
        backward = (self.partial.edge_class.tril(-1) > 0).sum(-1)
        cycles = (backward - 1).clamp(min=0).sum(-1)
        return context(self.mean, self.z, self.every, step, cycles, self.partial.size)

    def _choose(self, logits: Tensor) -> Tensor:
        """One class for each row, with probability softmax(logits / temperature), by the Gumbel-max trick."""
        if self.temperature == 0:
            return logits.argmax(-1)
        waiting = torch.empty(logits.shape, device=self.generator.device).exponential_(generator=self.generator)
        return (logits / self.temperature - waiting.to(logits.device).log()).argmax(-1)


def structures_of(partial: PartialGraphs) -> list[Structure]:
    """What was written down."""
    graph, a, b = torch.where(partial.edge_class.triu(1) > 0)
    kinds = (partial.edge_class[graph, a, b] - 1).tolist()
    edges: list[list[tuple[int, int, int]]] = [[] for _ in partial.size]
    for owner, i, j, kind in zip(graph.tolist(), a.tolist(), b.tolist(), kinds, strict=True):
        edges[owner].append((i, j, kind))
    return [
        Structure(
            node_type=tuple(types[:size]),
            edges=tuple(own),
            x=partial.x[number, :size].clone() if partial.x.shape[-1] else None,
        )
        for number, (types, size, own) in enumerate(
            zip(partial.node_type.tolist(), partial.size.tolist(), edges, strict=True)
        )
    ]
