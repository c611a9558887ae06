"""Names for small graphs without chemistry or words."""

from graphfnp.graphs.structure import Structure, as_networkx

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
