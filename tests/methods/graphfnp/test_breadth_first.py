"""Breadth-first order and decision lists, checked on small graphs by hand and on random graphs by their definition."""

import networkx as nx
import torch

from graphfnp.graphs.packed import Batch, PackedGraphs, Schema
from graphfnp.methods.graphfnp.decoder.breadth_first import (
    FAR,
    breadth_first_decisions,
    breadth_first_order,
    decisions_in_order,
)

SCHEMA = Schema(class_names=("a", "b"), node_sizes=(1,), edge_types=("single", "double"), edge_sizes=(2,))


def batch_of(*graphs: nx.Graph) -> Batch:
    """Graphs on nodes 0..n-1; an edge's ``kind`` is its type. Self-loops stay in."""
    edges, kinds, sizes = [], [], []
    for graph in graphs:
        both = [(a, b, d) for a, b, d in graph.edges(data=True)]
        both += [(b, a, d) for a, b, d in both if a != b]
        edges.append(torch.tensor([(a, b) for a, b, _ in both], dtype=torch.long).reshape(-1, 2).T)
        kinds += [d.get("kind", 0) for _, _, d in both]
        sizes.append(graph.number_of_nodes())
    return PackedGraphs.build(
        x=torch.zeros(sum(sizes), 1, dtype=torch.long),
        edge_index=torch.cat(edges, 1),
        node_ptr=torch.tensor([0, *sizes]).cumsum(0),
        edge_ptr=torch.tensor([0, *(e.shape[1] for e in edges)]).cumsum(0),
        y=torch.zeros(len(sizes), dtype=torch.long),
        schema=SCHEMA,
        edge_attr=torch.tensor(kinds, dtype=torch.long).reshape(-1, 1),
    ).batch()


def random_graphs() -> list[nx.Graph]:
    """Sparse (disconnected), dense, one-node and looped graphs."""
    graphs = [
        nx.gnp_random_graph(n, p, seed=seed)
        for seed, (n, p) in enumerate([(1, 0), (9, 0.1), (12, 0.2), (8, 0.7), (6, 0)])
    ]
    graphs[2].add_edge(3, 3)
    return graphs


def test_order_is_breadth_first_in_every_component() -> None:
    graphs = random_graphs()
    batch = batch_of(*graphs)
    for seed in range(10):
        order = breadth_first_order(batch, torch.Generator().manual_seed(seed))
        for graph, start, end in zip(graphs, batch.ptr[:-1].tolist(), batch.ptr[1:].tolist(), strict=True):
            nodes = (order[start:end] - start).tolist()
            assert sorted(nodes) == list(range(graph.number_of_nodes()))
            place = {node: t for t, node in enumerate(nodes)}
            parents = [min(place[v] for v in [node, *graph[node]]) for node in nodes]
            assert parents == sorted(parents)
            for component in nx.connected_components(graph):
                places = sorted(place[v] for v in component)
                assert places == list(range(places[0], places[-1] + 1))
                depth = nx.single_source_shortest_path_length(graph, nodes[places[0]])
                depths = [depth[nodes[p]] for p in places]
                assert depths == sorted(depths)


def test_root_and_neighbours_come_in_every_order() -> None:
    batch = batch_of(nx.star_graph(3))
    orders = {tuple(breadth_first_order(batch, torch.Generator().manual_seed(seed)).tolist()) for seed in range(400)}
    assert len([o for o in orders if o[0] == 0]) == 6  # from the hub: leaves in 3! orders
    assert len([o for o in orders if o[0] != 0]) == 6  # from a leaf: the hub, then two leaves in 2 orders


def test_same_generator_gives_same_order() -> None:
    batch = batch_of(*random_graphs())
    first, second = (breadth_first_order(batch, torch.Generator().manual_seed(3)) for _ in range(2))
    assert torch.equal(first, second)


def test_decisions_of_a_square_with_a_tail_by_hand() -> None:
    # Order 0 1 2 3 4: square 0-1-3-2, tail 3-4 (double).
    graph = nx.Graph([(0, 1), (0, 2), (1, 3), (2, 3)])
    graph.add_edge(3, 4, kind=1)
    decisions = decisions_in_order(batch_of(graph), torch.arange(5))
    pairs = list(zip(decisions.new.tolist(), decisions.old.tolist(), decisions.edge_class.tolist(), strict=True))
    # Parents 0 0 0 1 3: candidates start at p(t-1).
    assert pairs == [
        (1, 0, 1), (2, 0, 1), (2, 1, 0), (3, 0, 0), (3, 1, 1), (3, 2, 1), (4, 1, 0), (4, 2, 0), (4, 3, 2),
    ]  # fmt: skip
    assert decisions.degree.tolist() == [0, 1, 1, 2, 1, 1, 2, 2, 2]
    # Only (2, 1) and (3, 2) come after an edge of their node: 1 is one step from 0, and 2 two steps from 1.
    assert decisions.tree_distance.tolist() == [0, 0, 1, 0, 0, 2, 0, 0, 0]


def test_second_component_starts_afresh() -> None:
    graph = nx.Graph([(0, 1), (1, 2), (3, 4)])
    decisions = decisions_in_order(batch_of(graph), torch.arange(5))
    pairs = list(zip(decisions.new.tolist(), decisions.old.tolist(), decisions.edge_class.tolist(), strict=True))
    assert pairs == [(1, 0, 1), (2, 0, 0), (2, 1, 1), (3, 1, 0), (3, 2, 0), (4, 3, 1)]


def test_decisions_hold_every_edge_once_and_features_by_definition() -> None:
    graphs = random_graphs()
    batch = batch_of(*graphs)
    decisions = breadth_first_decisions(batch, torch.Generator().manual_seed(0))
    edges = [
        (a, b)
        for a, b, c in zip(decisions.new.tolist(), decisions.old.tolist(), decisions.edge_class, strict=True)
        if c
    ]
    assert len(edges) == sum(a != b for g in graphs for a, b in g.edges)
    tree = nx.Graph()
    tree.add_nodes_from(range(decisions.num_nodes))
    first = {t: min(j for s, j in edges if s == t) for t, _ in edges}
    tree.add_edges_from(first.items())
    for row, (t, j) in enumerate(zip(decisions.new.tolist(), decisions.old.tolist(), strict=True)):
        assert decisions.graph[t] == decisions.graph[j]
        assert decisions.degree[row] == sum((j in e) and max(e) < t for e in edges)
        if first.get(t, j) < j:
            distance = nx.shortest_path_length(tree, first[t], j) if nx.has_path(tree, first[t], j) else FAR
            assert decisions.tree_distance[row] == min(distance, FAR)
        else:
            assert decisions.tree_distance[row] == 0


def test_one_direction_is_enough_for_directed_graphs() -> None:
    both = batch_of(nx.path_graph(4))
    keep = both.edge_index[0] < both.edge_index[1]
    one = Batch(both.x, both.edge_index[:, keep], both.batch, both.ptr, both.y, undirected=False)
    assert torch.equal(
        decisions_in_order(both, torch.arange(4)).edge_class, decisions_in_order(one, torch.arange(4)).edge_class
    )
    order = breadth_first_order(one, torch.Generator().manual_seed(1))
    assert torch.equal(order, breadth_first_order(both, torch.Generator().manual_seed(1)))
