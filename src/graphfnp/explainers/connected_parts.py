"""Coalitions put together from connected parts: each part goes through the network once, however many share it."""

from collections.abc import Sequence

import torch
from torch import nn

from graphfnp.baselines.vanilla import Vanilla
from graphfnp.explainers.coalitions import NODE_BUDGET, Evaluator, Game
from graphfnp.explainers.node_sets import NodeSet, components
from graphfnp.graphs import Batch
from graphfnp.networks.backbone import Backbone


def has_parts(model: nn.Module) -> bool:
    """Is the model a head on the mean of node states that depend on nothing beyond their connected part?"""
    return (
        isinstance(model, Vanilla)
        and type(model).encode is Vanilla.encode
        and type(model).draw_logits is Vanilla.draw_logits
        and type(model).forward is Vanilla.forward
        and isinstance(model.backbone, Backbone)
    )


class PartsEvaluator(Evaluator):
    """p(y | C) = head(1/|C| sum_{P in parts(C)} sum_{v in P} h_v(P)) by ``split``, with the inner sums remembered.

    Nodes left out at random leave small parts behind, and the same ones again and again.
    """

    def __init__(
        self, classifier: Vanilla, num_classes: int, undirected: bool = False, node_budget: int = NODE_BUDGET
    ) -> None:
        super().__init__(classifier, num_classes, "split", node_budget)
        self.classifier, self.undirected = classifier, undirected
        self.row: dict[Game, dict[NodeSet, int]] = {}  # where in sums a part is
        self.known = 0
        self.sums = torch.zeros(1024, classifier.backbone.out_width, device=next(classifier.parameters()).device)
        self.parts: dict[tuple[Game, NodeSet], list[NodeSet]] = {}  # of the coalitions in hand
        self.new: list[tuple[Game, NodeSet]] = []

    def _cost(self, game: Game, coalition: NodeSet) -> int:
        """Only parts never seen cost anything; they get their place in ``sums`` here."""
        row = self.row.setdefault(game, {})
        parts = [game.canonical(part) for part in components(coalition, game.neighbours)]
        self.parts[game, coalition] = parts
        cost = 0
        for part in parts:
            if part not in row:
                row[part] = self.known + len(self.new)
                self.new.append((game, part))
                cost += part.bit_count()
        return cost

    @torch.no_grad()
    def _ask(self, wanted: Sequence[tuple[Game, Sequence[NodeSet]]]) -> None:
        if self.new:
            self._add_sums()
        rows, counts, sizes = [], [], []
        for game, coalitions in wanted:
            row = self.row[game]
            for coalition in coalitions:
                parts = self.parts.pop((game, coalition))
                rows += [row[part] for part in parts]
                counts.append(len(parts))
                sizes.append(coalition.bit_count())
        owner = torch.repeat_interleave(torch.arange(len(counts)), torch.tensor(counts)).to(self.sums.device)
        pooled = self.sums.new_zeros(len(counts), self.sums.shape[1]).index_add_(0, owner, self.sums[rows])
        pooled /= self.sums.new_tensor(sizes).unsqueeze(1)
        unseen = Batch(pooled, pooled, owner, owner, owner)  # a vanilla head looks only at what was encoded
        self._keep(wanted, self.classifier.draw_logits(unseen, 1, encoded=pooled)[0].softmax(-1))

    def _add_sums(self) -> None:
        x, edge_index, sizes, fields = self._together(_by_game(self.new))
        ptr = torch.cat([sizes.new_zeros(1), sizes.cumsum(0)])
        owner = torch.repeat_interleave(torch.arange(len(sizes), device=sizes.device), sizes)
        seen = Batch(x, edge_index, owner, ptr, sizes, fields.get("edge_attr"), undirected=self.undirected)
        end = self.known + len(self.new)
        while end > len(self.sums):
            self.sums = torch.cat([self.sums, torch.zeros_like(self.sums)])
        self.sums[self.known : end].index_add_(0, owner, self.classifier.backbone(seen))
        self.known, self.new = end, []


def _by_game(items: Sequence[tuple[Game, NodeSet]]) -> list[tuple[Game, list[NodeSet]]]:
    """Neighbours of one game as one entry, in the order given."""
    grouped: list[tuple[Game, list[NodeSet]]] = []
    for game, nodes in items:
        if not grouped or grouped[-1][0] is not game:
            grouped.append((game, []))
        grouped[-1][1].append(nodes)
    return grouped
