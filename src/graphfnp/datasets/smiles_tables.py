"""Known tables of molecules: the SMILES column and the label column are known beforehand, by name or by place."""

from dataclasses import dataclass
from pathlib import Path

from torch import Tensor

from graphfnp.chemistry.smiles import graphs_from_smiles, molecule_schema
from graphfnp.datasets.columns import read_labels
from graphfnp.datasets.sources import cache_folder
from graphfnp.datasets.table_files import TextTable, read_text_table
from graphfnp.errors import InvalidConfig, InvalidGraphs, listed
from graphfnp.graphs.packed import PackedGraphs
from graphfnp.graphs.problem import Problem


@dataclass(frozen=True)
class SmilesTable:
    """The two columns; a slice means several tasks, of which one must be named."""

    smiles: str | int
    label: str | int | slice
    class_names: tuple[str, ...] | None = None


def read_smiles_table(
    place: Path, file: str, columns: SmilesTable
) -> tuple[PackedGraphs, tuple[str, ...], Tensor, tuple[Problem, ...]]:
    """The graphs, notes, the row of each graph, and the rows that are no molecule."""
    table = read_text_table(place / file if (place / file).is_file() else place / f"{file}.gz")
    label = _column(table, columns.label, "label")
    y, names = read_labels(table[label], label, columns.class_names)
    graphs, rows, problems = graphs_from_smiles(
        table[_column(table, columns.smiles, "SMILES")], y, molecule_schema(names), cache=cache_folder() / "molecules"
    )
    if graphs is None:
        raise InvalidGraphs(f"{file} without one molecule", "SMILES", "check the file")
    return graphs, table.notes, rows, problems


def _column(table: TextTable, chosen: str | int | slice, what: str) -> str:
    if isinstance(chosen, slice):
        raise InvalidConfig(
            f"{len(table.names[chosen])} tasks", f"one of {listed(table.names[chosen], 30)}", f"name one: {what}=..."
        )
    if isinstance(chosen, int):
        return table.names[chosen]
    if chosen not in table.names:
        raise InvalidConfig(f"{what} column {chosen!r}", f"one of {listed(table.names, 30)}", "check the name")
    return chosen
