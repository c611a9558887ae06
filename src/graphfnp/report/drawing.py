"""Draw a graph or a decoded structure: molecules as chemists do, sentences as words with arcs, others as a layout."""

from collections.abc import Callable, Collection, Sequence
from itertools import islice

import numpy as np
from rdkit import rdBase

from graphfnp.chemistry.read_smiles import read_molecule
from graphfnp.chemistry.structures import structures_from_graphs
from graphfnp.graphs.packed import PackedGraphs, Schema
from graphfnp.graphs.structure import Structure
from graphfnp.kinds.kind_of import kind_of
from graphfnp.report.layout import place_nodes
from graphfnp.report.molecule import HEIGHT, WIDTH, MoleculePicture
from graphfnp.report.palette import ALERT, ELEMENTS, INK, PAPER, SOFT, hue
from graphfnp.report.sketch import Dot, Picture, Sketch, Stroke, Word

MOST_NODES = 400  # of a larger graph only a part is drawn
DASHES = ("", "5 3", "1.5 3", "7 3 1.5 3")

LEGEND = 14  # types named in a legend

Pairs = Collection[tuple[int, int]]
Place = Callable[[int, np.ndarray, float, float], np.ndarray]  # where nodes go, as place_nodes does it


def picture_graph(
    graphs: PackedGraphs,
    index: int,
    nodes: Collection[int] | None = None,
    edges: Pairs | None = None,
    place: Place = place_nodes,
) -> Picture:
    """Graph ``index`` with these nodes and edges marked.

    Without ``edges`` those between the nodes are, and without either those of ``edge_truth``.
    """
    graphs = graphs.select([index])
    structure = structures_from_graphs(graphs)[0]
    if edges is None and nodes is None and graphs.edge_truth is not None:
        edges = {(a, b) for a, b in graphs.edge_index[:, graphs.edge_truth.bool()].T.tolist()}
    nodes = nodes or ()
    if edges is None:
        edges = {(a, b) for a, b in graphs.edge_index.T.tolist() if a in nodes and b in nodes}
    if graphs.text is not None and graphs.schema.has_atom_features:
        with rdBase.BlockLogs():
            molecule = read_molecule(graphs.text[0])
        if not isinstance(molecule, str):
            known = molecule.GetNumAtoms() == structure.num_nodes
            return MoleculePicture(molecule, WIDTH, HEIGHT, nodes if known else (), edges if known else ())
    return picture_structure(structure, graphs.schema, nodes, edges, place)


def picture_structure(
    structure: Structure,
    schema: Schema,
    highlight_nodes: Collection[int] = (),
    highlight_edges: Pairs = (),
    place: Place = place_nodes,
) -> Picture:
    """The same, in every format."""
    molecule = kind_of(schema).molecule(structure)
    if molecule is not None:
        return MoleculePicture(molecule, WIDTH, HEIGHT, highlight_nodes, highlight_edges)
    if structure.names:
        return _sketch_words(structure.names, structure, highlight_nodes, highlight_edges)
    return _sketch_layout(structure, schema, highlight_nodes, highlight_edges, place)


def node_colour(schema: Schema, number: int) -> str:
    """Chemists' colours for elements, hues otherwise."""
    name = schema.node_types[number] if number < len(schema.node_types) else ""
    return ELEMENTS.get(name, hue(number)) if schema.kind == "molecule" else hue(number)


def edge_style(schema: Schema, number: int) -> tuple[str, str]:
    """Colour and dash pattern of an edge type; the first is plain."""
    if schema.kind == "molecule" or number == 0:
        return SOFT, ""
    return hue(number), DASHES[number % len(DASHES)]


def legend(schema: Schema) -> dict[str, list[dict[str, str]]]:
    """Colours of the node and edge types, where a drawing needs them explained; chemists know those of elements."""
    if schema.kind == "molecule":
        return {}
    nodes = [{"name": name, "colour": node_colour(schema, k)} for k, name in enumerate(schema.node_types[:LEGEND])]
    edges = [
        {"name": name, "colour": edge_style(schema, k)[0], "dash": edge_style(schema, k)[1]}
        for k, name in enumerate(schema.edge_types[:LEGEND])
    ]
    return {kind: types for kind, types in (("Nodes", nodes), ("Edges", edges)) if len(types) > 1}


