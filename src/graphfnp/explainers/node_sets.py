"""Sets of a graph's nodes as integers: node v is in ``nodes`` if ``nodes >> v & 1``."""

from collections.abc import Iterator, Sequence

import numpy as np

NodeSet = int


def members(nodes: NodeSet) -> Iterator[int]:
    """The nodes, ascending."""
    while nodes:
        lowest = nodes & -nodes
        yield lowest.bit_length() - 1
        nodes ^= lowest


def neighbour_sets(num_nodes: int, edges: Sequence[Sequence[int]]) -> list[NodeSet]:
    """The neighbours of every node, whichever way the edge goes; a loop is no neighbour."""
    found = [0] * num_nodes
    for a, b in edges:
        if a != b:
            found[a] |= 1 << b
            found[b] |= 1 << a
    return found


def reached(nodes: NodeSet, neighbours: Sequence[NodeSet], within: NodeSet = -1, hops: int | None = None) -> NodeSet:
    """The nodes and all that can be reached from them inside ``within`` (everywhere) by ``hops`` steps (any number)."""
    frontier = nodes
    while frontier and hops != 0:
        around = 0
        for node in members(frontier):
            around |= neighbours[node]
        frontier = around & within & ~nodes
        nodes |= frontier
        hops = None if hops is None else hops - 1
    return nodes


def components(nodes: NodeSet, neighbours: Sequence[NodeSet]) -> list[NodeSet]:
    """The connected parts, that of the lowest node first."""
    parts = []
    while nodes:
        parts.append(reached(nodes & -nodes, neighbours, within=nodes))
        nodes &= ~parts[-1]
    return parts


def subsets(nodes: NodeSet) -> Iterator[NodeSet]:
    """All 2^n subsets, the empty one last."""
    part = nodes
    while part:
        yield part
        part = (part - 1) & nodes
    yield 0


def to_rows(sets: Sequence[NodeSet], num_nodes: int) -> np.ndarray:
    """[sets, nodes] bool"""
    width = (num_nodes + 7) // 8
    flat = np.frombuffer(b"".join(nodes.to_bytes(width, "little") for nodes in sets), dtype=np.uint8)
    return np.unpackbits(flat.reshape(len(sets), width), axis=1, bitorder="little", count=num_nodes).astype(bool)


def to_bits(sets: Sequence[NodeSet], num_nodes: int) -> np.ndarray:
    """[sets, words] of 64 nodes each"""
    width = (num_nodes + 63) // 64
    flat = np.frombuffer(b"".join(nodes.to_bytes(8 * width, "little") for nodes in sets), dtype="<u8")
    return flat.reshape(len(sets), width)


def from_rows(rows: np.ndarray) -> list[NodeSet]:
    """The sets that the rows [sets, nodes] of booleans stand for."""
    return [int.from_bytes(row.tobytes(), "little") for row in np.packbits(rows, axis=1, bitorder="little")]


def neighbours_of(nodes: NodeSet, neighbours: Sequence[NodeSet]) -> NodeSet:
    """Those beside the set."""
    return reached(nodes, neighbours, hops=1) & ~nodes


def connected_sets(nodes: NodeSet, neighbours: Sequence[NodeSet]) -> list[NodeSet]:
    """All connected subsets, small ones first."""
    level = dict.fromkeys(1 << node for node in members(nodes))
    found: list[NodeSet] = []
    while level:
        found += level
        level = dict.fromkeys(
            part | 1 << node for part in level for node in members(neighbours_of(part, neighbours) & nodes)
        )
    return found
