"""Which column of a user's table is which, and what its labels mean."""

import math
import re
from collections.abc import Collection, Sequence
from typing import Any

from torch import Tensor

from graphfnp.chemistry.reading import are_molecules
from graphfnp.datasets.table_files import TextTable
from graphfnp.errors import InvalidConfig, listed
from graphfnp.graphs.labels import label_numbers

SMILES_NAMES = (
    "smiles",
    "canonicalsmiles",
    "isomericsmiles",
    "smi",
    "mol",
    "molecule",
    "structure",
    "compound",
    "drug",
)
LABEL_NAMES = ("label", "labels", "y", "class", "target", "activity", "active", "outcome", "category", "pnp", "toxic")
NAME_NAMES = (
    "name", "title", "compoundname", "moleculename", "drugname", "commonname", "id", "compoundid", "moleculeid",
    "chemblid", "cid", "cas", "casnumber", "identifier", "code",
)  # fmt: skip
MISSING = {"", "na", "n/a", "nan", "null", "<na>", "#n/a"}
SAMPLE = 50  # values looked at to see whether a column holds SMILES
MANY_CLASSES = 50


def smiles_column(table: TextTable, given: str | None = None) -> str:
    """The given column, else a known one, else a usual name that holds molecules, else what holds most of them."""
    if given is not None:
        return _existing(table, given, "SMILES")
    if table.smiles is not None:
        return table.smiles
    for name in _by_name(table, SMILES_NAMES):
        if name.lower().endswith("smiles") or molecule_share(table[name]) >= 0.5:
            return name
    shares = {name: molecule_share(table[name]) for name in table.names}
    best = max(shares, key=lambda name: (shares[name], _mean_length(table[name])), default=None)
    if best is None or shares[best] < 0.5:
        raise InvalidConfig(
            f"a table with the columns {listed(table.names, 20)}",
            f"one with SMILES, called e.g. {SMILES_NAMES[0]}",
            "name the column: smiles=...",
        )
    return best


def label_column(table: TextTable, given: str | None, taken: Collection[str]) -> str | None:
    """The given column, else the first with a usual name; None if there is none."""
    if given is not None:
        return _existing(table, given, "label")
    return next((name for name in _by_name(table, LABEL_NAMES) if name not in taken), None)


def name_column(names: Sequence[str]) -> str | None:
    """The column by which people call the rows, if one has a usual name for that."""
    plain = {name: re.sub(r"[\W_]", "", name.lower()) for name in names}
    return next((column for wanted in NAME_NAMES for column in names if plain[column] == wanted), None)


def molecule_share(values: Sequence[str]) -> float:
    """Share of molecules among the first values that are there."""
    sample = [value for value in values[: 10 * SAMPLE] if value][:SAMPLE]
    return sum(are_molecules(sample)) / max(len(sample), 1)


def read_labels(
    values: Sequence[str], name: str, class_names: Sequence[str] | None = None
) -> tuple[Tensor, tuple[str, ...]]:
    """Class numbers and names; whole numbers in numeric order, texts in alphabetic order."""
    present = [value for value in values if value.lower() not in MISSING]
    numbers = _numbers(present)
    distinct = set(present) if numbers is None else set(numbers)
    if numbers is not None and not all(number.is_integer() for number in numbers):
        raise _no_classes(name, f"numbers such as {next(n for n in numbers if not n.is_integer()):g}")
    if class_names is None and len(distinct) > max(MANY_CLASSES, len(present) // 2):
        raise _no_classes(name, f"{len(distinct)} different values in {len(present)} rows")
    labels: list[Any] = [
        None if value.lower() in MISSING else value if numbers is None else int(float(value)) for value in values
    ]
    return label_numbers(labels, class_names)


def _no_classes(name: str, what: str) -> InvalidConfig:
    return InvalidConfig(
        f"the label column {name!r} with {what}: a continuous quantity or a name",
        "a few classes",
        "choose another column, or turn the values into classes first (e.g. above and below a threshold)",
    )


def _numbers(values: Sequence[str]) -> list[float] | None:
    """The values as finite numbers, or None if one is not."""
    try:
        numbers = [float(value) for value in values]
    except ValueError:
        return None
    return numbers if all(map(math.isfinite, numbers)) else None


def _by_name(table: TextTable, names: Sequence[str]) -> list[str]:
    """Columns with one of these names, in the order of ``names``; case and punctuation do not matter."""
    plain = {name: re.sub(r"[\W_]", "", name.lower()) for name in table.names}
    return [column for wanted in names for column in table.names if plain[column] == wanted]


def _existing(table: TextTable, given: str, what: str) -> str:
    if given not in table.names:
        raise InvalidConfig(f"{what} column {given!r}", f"one of {listed(table.names, 20)}", "check the name")
    return given


def _mean_length(values: Sequence[str]) -> float:
    return sum(map(len, values)) / max(len(values), 1)
