"""The most probable graphs of a decoder: a beam search over its decisions, all beams together."""

import torch
from torch import Tensor

from graphfnp.model.breadth_first import tree_distance
from graphfnp.model.decoder_layers import pair_feature
from graphfnp.model.decoder_sampling import PartialGraphs, Rules, Writer, structures_of
from graphfnp.model.graph_decoder import GraphDecoder
from graphfnp.rationales import Structure


@torch.no_grad()
def beam_search(
    decoder: GraphDecoder, z: Tensor, sizes: Tensor, width: int, rules: Rules | None = None
) -> tuple[list[Structure], Tensor, Tensor]:
    """For each row of z [rows, dims] up to ``width`` connected graphs of its size [rows], the most probable ones found.

    Returns the graphs, the row each is for, and log p of the decisions that wrote it; best first within a row. After
    every decision (the type of a node, whether and how it is joined to an earlier one) the ``width`` best partial
    graphs of each row go on. Continuous features are their means.
    """
    room, count = int(sizes.max()), len(z) * width
    partial = PartialGraphs.empty(decoder.schema, count, room, sizes.repeat_interleave(width), z.device)
    writer = _BeamWriter(decoder, z.repeat_interleave(width, 0), partial, width, rules)
    while partial.step < room:
        writer.see_graph()
        writer.add_node(may_stop=False)
        writer.add_edges(connected=True)
        writer.finish_node()
    alive = torch.where(torch.isfinite(writer.score))[0]
    found = structures_of(partial, decoder.schema.is_continuous)
    return [found[k] for k in alive.tolist()], alive // width, writer.score[alive]


class _BeamWriter(Writer):
    """Candidates in groups of ``width``; a decision replaces a group by its most probable continuations."""

    def __init__(
        self, decoder: GraphDecoder, z: Tensor, partial: PartialGraphs, width: int, rules: Rules | None
    ) -> None:
        super().__init__(decoder, z, partial, 0.0, torch.Generator(), rules)
        self.width = width
        self.score = torch.where(self.every % width == 0, 0.0, -torch.inf)  # all are empty: one of them is enough

    def add_node(self, may_stop: bool) -> None:
        partial, head, kinds = self.partial, self.decoder.node_head, len(self.decoder.schema.node_types)
        hidden = head.hidden(self.last, self._context(head.context))
        logits = head.kind(hidden)[:, :kinds]
        if self.rules is not None:
            logits = logits.masked_fill(~self.rules.node_types(partial), -torch.inf)
        kind, parent = self._extend(logits.log_softmax(-1), partial.growing)
        partial.node_type[:, partial.step] = kind
        if self.decoder.schema.is_continuous:
            partial.x[:, partial.step] = head.gaussian(hidden[parent])[0]
        self.new[0] = self.decoder.node_input(kind, partial.x[:, partial.step])
        self.received.zero_()
        self._update_new(self.every)
        if self.rules is not None:
            self.rules.reorder(parent)

    def add_edges(self, connected: bool) -> None:
        partial, head, step = self.partial, self.decoder.edge_head, self.partial.step
        if step == 0:
            return
        context, pair_terms = self._context(head.context), head.pair_terms()
        for old in range(int(partial.parent[partial.growing, step - 1].min()), step):
            deciding = partial.growing & (partial.parent[:, step - 1] <= old)
            first = partial.parent[:, step]
            place = torch.full_like(first, old)
            distance = torch.where(first < step, tree_distance(partial.parent, place, first), 0)
            degree = (partial.edge_class[:, old, :step] > 0).sum(-1)
            feature = pair_feature(degree, torch.full_like(place, step - old), distance)
            logits = head.logits(self.new_term + context, head.old(self.seen[-1, :, old]), pair_terms[feature])
            if self.rules is not None:
                logits = logits.masked_fill(~self.rules.edge_classes(partial, old), -torch.inf)
            log_p = logits.log_softmax(-1)
            if connected and old == step - 1:
                lonely = (first == step)[:, None] & (torch.arange(log_p.shape[1], device=log_p.device) == 0)
                log_p = log_p.masked_fill(lonely, -torch.inf)
            edge_class, parent = self._extend(log_p, deciding)
            context = context[parent]
            if self.rules is not None:
                self.rules.reorder(parent)
            self._connect(edge_class, place)

    def _extend(self, log_p: Tensor, deciding: Tensor) -> tuple[Tensor, Tensor]:
        """The class of each candidate after a decision, and the candidate it continues; those not deciding take 0."""
        classes = log_p.shape[1]
        nothing = torch.where(torch.arange(classes, device=log_p.device) == 0, 0.0, -torch.inf)
        log_p = torch.where(deciding[:, None], log_p.nan_to_num(nan=-torch.inf, neginf=-torch.inf), nothing)
        total = (self.score[:, None] + log_p).view(-1, self.width * classes)
        best, flat = total.topk(self.width, dim=1)
        first = self.every[:: self.width, None]
        parent = (first + flat // classes).flatten()
        self.score = best.flatten()
        self._reorder(parent)
        return (flat % classes).flatten(), parent

    def _reorder(self, parent: Tensor) -> None:
        """Each candidate becomes a copy of its parent; most are their own."""
        moved = torch.where(parent != self.every)[0]
        if not len(moved):
            return
        source, partial, step = parent[moved], self.partial, self.partial.step
        for tensor in (partial.node_type, partial.x, partial.edge_class, partial.parent):
            tensor[moved] = tensor[source]
        self.seen[:, moved, :step] = self.seen[:, source, :step]
        for states in (self.received, self.new):
            states[:, moved] = states[:, source]
        for state in (self.new_term, self.last, self.mean):
            state[moved] = state[source]
