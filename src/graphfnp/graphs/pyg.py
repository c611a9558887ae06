"""Graphs of PyTorch Geometric to PackedGraphs and back."""

import sys
import warnings
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

import torch
from torch import Tensor

from graphfnp.errors import InvalidGraphs, listed
from graphfnp.graphs.edges import DEGREE_SIZE
from graphfnp.graphs.labels import label_numbers
from graphfnp.graphs.packed import UNLABELLED, PackedGraphs, Schema
from graphfnp.graphs.pointers import pointers

if TYPE_CHECKING:
    from torch_geometric.data import Batch, Data, Dataset

MOST_CATEGORIES = 100_000  # each has a name and an embedding


def from_data_list(data: "Iterable[Data]", class_names: Sequence[str] | None = None) -> PackedGraphs:
    """Pack PyG graphs, finding the schema in the data.

    Integer or one-hot ``x`` is categorical, other floats are continuous, and without ``x`` the degree is the feature.
    Labels of any integer or string kind become 0..K-1 in sorted order (or in the order of ``class_names``).
    """
    data = [data] if is_data(data) else list(data)
    if not data:
        raise InvalidGraphs("an empty list", "at least one graph", "check what was read")
    for number, item in enumerate(data):
        if is_batch(item) or not is_data(item):
            raise InvalidGraphs(
                f"a {'batch of graphs' if is_batch(item) else type(item).__name__} in place {number}",
                "one Data for each graph", "take batch.to_data_list(), or the dataset of the loader",
            )  # fmt: skip
    edges = [_edges(item, number) for number, item in enumerate(data)]
    texts = [item.get("text", item.get("smiles")) for item in data]
    text = None if any(text is None for text in texts) else [str(text) for text in texts]
    labels = [_label(item.get("y"), number) for number, item in enumerate(data)]
    x, edge_attr, node_type = (_column(data, name) for name in ("x", "edge_attr", "node_type"))
    edge_truth = _column(data, "edge_truth")
    edge_truth = None if edge_truth is None else edge_truth.flatten().bool()
    schema = data[0].get("schema")
    if (other := next((number for number, item in enumerate(data) if item.get("schema") != schema), None)) is not None:
        raise InvalidGraphs(
            f"graph {other} with another schema than graph 0: its numbers mean other classes or types",
            "one schema in all graphs or in none", "pack them together before to_data_list",
        )  # fmt: skip
    if schema is not None:
        y = torch.tensor([UNLABELLED if label is None else label for label in labels])
    else:
        y, names = label_numbers(labels, class_names)
        x, node_part = _node_features(x)
        edge_attr, edge_part = _edge_features(edge_attr)
        if x is not None and node_part.get("features") == "types":
            node_type = x[:, 0]
        if node_type is not None and "node_types" not in node_part:
            node_part["node_types"] = _numbered(int(node_type.max()) + 1)
        schema = Schema(class_names=names, **node_part, **edge_part)
    node_ptr = pointers(torch.tensor([_num_nodes(item) for item in data]))
    edge_ptr = pointers(torch.tensor([edge.shape[1] for edge in edges]))
    return PackedGraphs.build(
        x, torch.cat(edges, dim=1), node_ptr, edge_ptr, y, schema, edge_attr, node_type, edge_truth, text,
        descriptors=_column(data, "descriptors") if schema.descriptors else None,
    )  # fmt: skip


def to_data_list(graphs: PackedGraphs) -> "list[Data]":
    """One PyG ``Data`` for each graph; each has the schema, so :func:`from_data_list` gives back the same graphs."""
    from torch_geometric.data import Data

    nodes, edges = graphs.sizes.tolist(), graphs.edge_ptr.diff().tolist()
    split: dict[str, Sequence[Any]] = {
        "x": graphs.x.split(nodes),
        "edge_index": graphs.edge_index.split(edges, dim=1),
        "y": graphs.y.split(1),
    }
    for name, sizes in (("edge_attr", edges), ("node_type", nodes), ("edge_truth", edges), ("descriptors", 1)):
        if (value := getattr(graphs, name)) is not None:
            split[name] = value.split(sizes)
    if graphs.text is not None:
        split["text"] = graphs.text
    return [
        Data(**dict(zip(split, values, strict=True)), schema=graphs.schema)
        for values in zip(*split.values(), strict=True)
    ]


# ------------------------------------------------------------------------ finding the schema


def _node_features(x: Tensor | None) -> tuple[Tensor | None, dict[str, Any]]:
    """x as PackedGraphs wants it, and what the schema says of it."""
    if x is None or 0 in x.shape[1:]:  # no column says as little as none
        return None, {"node_sizes": (DEGREE_SIZE,), "features": "degree"}
    values, sizes = _categories(x)
    if not sizes:
        return values, {"node_width": values.shape[1]}
    if len(sizes) == 1:
        return values, {"node_sizes": sizes, "node_types": _numbered(sizes[0]), "features": "types"}
    return values, {"node_sizes": sizes}


def _edge_features(edge_attr: Tensor | None) -> tuple[Tensor | None, dict[str, Any]]:
    if edge_attr is None or not len(edge_attr):
        return None, {}
    values, sizes = _categories(edge_attr)
    if not sizes:
        warnings.warn("continuous edge features are left out: only types of edges are used", stacklevel=3)
        return None, {}
    return values, {"edge_sizes": sizes, "edge_types": _numbered(sizes[0])}


