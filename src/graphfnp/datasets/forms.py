"""The shapes in which the files of a dataset come, and what reads each."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from graphfnp.chemistry.smiles import graphs_from_smiles, molecule_schema
from graphfnp.datasets.columns import existing_column, read_labels
from graphfnp.datasets.dataset import Reading
from graphfnp.datasets.reddit import read_edge_lists
from graphfnp.datasets.sources import Files, cache_folder, located
from graphfnp.datasets.table_files import TextTable, read_text_table
from graphfnp.datasets.tu import TUNames, read_tu
from graphfnp.errors import InvalidConfig, InvalidGraphs, listed


@dataclass(frozen=True)
class SmilesTable:
    """The two columns; a slice means several tasks, of which one must be named."""

    smiles: str | int
    label: str | int | slice
    class_names: tuple[str, ...] | None = None


def read_smiles_table(place: Path, file: str, columns: SmilesTable) -> Reading:
    """The molecules of one file of a folder."""
    table = read_text_table(place / file if (place / file).is_file() else place / f"{file}.gz")
    label = _column(table, columns.label, "label")
    y, names = read_labels(table[label], label, columns.class_names)
    graphs, rows, problems = graphs_from_smiles(
        table[_column(table, columns.smiles, "SMILES")], y, molecule_schema(names), cache=cache_folder() / "molecules"
    )
    if graphs is None:
        raise InvalidGraphs(f"{file} without one molecule", "SMILES", "check the file")
    return Reading(graphs, table.notes, rows, problems)


def _column(table: TextTable, chosen: str | int | slice, what: str) -> str:
    if isinstance(chosen, slice):
        raise InvalidConfig(
            f"{len(table.names[chosen])} tasks",
            f"one of {listed(table.names[chosen], 30)}",
            f"name one: --{what} COLUMN",
        )
    return table.names[chosen] if isinstance(chosen, int) else existing_column(table, chosen, what)


@dataclass(frozen=True)
class Form:
    """One shape the files of a dataset come in, and what reads it."""

    files: Files
    read: Callable[..., Reading]  # of the folder or archive that holds the files
    takes_limit: bool = False  # read(place, limit) reads no more graphs of each part than that


def placed(forms: Sequence[Form], data: str | Path | None = None) -> tuple[Form, Path] | None:
    """The first form whose files are here, and where."""
    return next(((form, place) for form in forms if (place := located(form.files, data)) is not None), None)


def tu_form(
    name: str, url: str | None = None, sha256: dict[str, str] | None = None, names: TUNames | None = None
) -> Form:
    """A TU folder or zip, by its name."""
    return Form(tu_files(name, url, sha256), partial(read_tu, name=name, names=names))


def tu_files(name: str, url: str | None = None, sha256: dict[str, str] | None = None) -> Files:
    parts = ("A", "graph_indicator", "graph_labels")
    return Files(name, tuple(f"{name}_{part}.txt" for part in parts), url, sha256 or {})


def table_form(files: Files, table: SmilesTable) -> Form:
    """A table with a SMILES column and a label column."""
    return Form(files, partial(read_smiles_table, file=files.names[0], columns=table))


def edge_list_form(files: Files) -> Form:
    """A JSON file of edge lists and a table of targets, in this order among the files."""
    edges, targets = files.names
    return Form(files, partial(read_edge_lists, edges_file=edges, target_file=targets, class_names=("0", "1")))


def public_form(name: str, label: str | None = None) -> Form:
    """``tu:NAME`` or ``moleculenet:NAME``: any dataset whose name PyG knows, from PyG's own table of addresses."""
    collection, _, name = name.partition(":")
    if collection == "tu":
        from torch_geometric.datasets import TUDataset

        if not re.fullmatch(r"[\w+.-]+", name):
            raise InvalidConfig(
                f"tu:{name}", "a name such as tu:PROTEINS", "see the list at chrsmrrs.github.io/datasets"
            )
        return tu_form(name, f"{TUDataset.url}/{name}.zip")
    from torch_geometric.datasets import MoleculeNet

    if name.lower() not in MoleculeNet.names:
        raise InvalidConfig(f"moleculenet:{name}", listed(MoleculeNet.names, 20), "choose one of these names")
    _, file, _, smiles, target = MoleculeNet.names[name.lower()]
    files = Files(
        name.lower(), (file.removesuffix(".gz"),), MoleculeNet.url.rsplit("/", 1)[0], gzipped=file.endswith(".gz")
    )
    return table_form(files, SmilesTable(smiles, label or target))
