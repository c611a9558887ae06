"""Induced copies of a small connected pattern in a graph, types of nodes and edges included."""

from dataclasses import dataclass
from functools import cached_property

from graphfnp.graphs.structure import Structure

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
