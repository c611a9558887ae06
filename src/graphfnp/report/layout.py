"""Where to put the nodes of a graph on paper."""

from collections.abc import Callable
from typing import Any

import numpy as np

EXACT = 120  # up to here every pairwise distance counts; above, springs
LONGEST_EDGE = 58  # so that a graph of three nodes does not fill the box


def place_nodes(num_nodes: int, edges: np.ndarray, width: float, height: float, margin: float = 14) -> np.ndarray:
    """[nodes, 2] within the box, the long side of the graph along the box's; the same graph is always placed alike."""
    import networkx as nx  # slow to import, and molecules are drawn without

    graph = nx.Graph()
    graph.add_nodes_from(range(num_nodes))
    graph.add_edges_from(edges.tolist())
    if num_nodes <= EXACT:
        hops = dict(nx.all_pairs_shortest_path_length(graph))
        apart = 1 + max(1, *(max(row.values()) for row in hops.values()))  # of nodes that no path connects
        distances = {a: {b: hops[a].get(b, apart) for b in graph} for a in graph}
        # From a drawing without crossings, where there is one, the distances are evened out.
        planar = nx.check_planarity(graph)[0]
        start = nx.planar_layout(graph) if planar else nx.circular_layout(graph)
        placed = nx.kamada_kawai_layout(graph, dist=distances, pos=start)
    else:
        placed = nx.spring_layout(graph, seed=0, method="force", iterations=40, k=1.6 / np.sqrt(num_nodes))
    points = np.array([placed[node] for node in range(num_nodes)])
    return _fit(points, edges, width, height, margin)


def place_rows(rows: list[Any], options: Any, begin: Callable[[int], bool]) -> tuple[None, dict[str, np.ndarray]]:
    """Where the nodes of one graph go: what an isolated process does; ``options`` are width and height."""
    begin(0)
    ((num_nodes, edges),) = rows
    return None, {"points": place_nodes(num_nodes, np.array(edges, dtype=int).reshape(-1, 2), *options)}


def _fit(points: np.ndarray, edges: np.ndarray, width: float, height: float, margin: float) -> np.ndarray:
    centred = points - points.mean(0)
    turned = centred @ np.linalg.svd(centred)[2].T
    turned = turned * np.where((turned**3).sum(0) < 0, -1, 1)  # mirror images of one graph are drawn alike
    low, high = turned.min(0), turned.max(0)
    room = np.array([width, height]) - 2 * margin
    scale = (room / np.maximum(high - low, 1e-6)).min()
    if len(edges):
        lengths = np.linalg.norm(turned[edges[:, 0]] - turned[edges[:, 1]], axis=1)
        scale = min(scale, LONGEST_EDGE / max(np.median(lengths), 1e-6))
    return (turned - (low + high) / 2) * scale + np.array([width, height]) / 2
