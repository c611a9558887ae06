"""Drawings for the page: the report's pictures as SVG that follows the page's colours and its strict policy."""

import re

from graphfnp.graphs.packed import PackedGraphs, Schema
from graphfnp.graphs.structure import Structure
from graphfnp.report.drawing import Place, picture_graph, picture_structure
from graphfnp.report.inline import inline_svg
from graphfnp.report.palette import THEME

STYLE = re.compile(r"""\sstyle=(["'])(?P<rules>[^"']*)\1""")
FALLBACK = {variable: f"{variable[:-1]}, {colour})" for colour, variable in THEME.items()}


def graph_svg(graphs: PackedGraphs, nodes: list[int], edges: list[tuple[int, int]], label: str, place: Place) -> str:
    """The first of the graphs, with some of its nodes and edges marked; ``place`` says where its nodes go."""
    return document(picture_graph(graphs, 0, set(nodes), set(edges) or None, place).svg(), label)


def structure_svg(structure: Structure, schema: Schema, label: str) -> str:
    return document(picture_structure(structure, schema).svg(), label)


def document(svg: str, label: str) -> str:
    """A document of its own; style attributes, which the page's policy forbids, become plain attributes."""
    drawn = str(inline_svg(svg, "drawing", label))
    drawn = STYLE.sub(lambda found: "".join(_attribute(rule) for rule in found["rules"].split(";")), drawn)
    for variable, with_fallback in FALLBACK.items():
        drawn = drawn.replace(variable, with_fallback)
    return drawn.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)


def _attribute(rule: str) -> str:
    name, found, value = rule.partition(":")
    return f' {name.strip()}="{value.strip()}"' if found else ""
