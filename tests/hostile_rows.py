"""Rows that crash RDKit or keep it busy for minutes, if nobody stops them."""

from itertools import combinations
from typing import Any

import networkx as nx


def ring_of_rings(units: int) -> str:
    """Para-linked benzenes bent to a circle: 2^units smallest rings."""
    return "C%90" + "c1ccc(cc1)" * units + "C%90"


def graph(num_nodes: int, edges: Any, node: str = "C", edge: str = "single") -> dict[str, Any]:
    pairs = [list(pair) for pair in edges]
    return {"num_nodes": num_nodes, "edges": pairs, "node_types": [node] * num_nodes, "edge_types": [edge] * len(pairs)}


def complete(num_nodes: int) -> dict[str, Any]:
    return graph(num_nodes, combinations(range(num_nodes), 2))


def star(leaves: int) -> dict[str, Any]:
    return graph(leaves + 1, [(0, leaf) for leaf in range(1, leaves + 1)])


def cubic(num_nodes: int) -> dict[str, Any]:
    return graph(num_nodes, nx.random_regular_graph(3, num_nodes, seed=1).edges, edge="aromatic")


def ring_graph(units: int) -> dict[str, Any]:
    """:func:`ring_of_rings` as a graph of single bonds."""
    edges = [(6 * u + a, 6 * u + b) for u in range(units) for a, b in ((0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0))]
    edges += [(6 * u + 3, 6 * ((u + 1) % units)) for u in range(units)]
    return graph(6 * units, edges)


WORST = ring_of_rings(20)
GRAPHS = {"complete 100": complete(100), "complete 52": complete(52), "star": star(129), "cubic": cubic(400)}
GRAPHS |= {"ring of rings": ring_graph(20), "complete with strangers": {**complete(40), "num_nodes": 41}}
GRAPHS["complete with strangers"]["node_types"] = ["C"] * 41
