"""Structure: one small graph as plain numbers, and parts of it."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch import Tensor

if TYPE_CHECKING:
    import networkx as nx


@dataclass(frozen=True, eq=False)
class Structure:
    """One small graph: types of its nodes, and edges (i, j, edge type) with i < j."""

    node_type: tuple[int, ...]
    edges: tuple[tuple[int, int, int], ...]
    x: Tensor | None = None  # [nodes, columns] where node features are continuous
    names: tuple[str, ...] = ()  # words of the nodes, where they are words
    cut_bonds: tuple[int, ...] = ()  # of a part: nodes that lost an edge when it was cut out, once for each edge

    @property
    def num_nodes(self) -> int:
        return len(self.node_type)


def substructure(structure: Structure, nodes: Collection[int]) -> Structure:
    """These nodes and the edges among them; where edges were cut the nodes are open."""
    kept = sorted(nodes)
    number = {node: position for position, node in enumerate(kept)}
    ends = [*structure.cut_bonds, *(n for i, j, _ in structure.edges if (i in number) != (j in number) for n in (i, j))]
    return Structure(
        tuple(structure.node_type[node] for node in kept),
        tuple((number[i], number[j], kind) for i, j, kind in structure.edges if i in number and j in number),
        None if structure.x is None else structure.x[kept],
        tuple(structure.names[node] for node in kept) if structure.names else (),
        tuple(sorted(number[node] for node in ends if node in number)),
    )


def as_networkx(structure: Structure) -> "nx.Graph":
    """Nodes and edges with their types as ``kind``."""
    import networkx as nx  # slow to import, and predictions need none of it

    graph: nx.Graph = nx.Graph()
    graph.add_nodes_from((node, {"kind": kind}) for node, kind in enumerate(structure.node_type))
    graph.add_edges_from((i, j, {"kind": kind}) for i, j, kind in structure.edges)
    return graph
