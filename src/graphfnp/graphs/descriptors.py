"""Descriptors: what is known of a graph beside its structure, computed from the molecule or given by the user."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphfnp.errors import InvalidConfig, listed

RDKIT = "rdkit"
LARGEST = float(np.finfo(np.float32).max)
DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+([eE][+-]?\d+)?")
# Of size, lipophilicity, polarity, flexibility and shape: few enough for small sets, and hardly a molecule lacks one.
RDKIT_NAMES = (
    "MolWt", "MolLogP", "MolMR", "TPSA", "LabuteASA", "qed", "HeavyAtomCount", "NumHeteroatoms", "NOCount", "NHOHCount",
    "NumHDonors", "NumHAcceptors", "NumRotatableBonds", "FractionCSP3", "RingCount", "NumAromaticRings",
    "NumAliphaticRings", "BalabanJ", "BertzCT", "HallKierAlpha", "Kappa1", "Kappa2", "Kappa3",
)  # fmt: skip


def descriptor_list(given: str | Sequence[str] | None) -> tuple[str, ...]:
    """'rdkit,dose' as names: what is computed first, then columns in their order."""
    if given is None:
        return ()
    names = [str(name).strip() for name in (given.split(",") if isinstance(given, str) else given)]
    if "" in names or len(set(names)) != len(names):
        raise InvalidConfig(
            f"--features {','.join(names)}", f"{RDKIT}, columns of the file, or both, each once", "e.g. rdkit,dose"
        )
    return tuple(sorted(names, key=lambda name: name != RDKIT))


def columns_in(descriptors: Sequence[str]) -> tuple[str, ...]:
    """Those that the user gives."""
    return tuple(name for name in descriptors if name != RDKIT)


def width_of(descriptors: Sequence[str]) -> int:
    return len(columns_in(descriptors)) + (len(RDKIT_NAMES) if RDKIT in descriptors else 0)


def row_values(columns: Sequence[str], given: Mapping[str, Any]) -> list[float] | str:
    """The numbers of one row, or why it is refused."""
    numbers = []
    for name in columns:
        value = given.get(name)
        if value is None or (isinstance(value, str) and not value.strip()):
            return f"no value of {name!r}, which the model reads beside the structure"
        try:
            number = float(value)
        except (TypeError, ValueError):
            comma = ": write decimals with a point" if DECIMAL_COMMA.fullmatch(str(value).strip()) else ""
            return f"{str(value)[:40]!r} as {name!r}, which is not a number{comma}"
        if not math.isfinite(number):
            return f"{number} as {name!r}, which is not a finite number"
        if abs(number) > LARGEST:
            return f"{number} as {name!r}, which is too large for a number of 32 bits"
        numbers.append(number)
    return numbers


def table_values(
    columns: Sequence[str], given: Mapping[str, Sequence[Any]], num_rows: int
) -> tuple[np.ndarray, dict[int, str]]:
    """[rows, columns] of numbers, 0 in rows that are refused; and why these are."""
    values, reasons = np.zeros((num_rows, len(columns)), dtype=np.float32), dict[int, str]()
    for row in range(num_rows if columns else 0):
        found = row_values(columns, {name: given[name][row] for name in columns if name in given})
        if isinstance(found, str):
            reasons[row] = found
        else:
            values[row] = found
    return values, reasons


def check_columns(columns: Sequence[str], names: Sequence[str], where: str) -> None:
    """InvalidConfig if a table lacks a column that is read beside the structures."""
    if missing := [name for name in columns if name not in names]:
        raise InvalidConfig(
            f"{where} without the column {missing[0]!r}",
            f"the features {listed(columns, 20)} among its columns ({listed(names, 20)})",
            "check the name, or add the column",
        )


def with_values(arrays: dict[str, np.ndarray], values: np.ndarray) -> dict[str, np.ndarray]:
    """Arrays of graphs, with ``values`` [graphs, columns] after what was computed of them."""
    if not values.shape[1]:
        return arrays
    computed = [arrays["descriptors"]] if "descriptors" in arrays else []
    return {**arrays, "descriptors": np.concatenate([*computed, values.astype(np.float32)], axis=1)}
