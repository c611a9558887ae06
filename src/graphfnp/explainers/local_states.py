"""Coalitions put together from node states: what a network says of a node depends on its surroundings alone."""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from graphfnp.explainers.coalitions import Evaluator, Game
from graphfnp.explainers.node_sets import NodeSet
from graphfnp.explainers.surroundings import Graphs, Numbering, Occurrences
from graphfnp.graphs.packed import Batch
from graphfnp.methods.contract import GraphClassifier
from graphfnp.networks.backbone import Backbone
from graphfnp.networks.convolutions import GCNLayer
from graphfnp.networks.normalisation import normalised

TOGETHER = 1 << 15  # nodes of coalitions looked up at one time: few enough for the cache
REMEMBERED = 1 << 19  # states of a layer: around a hub no two coalitions are alike, and memory would have no end


def is_local(model: nn.Module, games: Sequence[Game]) -> bool:
    """Is the model a head on the mean of node states, and are its edges between nodes, so that layers see in-edges?"""
    network = model.mean_pooled_network() if isinstance(model, GraphClassifier) else None
    loops = any(bool((game.edge_index[0] == game.edge_index[1]).any()) for game in games)
    return network is not None and isinstance(network[0], Backbone) and not loops


class Rows:
    """A table that grows at its end."""

    def __init__(self, width: int, device: torch.device) -> None:
        self.table, self.filled = torch.zeros(1024, width, device=device), 0

    def append(self, rows: Tensor) -> None:
        end = self.filled + len(rows)
        while end > len(self.table):
            self.table = torch.cat([self.table, torch.zeros_like(self.table)])
        self.table[self.filled : end] = rows
        self.filled = end


class LocalEvaluator(Evaluator):
    """p(y | C) = head(mean_{v in C} h_v(C)) by ``split``, with every h_v remembered.

    After l layers the state of v depends on the nodes of C that l steps lead to, and with GCN on their degrees, which
    is one step more. Many thousand coalitions have few different surroundings of a node, so a layer works on these:
    targets are surroundings never seen before, sources are states of the layer below.
    """

    def __init__(self, classifier: GraphClassifier, num_classes: int, node_budget: int = TOGETHER) -> None:
        super().__init__(classifier, num_classes, "split", node_budget)
        self.backbone, self.head = cast(Any, classifier.mean_pooled_network())
        self.reads_degrees = isinstance(self.backbone.layers[0], GCNLayer)
        self.device = next(classifier.parameters()).device
        depth, width = len(self.backbone.layers), self.backbone.out_width
        self.graphs = Graphs()
        self.edge_attr: Tensor | None = None
        self.states = [Rows(width, self.device)]  # [0]: what the first layer reads
        self._forget(depth, width)

    def _forget(self, depth: int, width: int) -> None:
        self.numbers = [Numbering() for _ in range(depth)]  # of the surroundings after each layer
        self.states = [self.states[0], *(Rows(width, self.device) for _ in range(depth))]

    def _cost(self, game: Game, coalition: NodeSet) -> int:
        return game.num_nodes

    @torch.no_grad()
    def _ask(self, wanted: Sequence[tuple[Game, Sequence[NodeSet]]]) -> None:
        for game in dict.fromkeys(game for game, _ in wanted if game not in self.graphs):
            self._introduce(game)
        if max(layer.filled for layer in self.states[1:]) > REMEMBERED:
            self._forget(len(self.numbers), self.backbone.out_width)
        seen = Occurrences.of(self.graphs, wanted, len(self.numbers), self.reads_degrees)
        inside, sizes = seen.by_coalition()
        rows = torch.from_numpy(self._rows(len(self.numbers), seen, inside)).to(self.device)
        starts = torch.from_numpy(np.cumsum(sizes) - sizes).to(self.device)
        pooled = nn.functional.embedding_bag(rows, self.states[-1].table, starts, mode="mean")
        self._keep(wanted, self.head(torch.relu(pooled)).softmax(-1))

    def _introduce(self, game: Game) -> None:
        self.graphs.add(game, game.num_nodes, game.edge_index.cpu().numpy())
        self.states[0].append(self.backbone.input(game.x))
        attr = game.edge_fields.get("edge_attr")
        if attr is not None:
            self.edge_attr = attr if self.edge_attr is None else torch.cat([self.edge_attr, attr])

    def _rows(self, level: int, seen: Occurrences, which: np.ndarray) -> np.ndarray:
        """Where in ``states[level]`` the states of these nodes are; those never seen are computed."""
        if level == 0:
            return seen.node[which]
        rows, new = self.numbers[level - 1].of(seen.keys[level - 1][which])
        if len(new):
            self.states[level].append(self._layer(level, seen, which[new]))
        return rows

    def _layer(self, level: int, seen: Occurrences, targets: np.ndarray) -> Tensor:
        """[targets, width]: the layer on a graph from states of the layer below to the targets."""
        sources, target, edge = seen.incoming(targets)
        rows = self._rows(level - 1, seen, np.concatenate([targets, sources]))
        own, (distinct, source) = rows[: len(targets)], np.unique(rows[len(targets) :], return_inverse=True)
        h = self.states[level - 1].table[torch.from_numpy(np.concatenate([own, distinct])).to(self.device)]
        h = torch.relu(h) if level > 1 else h
        edge_index = torch.from_numpy(np.stack([len(targets) + source, target])).to(self.device)
        weight = None
        if self.reads_degrees:  # sources have no in-edges here: without this GCN would take their degree for 0
            weight = torch.from_numpy(1 / np.sqrt(1 + seen.degree[sources])).to(h)
        attr = None if self.edge_attr is None else self.edge_attr[torch.from_numpy(edge).to(self.device)]
        batch = Batch(h, edge_index, edge_index[1], edge_index[1], edge_index[1], attr, undirected=False)
        layer, norm = self.backbone.layers[level - 1], self.backbone.norms[level - 1]
        return normalised(norm, layer(h, layer.edges(batch, self.backbone.edge_sizes, weight)))[: len(targets)]
