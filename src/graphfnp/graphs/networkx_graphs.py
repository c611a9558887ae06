"""Graphs of NetworkX to PackedGraphs."""

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
import torch
from torch import Tensor

from graphfnp.errors import InvalidGraphs, listed
from graphfnp.graphs.packed import PackedGraphs
from graphfnp.graphs.pyg import from_data_list, is_a

if TYPE_CHECKING:
    import networkx as nx


def is_networkx(value: Any) -> "TypeGuard[nx.Graph]":
    """One graph of NetworkX."""
    return is_a(value, "networkx", "Graph")


def from_networkx(
    graphs: Sequence[Any], labels: Sequence[int | str | None] | None = None, class_names: Sequence[str] | None = None
) -> PackedGraphs:
    """Pack NetworkX graphs: node attribute ``x`` (numbers) or ``type`` (a name), edge attribute ``type``, else degrees.

    An attribute is in all nodes or edges, or in none. Without ``labels`` the graph attribute ``y`` or ``label`` is one.
    """
    from torch_geometric.data import Data

    graphs = list(graphs)
    if wrong := [type(graph).__name__ for graph in graphs if not is_networkx(graph)]:
        raise InvalidGraphs(f"a {wrong[0]}", "graphs of NetworkX", "pass a list of them; PyG has from_data_list")
    labels = [graph.graph.get("y", graph.graph.get("label")) for graph in graphs] if labels is None else list(labels)
    if (count := len(labels)) != len(graphs):
        raise InvalidGraphs(f"{count} labels for {len(graphs)} graphs", "one label for each graph", "check the list")
    features = [[value for _, value in graph.nodes(data="x")] for graph in graphs]
    has_x = any(value is not None for values in features for value in values)
    node_names = {} if has_x else _attribute_names("node", [graph.nodes(data="type") for graph in graphs])
    edge_names = _attribute_names("edge", [graph.edges(data="type") for graph in graphs])
    _tell_unread("node", (own for graph in graphs for _, own in graph.nodes(data=True)), {"x"} if has_x else {"type"})
    _tell_unread("edge", (own for graph in graphs for *_, own in graph.edges(data=True)), {"type"})
    data = []
    for number, graph in enumerate(graphs):
        position = {node: i for i, node in enumerate(graph.nodes)}
        pairs = [(position[a], position[b]) for a, b, *_ in graph.edges]
        kinds = [edge_names[value] for *_, value in graph.edges(data="type")] if edge_names else []
        if not graph.is_directed():
            back = [(b, a) for a, b in pairs if a != b]
            kinds += [kind for kind, (a, b) in zip(kinds, pairs, strict=True) if a != b] if edge_names else []
            pairs += back
        item = Data(edge_index=torch.tensor(pairs, dtype=torch.long).reshape(-1, 2).T, num_nodes=len(position))
        if has_x and features[number]:
            item.x = _rows_of_numbers(features[number], number)
        elif node_names:
            item.x = torch.tensor([[node_names[value]] for _, value in graph.nodes(data="type")])
        if edge_names:
            item.edge_attr = torch.tensor(kinds, dtype=torch.long).reshape(-1, 1)
        item.y = labels[number]
        data.append(item)
    packed = from_data_list(data, class_names)
    own = packed.schema
    nodes, edges = tuple(map(str, node_names)) or own.node_types, tuple(map(str, edge_names)) or own.edge_types
    return replace(packed, schema=replace(own, node_types=nodes, edge_types=edges))


def _tell_unread(what: str, attributes: Iterable[dict[Any, Any]], read: set[str]) -> None:
    """A warning that names the attributes that are left out, before somebody believes that a model sees them."""
    if unread := sorted({str(name) for own in attributes for name in own} - read):
        which = f"attribute{'s' if len(unread) > 1 else ''} {listed(unread)}"
        usable = "x (numbers) or else type (a name)" if what == "node" else "type (a name)"
        warnings.warn(f"the {what} {which} of these graphs: left out, only {usable} is read", stacklevel=3)


def _attribute_names(what: str, views: Sequence[Any]) -> dict[Any, int]:
    """Number of each value of the NetworkX attribute ``type``; empty where no node or edge has one."""
    found = {value for view in views for *_, value in view}
    if None in found and len(found) > 1:
        raise InvalidGraphs(f"a type of some {what}s only", f"a type of all {what}s or of none", "give all a type")
    return {value: k for k, value in enumerate(sorted(found - {None}, key=str))}


def _rows_of_numbers(values: list[Any], number: int) -> Tensor:
    """[nodes, columns]: the NetworkX attribute ``x`` of a graph."""
    try:
        numbers = np.stack(values) if isinstance(values[0], np.ndarray) else values  # of many arrays torch warns
        rows = torch.stack(values) if isinstance(values[0], Tensor) else torch.as_tensor(numbers)
        return rows.reshape(len(values), -1)
    except (RuntimeError, TypeError, ValueError) as error:
        raise InvalidGraphs(
            f"x of graph {number}: {error}", "as many numbers in every node", "check x; a name is a type"
        ) from error
