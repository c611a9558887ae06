"""Coalitions put together from node states: what a network says of a node depends on its surroundings alone."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from graphfnp.explainers.coalitions import Evaluator, Game
from graphfnp.explainers.node_sets import NodeSet, to_bits
from graphfnp.graphs.packed import Batch
from graphfnp.methods.contract import GraphClassifier
from graphfnp.networks.backbone import Backbone
from graphfnp.networks.convolutions import GCNLayer
from graphfnp.networks.mlp import normalised

# Odd 64-bit numbers that mix a set and its centre into one key: two of a million keys meet with odds of one in 10^7.
MIX = np.random.default_rng(6).integers(0, 1 << 63, 64, dtype=np.uint64) * np.uint64(2) + np.uint64(1)


@dataclass(eq=False)
class Graphs:
    """Graphs side by side, nodes numbered through, in-edges of a node one after the other."""

    first_node: dict[Hashable, int] = field(default_factory=dict)
    loops: dict[Hashable, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)  # see _with_loops
    in_ptr: np.ndarray = field(default_factory=lambda: np.zeros(1, dtype=np.int64))  # [nodes + 1]
    source: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))  # [edges]

    def __contains__(self, name: Hashable) -> bool:
        return name in self.first_node

    def add(self, name: Hashable, num_nodes: int, edge_index: np.ndarray) -> None:
        """One more graph; edges [2, edges] sorted by target."""
        first = len(self.in_ptr) - 1
        ends = np.cumsum(np.bincount(edge_index[1], minlength=num_nodes))
        self.first_node[name], self.loops[name] = first, _with_loops(num_nodes, edge_index)
        self.in_ptr = np.concatenate([self.in_ptr, len(self.source) + ends])
        self.source = np.concatenate([self.source, edge_index[0] + first])


@dataclass(frozen=True, eq=False)
class Occurrences:
    """Every node of every coalition (and those left out), by number: graph by graph, node by node, coalition last."""

    graphs: Graphs
    shapes: list[tuple[int, int]]  # (nodes, coalitions) of each graph
    present: np.ndarray  # [occurrences], bool
    node: np.ndarray  # [occurrences]: number in ``graphs``
    keys: list[np.ndarray]  # [occurrences] for each layer: equal for equal surroundings of the same node
    degree: np.ndarray  # [occurrences]: in-edges that are left

    @classmethod
    def of(
        cls, graphs: Graphs, wanted: Sequence[tuple[Hashable, Sequence[NodeSet]]], layers: int, reads_degrees: bool
    ) -> "Occurrences":
        """``reads_degrees`` lets surroundings reach a step further than the layers do."""
        shapes, present, node, keys, degree = [], [], [], [], []
        for name, coalitions in wanted:
            around, starts = graphs.loops[name]
            size = len(starts)
            bits = to_bits(coalitions, size)  # [coalitions, words]
            own = to_bits([1 << v for v in range(size)], size)  # [nodes, words]
            sets = bits & own[:, None]  # [nodes, coalitions, words]: what is left within 0 steps
            here = sets.any(-1)
            numbers = np.arange(size) + graphs.first_node[name]
            centre, words = numbers.astype(np.uint64)[:, None] * MIX[0], bits.shape[1]
            levels = []
            for step in range(1, layers + 1 + reads_degrees):
                sets = np.bitwise_or.reduceat(sets[around], starts, axis=0) * here[..., None]
                if step > reads_degrees:
                    levels.append((sets * MIX[1 : 1 + words]).sum(2) + centre)
            shapes.append(here.shape)
            present.append(here.ravel())
            node.append(np.repeat(numbers, len(coalitions)))
            keys.append([level.ravel() for level in levels])
            degree.append((np.add.reduceat(here[around].astype(np.int32), starts, axis=0) - here).ravel())
        together = [np.concatenate(level) for level in zip(*keys, strict=True)]
        return cls(graphs, shapes, np.concatenate(present), np.concatenate(node), together, np.concatenate(degree))

    def by_coalition(self) -> tuple[np.ndarray, np.ndarray]:
        """The occurrences that are present, coalition by coalition, and how many there are in each."""
        found, sizes, start = [], [], 0
        for nodes, coalitions in self.shapes:
            here = self.present[start : start + nodes * coalitions].reshape(nodes, coalitions).T
            which, node = np.nonzero(here)
            found.append(start + node * coalitions + which)
            sizes.append(here.sum(1))
            start += nodes * coalitions
        return np.concatenate(found), np.concatenate(sizes)

    def incoming(self, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of the edges left that end at these occurrences: source (an occurrence), target (a position), edge."""
        ptr, node = self.graphs.in_ptr, self.node[targets]
        counts = ptr[node + 1] - ptr[node]
        target = np.repeat(np.arange(len(targets)), counts)
        edge = np.arange(len(target)) + np.repeat(ptr[node] - (np.cumsum(counts) - counts), counts)
        ends = np.cumsum([nodes * coalitions for nodes, coalitions in self.shapes])
        stride = np.array([coalitions for _, coalitions in self.shapes])[np.searchsorted(ends, targets, side="right")]
        source = targets[target] + (self.graphs.source[edge] - node[target]) * stride[target]
        left = self.present[source]
        return source[left], target[left], edge[left]


class Numbering:
    """Numbers for 64-bit keys, in the order in which they first come."""

    def __init__(self) -> None:
        self.keys, self.numbers = np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.int64)  # sorted by key

    def of(self, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The number of every key, and where the keys with new numbers stand, in the order of these numbers."""
        distinct, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        place = np.searchsorted(self.keys, distinct)
        known = np.zeros(len(distinct), dtype=bool)
        near = place < len(self.keys)
        known[near] = self.keys[place[near]] == distinct[near]
        numbers = np.empty(len(distinct), dtype=np.int64)
        numbers[known] = self.numbers[place[known]]
        numbers[~known] = len(self.keys) + np.arange(len(distinct) - known.sum())
        self.keys = np.insert(self.keys, place[~known], distinct[~known])
        self.numbers = np.insert(self.numbers, place[~known], numbers[~known])
        return numbers[inverse], first[~known]


def _with_loops(num_nodes: int, edge_index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of each node: itself and the sources of its in-edges, one after the other; and where a node's begin."""
    source = np.concatenate([np.arange(num_nodes), edge_index[0]])
    target = np.concatenate([np.arange(num_nodes), edge_index[1]])
    counts = np.bincount(target, minlength=num_nodes)
    return source[np.argsort(target, kind="stable")], np.cumsum(counts) - counts


TOGETHER = 1 << 15  # nodes of coalitions looked up at one time: few enough for the cache
REMEMBERED = 1 << 19  # states of a layer: around a hub no two coalitions are alike, and memory would have no end


def is_local(model: nn.Module, games: Sequence[Game]) -> bool:
    """Is the model a head on the mean of node states, and are its edges between nodes, so that layers see in-edges?"""
    network = model.mean_pooled_network() if isinstance(model, GraphClassifier) else None
    loops = any(bool((game.edge_index[0] == game.edge_index[1]).any()) for game in games)
    plain = network is not None and isinstance(network[0], Backbone) and network[0].descriptors is None
    return plain and not loops


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
        super().__init__(classifier, num_classes, node_budget=node_budget)
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
