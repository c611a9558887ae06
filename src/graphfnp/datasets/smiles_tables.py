"""Known tables of molecules: a CSV whose SMILES column and label column are known beforehand."""

import io
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from torch import Tensor

from graphfnp.datasets.archives import member_bytes
from graphfnp.datasets.atoms import molecule_schema
from graphfnp.datasets.dataset import Problem
from graphfnp.datasets.smiles import graphs_from_smiles
from graphfnp.datasets.sources import cache_folder
from graphfnp.errors import InvalidConfig, InvalidGraphs, MissingData, listed
from graphfnp.graphs import PackedGraphs
from graphfnp.labels import label_numbers


@dataclass(frozen=True)
class SmilesTable:
    """The two columns, by name or by place; a slice means several tasks, of which one must be named."""

    smiles: str | int
    label: str | int | slice
    class_names: tuple[str, ...] | None = None


def read_smiles_table(
    place: Path, file: str, table: SmilesTable
) -> tuple[PackedGraphs, tuple[str, ...], Tensor, tuple[Problem, ...]]:
    """The graphs, notes (none), the row of each graph, and the rows that are no molecule."""
    content = member_bytes(place, file)
    if content is None:
        raise MissingData(f"no {file} in {place}", f"{file}, plain or gzipped", "add the file")
    frame = pd.read_csv(io.BytesIO(content), low_memory=False)
    values = frame[_column(frame, table.label, "label")]
    labels = [None if pd.isna(value) else value for value in values.tolist()]
    if any(isinstance(label, float) and not label.is_integer() for label in labels):
        raise InvalidGraphs(f"fractions in the column {values.name} of {file}", "classes", "it is a regression task")
    y, names = label_numbers([int(v) if isinstance(v, float) else v for v in labels], table.class_names)
    graphs, rows, problems = graphs_from_smiles(
        frame[_column(frame, table.smiles, "SMILES")].tolist(),
        y,
        molecule_schema(names),
        cache=cache_folder() / "molecules",
    )
    if graphs is None:
        raise InvalidGraphs(
            f"{file} without one molecule", "SMILES", f"e.g. {problems[0].reason if problems else 'empty'}"
        )
    return graphs, (), rows, problems


def _column(frame: pd.DataFrame, chosen: str | int | slice, what: str) -> str:
    if isinstance(chosen, slice):
        tasks = list(frame.columns[chosen])
        if len(tasks) > 1:
            raise InvalidConfig(f"{len(tasks)} {what} columns", f"one of {listed(tasks, 20)}", f"name one: {what}=...")
        return tasks[0]
    if isinstance(chosen, int):
        return frame.columns[chosen]
    if chosen not in frame.columns:
        raise InvalidConfig(f"{what} column {chosen!r}", f"one of {listed(frame.columns, 20)}", "check the name")
    return chosen
