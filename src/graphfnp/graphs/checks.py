"""Everything graphs from outside can get wrong, each an error that names the graphs."""

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from graphfnp.errors import InvalidGraphs, listed

if TYPE_CHECKING:
    from graphfnp.graphs.packed import PackedGraphs

UNLABELLED = -1


def check(graphs: "PackedGraphs") -> None:
    """Raise InvalidGraphs for the first thing that is wrong."""
    _check_lengths(graphs)
    _check_sizes(graphs)
    _check_features(graphs)
    _check_edges(graphs)
    _check_labels(graphs)


def _check_lengths(graphs: "PackedGraphs") -> None:
    nodes, edges, count = int(graphs.node_ptr[-1]), int(graphs.edge_ptr[-1]), len(graphs)
    for name, given, expected in (
        ("x", len(graphs.x), nodes),
        ("node_type", None if graphs.node_type is None else len(graphs.node_type), nodes),
        ("edge_index", graphs.edge_index.shape[-1], edges),
        ("edge_attr", None if graphs.edge_attr is None else len(graphs.edge_attr), edges),
        ("edge_truth", None if graphs.edge_truth is None else len(graphs.edge_truth), edges),
        ("edge_ptr", len(graphs.edge_ptr), count + 1),
        ("y", len(graphs.y), count),
        ("text", None if graphs.text is None else len(graphs.text), count),
        ("descriptors", None if graphs.descriptors is None else len(graphs.descriptors), count),
    ):
        if given is not None and given != expected:
            raise InvalidGraphs(
                f"{name} of length {given}",
                f"{expected}: the pointers say {count} graphs of {nodes} nodes and {edges} edges in all",
                f"check {name} and the pointers",
            )


def _check_sizes(graphs: "PackedGraphs") -> None:
    empty = graphs.sizes == 0
    if empty.any():
        raise InvalidGraphs(
            f"graphs without nodes: {listed(torch.where(empty)[0].tolist())}",
            "at least one node in every graph",
            "remove these graphs, or give each a node",
        )


def _check_features(graphs: "PackedGraphs") -> None:
    x, schema = graphs.x, graphs.schema
    if x.ndim != 2 or x.shape[1] != schema.num_columns:
        raise InvalidGraphs(
            f"node features of shape {tuple(x.shape)}",
            f"[nodes, {schema.num_columns}]",
            "use the features the schema names",
        )
    # The extremes are NaN or infinite when any value is; asking every value would copy features that live on disk.
    if schema.is_continuous and len(x) and not torch.isfinite(torch.stack(x.aminmax())).all():
        nodes = torch.where(~torch.isfinite(x).all(1))[0]
        owners = sorted(set(graphs.node_owner[nodes].tolist()))
        raise InvalidGraphs(
            f"NaN or infinite node features in graphs {listed(owners)}",
            "finite numbers",
            "fill in or remove the missing values",
        )
    node_type = None if graphs.node_type is None else graphs.node_type[:, None]
    _check_categories("node feature", None if schema.is_continuous else x, schema.node_sizes)
    _check_categories("edge feature", graphs.edge_attr, schema.edge_sizes)
    _check_categories("node type", node_type, (len(schema.node_types),))


def _check_categories(name: str, values: Tensor | None, sizes: tuple[int, ...]) -> None:
    if values is None:
        return
    if values.is_floating_point():
        raise InvalidGraphs(
            f"{name} columns of {values.dtype}", "whole numbers (an integer tensor)", "convert with .long()"
        )
    if values.shape[1] != len(sizes):
        raise InvalidGraphs(
            f"{values.shape[1]} {name} columns", f"{len(sizes)} columns", "use the columns the schema names"
        )
    if len(values) == 0:
        return
    low, high = values.amin(0).tolist(), values.amax(0).tolist()
    for column, size in enumerate(sizes):
        if low[column] < 0 or high[column] >= size:
            raise InvalidGraphs(
                f"{name} column {column} with values {low[column]} to {high[column]}",
                f"values 0 to {size - 1}",
                "map the values to the numbers of the schema",
            )


def _check_edges(graphs: "PackedGraphs") -> None:
    sizes = graphs.sizes
    owner = graphs.edge_owner
    outside = ((graphs.edge_index < 0) | (graphs.edge_index >= sizes[owner])).any(0)
    if outside.any():
        first = int(torch.where(outside)[0][0])
        graph = int(owner[first])
        raise InvalidGraphs(
            f"edge {graphs.edge_index[:, first].tolist()} in graph {graph} of {int(sizes[graph])} nodes"
            f" ({int(outside.sum())} such edges)",
            "node numbers from 0 to nodes - 1, local to the graph",
            "check how nodes were numbered",
        )


def _check_labels(graphs: "PackedGraphs") -> None:
    schema = graphs.schema
    if len(set(schema.class_names)) < schema.num_classes:
        raise InvalidGraphs(
            f"the classes {listed(schema.class_names)}", "a name of its own for each", "rename one, or merge the two"
        )
    wrong = (graphs.y < UNLABELLED) | (graphs.y >= schema.num_classes)
    if wrong.any():
        raise InvalidGraphs(
            f"labels {listed(sorted(set(graphs.y[wrong].tolist())))}",
            f"labels 0 to {schema.num_classes - 1} ({', '.join(schema.class_names)}), or {UNLABELLED} for unknown",
            "map the labels to class numbers",
        )