def _sketch_layout(structure: Structure, schema: Schema, nodes: Collection[int], edges: Pairs, place: Place) -> Sketch:
    kept = _shown_nodes(structure)
    position = {node: k for k, node in enumerate(kept)}
    shown = [
        (position[a], position[b], kind, _both_ways(a, b, edges))
        for a, b, kind in structure.edges
        if a in position and b in position
    ]
    ends = np.array([edge[:2] for edge in shown], dtype=int).reshape(-1, 2)
    at = place(len(kept), ends, WIDTH, HEIGHT)
    length = float(np.median(np.linalg.norm(at[ends[:, 0]] - at[ends[:, 1]], axis=1))) if len(shown) else 40.0
    radius = max(1.1, min(8.0, 0.2 * length, 0.22 * (WIDTH * HEIGHT / len(kept)) ** 0.5))
    width = min(2.4, max(0.5, radius / 3.5))
    strokes: list[Stroke] = []
    for a, b, kind, marked in shown:
        colour, dash = edge_style(schema, kind)
        line = (tuple(at[a].tolist()), tuple(at[b].tolist()))
        if marked:
            strokes.insert(0, Stroke(line, ALERT, width + 0.9 * radius, opacity=0.55))
        strokes.append(Stroke(line, INK if marked else colour, width, dash, 1.0 if len(kept) <= 150 else 0.55))
    touched = {node for pair in edges for node in pair} | set(nodes)
    dots = [
        Dot(
            tuple(at[i].tolist()),
            radius * (1.2 if node in nodes else 1.0),
            _dot_colour(structure, schema, node, touched),
        )
        for i, node in enumerate(kept)
    ]
    named = len(schema.node_types) > 1 and len(kept) <= 30
    words = [
        Word(tuple(at[i].tolist()), name, PAPER, size=1.3 * radius, bold=True)
        for i, node in enumerate(kept)
        if named and len(name := schema.node_types[structure.node_type[node]]) <= 2
    ]
    if len(kept) < structure.num_nodes:
        words.append(Word((WIDTH / 2, HEIGHT - 6), f"{len(kept)} of {structure.num_nodes} nodes", SOFT, size=9))
    return Sketch(WIDTH, HEIGHT, strokes, dots, words)


def _dot_colour(structure: Structure, schema: Schema, node: int, touched: Collection[int]) -> str:
    """By type; where there is one type only, colour is free to say what is pointed at."""
    if len(schema.node_types) == 1:
        return ALERT if node in touched else SOFT
    return node_colour(schema, structure.node_type[node])


def _sketch_words(words: Sequence[str], structure: Structure, nodes: Collection[int], edges: Pairs) -> Sketch:
    """Words one below the other, as one reads them; arcs of the dependency tree to their left."""
    step, longest = 17.0, max((abs(a - b) for a, b, _ in structure.edges), default=1)
    reach = min(95.0, 14.0 * longest)
    height = max(HEIGHT, step * len(words) + 14)
    top = (height - step * (len(words) - 1)) / 2
    strokes = []
    for a, b, _ in structure.edges:
        angle = np.linspace(0, np.pi, 17)
        depth = reach * (abs(a - b) / longest) ** 0.6
        x, y = reach + 8 - depth * np.sin(angle), top + step * ((a + b) / 2 - (b - a) / 2 * np.cos(angle))
        marked = _both_ways(a, b, edges)
        points = list(zip(x.tolist(), y.tolist(), strict=True))
        strokes.append(Stroke(points, ALERT if marked else SOFT, 2.4 if marked else 1.2))
    dots = [Dot((reach + 8, top + step * i), 2.6, hue(0)) for i in range(len(words))]
    named = {node for pair in edges for node in pair} | set(nodes)
    written = [
        Word((reach + 16, top + step * i), word, INK, size=12, anchor="start", bold=i in named)
        for i, word in enumerate(words)
    ]
    return Sketch(max(WIDTH, reach + 24 + 7 * max(map(len, words))), height, strokes, dots, written)


def _shown_nodes(structure: Structure) -> list[int]:
    """All nodes in order; of a graph too large to draw, those around the node with most neighbours."""
    import networkx as nx  # slow to import, and only large graphs need it

    if structure.num_nodes <= MOST_NODES:
        return list(range(structure.num_nodes))
    graph = nx.Graph([edge[:2] for edge in structure.edges])
    if not graph:
        return list(range(MOST_NODES))
    hub = max(graph, key=lambda node: graph.degree[node])
    return [hub, *(node for _, node in islice(nx.bfs_edges(graph, hub), MOST_NODES - 1))]


def _both_ways(a: int, b: int, edges: Pairs) -> bool:
    return (a, b) in edges or (b, a) in edges