def _categories(values: Tensor) -> tuple[Tensor, tuple[int, ...]]:
    """Columns of categories, and how many each may have; numbers that are none have no sizes."""
    values = values.unsqueeze(1) if values.ndim == 1 else values
    if _is_one_hot(values):
        return values.argmax(1, keepdim=True), (values.shape[1],)
    if values.is_floating_point():
        return values, ()
    largest = values.amax(0).tolist()
    if max(largest) >= MOST_CATEGORIES:
        raise InvalidGraphs(
            f"whole numbers up to {max(largest)} as features", f"categories 0 to {MOST_CATEGORIES - 1}",
            "write .float() if they are quantities; else number the categories from 0",
        )  # fmt: skip
    return values.long(), tuple(int(value) + 1 for value in largest)


def _is_one_hot(values: Tensor) -> bool:
    """Exactly one 1 in every row, zeros elsewhere, over more than one column."""
    if values.ndim != 2 or values.shape[1] < 2 or not len(values):
        return False
    return bool(((values == 0) | (values == 1)).all()) and bool((values.sum(1) == 1).all())


def _numbered(count: int) -> tuple[str, ...]:
    return tuple(f"type {k}" for k in range(max(count, 1)))


# ------------------------------------------------------------------------ reading single graphs


def _column(data: "Sequence[Data]", name: str) -> Tensor | None:
    """One field of all graphs, concatenated; None if no graph has it."""
    values = [_tensor(item, name, number) for number, item in enumerate(data)]
    have = [value for value in values if value is not None]
    if not have:
        return None
    if len(have) < len(values) and not (
        name == "edge_attr" and all(_edgeless(d) for d, v in zip(data, values, strict=True) if v is None)
    ):
        missing = [i for i, value in enumerate(values) if value is None]
        raise InvalidGraphs(
            f"no {name} in graphs {listed(missing)}", f"{name} in all graphs or in none", f"fill in {name}"
        )
    shapes = [tuple(value.shape[1:]) for value in have]
    odd = next((i for i, shape in enumerate(shapes) if shape != shapes[0]), None)
    if odd is not None:
        raise InvalidGraphs(
            f"{name} with {shapes[odd]} columns in graph {odd} and {shapes[0]} in graph 0",
            "the same columns in all graphs",
            f"make {name} the same width everywhere",
        )
    return torch.cat(have)


def _tensor(item: "Data", name: str, number: int) -> Tensor | None:
    value = item.get(name)
    if isinstance(value, Tensor) and (value.layout != torch.strided or value.is_complex()):
        raise InvalidGraphs(
            f"{name} of graph {number} as a tensor of {value.layout} and {value.dtype}",
            "a dense tensor of real numbers", "use .to_dense(), and .real of complex numbers",
        )  # fmt: skip
    if value is None or isinstance(value, Tensor):
        return value
    raise InvalidGraphs(f"a {type(value).__name__} as {name} of graph {number}", "a tensor", "use torch.as_tensor")


def _edgeless(item: "Data") -> bool:
    return item.get("edge_index") is None or item.edge_index.shape[1] == 0


def _edges(item: "Data", number: int) -> Tensor:
    edges = _tensor(item, "edge_index", number)
    if edges is None and item.get("adj_t") is not None:
        raise InvalidGraphs(f"adj_t in place of edge_index in graph {number}", "edge_index", "leave out ToSparseTensor")
    if edges is None:
        return torch.zeros(2, 0, dtype=torch.long)
    if edges.ndim != 2 or (edges.shape[0] != 2 and edges.numel()):
        raise InvalidGraphs(f"edge_index of shape {tuple(edges.shape)} in graph {number}", "[2, edges]", "transpose it")
    return edges.reshape(2, -1).long()


def _num_nodes(item: "Data") -> int:
    x = item.get("x")
    return len(x) if x is not None else int(item.num_nodes or 0)


def _label(y: Any, number: int) -> Any:
    """The label of one graph as an int or a string; None when it has none."""
    y = y.tolist() if hasattr(y, "tolist") else y
    while isinstance(y, list | tuple):
        if len(y) > 1:
            raise InvalidGraphs(f"labels {listed(y)} in graph {number}", "one class for each graph", "choose one task")
        y = y[0] if y else None
    if type(y).__name__ == "NAType" or y != y:  # pandas is not imported to ask it
        return None
    if isinstance(y, float) and not y.is_integer():
        raise InvalidGraphs(
            f"label {y} in graph {number}", "a class: an integer or a string", "turn numbers into classes"
        )
    return int(y) if isinstance(y, float | bool) else y


# ------------------------------------------------------------------------ is it a graph of another library?


def is_data(value: Any) -> "TypeGuard[Data]":
    """One graph of PyG."""
    return is_a(value, "torch_geometric.data", "Data")


def is_batch(value: Any) -> "TypeGuard[Batch]":
    """Several graphs of PyG side by side; also a ``Data`` to PyG."""
    return is_a(value, "torch_geometric.data", "Batch")


def is_dataset(value: Any) -> "TypeGuard[Dataset]":
    """A dataset of PyG."""
    return is_a(value, "torch_geometric.data", "Dataset")


def is_a(value: Any, module: str, name: str) -> bool:
    """Asked without importing the library: where nobody has, there is none of its graphs."""
    return module in sys.modules and isinstance(value, getattr(sys.modules[module], name))
