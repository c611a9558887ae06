"""Structure: one small graph as plain numbers; its parts, its name, and copies of it in larger graphs."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # both slow to import: the processes that read molecules need neither
    import networkx as nx
    from torch import Tensor


@dataclass(frozen=True, eq=False)
class Structure:
    """One small graph: types of its nodes, and edges (i, j, edge type) with i < j."""

    node_type: tuple[int, ...]
    edges: tuple[tuple[int, int, int], ...]
    x: "Tensor | None" = None  # [nodes, columns] where node features do not follow from the types
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


def largest_piece(structure: Structure) -> Structure:
    """Its largest connected part."""
    import networkx as nx  # slow to import, and predictions need none of it

    return substructure(structure, max(nx.connected_components(as_networkx(structure)), key=len))


def as_networkx(structure: Structure) -> "nx.Graph":
    """Nodes and edges with their types as ``kind``."""
    import networkx as nx  # slow to import, and predictions need none of it

    graph: nx.Graph = nx.Graph()
    graph.add_nodes_from((node, {"kind": kind}) for node, kind in enumerate(structure.node_type))
    graph.add_edges_from((i, j, {"kind": kind}) for i, j, kind in structure.edges)
    return graph


Adjacency = list[dict[int, int]]  # for each node: neighbour -> edge type

STEPS = 100_000  # of one search; one that takes longer counts as nothing found


@dataclass(frozen=True, eq=False)
class Pattern:
    """A connected structure with the order in which its nodes are sought: each beside one that is found already."""

    structure: Structure

    @cached_property
    def neighbours(self) -> Adjacency:
        return adjacency(self.structure)

    @cached_property
    def core(self) -> list[int]:
        return core_numbers(self.neighbours)

    @cached_property
    def order(self) -> list[int]:
        links = self.neighbours
        chosen = [max(range(len(links)), key=lambda node: (self.core[node], len(links[node])))]
        while len(chosen) < len(links):
            rest = [node for node in range(len(links)) if node not in chosen and set(links[node]) & set(chosen)]
            # Cycles first, then nodes with several found neighbours: they fail early.
            found = set(chosen)
            chosen.append(
                max(rest, key=lambda node: (self.core[node], len(set(links[node]) & found), len(links[node])))
            )
        return chosen

    def first_copy(self, node_type: tuple[int, ...], links: Adjacency, core: list[int]) -> tuple[int, ...]:
        """Nodes of the graph in the order of the pattern's nodes; empty if there is no copy."""
        kinds, own, order = self.structure.node_type, self.neighbours, self.order
        if len(kinds) > len(links) or sum(map(len, own)) > sum(map(len, links)):
            return ()
        place: dict[int, int] = {}
        steps = 0

        def fits(node: int, there: int) -> bool:
            if node_type[there] != kinds[node] or len(links[there]) < len(own[node]) or core[there] < self.core[node]:
                return False
            return all(links[there].get(other_there) == own[node].get(other) for other, other_there in place.items())

        def search(depth: int) -> bool:
            nonlocal steps
            if depth == len(order):
                return True
            node = order[depth]
            known = next((other for other in own[node] if other in place), None)
            for there in range(len(links)) if known is None else links[place[known]]:
                steps += 1
                if steps > STEPS:
                    return False
                if there not in place.values() and fits(node, there):
                    place[node] = there
                    if search(depth + 1):
                        return True
                    del place[node]
            return False

        return tuple(place[node] for node in range(len(kinds))) if search(0) else ()


def adjacency(structure: Structure) -> Adjacency:
    links: Adjacency = [{} for _ in structure.node_type]
    for i, j, kind in structure.edges:
        links[i][j] = links[j][i] = kind
    return links


def core_numbers(links: Adjacency) -> list[int]:
    """For each node the largest k such that it lies in a subgraph of least degree k; no copy can lower it."""
    import networkx as nx  # prediction does without it

    core = nx.core_number(nx.from_dict_of_lists(dict(enumerate(links))))
    return [core[node] for node in range(len(links))]


NAMED = {
    "house": [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (1, 4)],
    "square with a diagonal": [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)],
    "bow tie": [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 2)],
}


def motif_name(structure: Structure) -> str:
    """What the shape is called, types left aside: 'cycle of 5 nodes', 'house', 'star of 6 nodes', ..."""
    import networkx as nx  # slow to import, and only names need it

    graph = as_networkx(structure)
    nodes, edges = graph.number_of_nodes(), graph.number_of_edges()
    for name, known in NAMED.items():
        if nx.is_isomorphic(graph, nx.Graph(known)):
            return name
    degree = sorted(d for _, d in graph.degree)
    if nodes == 1:
        return "one node"
    if not nx.is_connected(graph):
        return f"{nodes} nodes in {nx.number_connected_components(graph)} pieces"
    if nodes > 2 and degree == [2] * nodes:
        return f"cycle of {nodes} nodes"
    if edges == nodes * (nodes - 1) // 2 and nodes > 3:
        return f"clique of {nodes} nodes"
    if edges == nodes - 1:
        shape = "path" if degree[-1] <= 2 else "star" if degree[-1] == nodes - 1 else "tree"
        return f"{shape} of {nodes} nodes"
    core = as_networkx(structure)
    while leaves := [node for node, d in core.degree if d == 1]:
        core.remove_nodes_from(leaves)
    if len(core) < nodes:
        number = {node: place for place, node in enumerate(core)}
        inner = Structure((0,) * len(core), tuple((number[i], number[j], 0) for i, j in core.edges))
        return f"{motif_name(inner)} with {nodes - len(core)} more"
    return f"{nodes} nodes and {edges} edges"
