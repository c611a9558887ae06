"""PackedGraphs to a file and back, without pickle; the schema is kept by whoever keeps the model."""

from dataclasses import fields
from pathlib import Path

from torch import Tensor

from graphfnp.files import read_tensors, write_tensors
from graphfnp.graphs.packed import PackedGraphs, Schema


def save_graphs(graphs: PackedGraphs, path: Path) -> None:
    values = {field.name: getattr(graphs, field.name) for field in fields(graphs)}
    tensors = {name: value for name, value in values.items() if isinstance(value, Tensor)}
    write_tensors(path, tensors, {"text": graphs.text})


def load_graphs(path: Path, schema: Schema) -> PackedGraphs:
    tensors, record = read_tensors(path)
    return PackedGraphs.build(**tensors, schema=schema, text=record["text"])  # type: ignore[arg-type]
