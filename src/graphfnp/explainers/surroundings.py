"""The surroundings of nodes in many coalitions of many graphs: what is left of the graph a few steps around each."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

import numpy as np

from graphfnp.explainers.node_sets import NodeSet, to_bits

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
