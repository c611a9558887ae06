"""Which column of a user's table is which, and what its labels mean: as the user says, or as it looks."""

import re
import shlex
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from torch import Tensor

from graphfnp.chemistry.reading import are_molecules
from graphfnp.datasets.table_files import TextTable
from graphfnp.errors import InvalidConfig, listed, plural
from graphfnp.graphs.labels import label_numbers

FEW = 10  # rows of a class that can hardly be learned, and not be held out
NO_RESULT = {  # without case and punctuation
    "nd", "notdetermined", "nottested", "nt", "unknown", "inconclusive", "ambiguous", "tbd", "pending", "missing",
    "none", "", "error", "failed",
}  # fmt: skip
DENIALS = ("in", "no", "non", "not", "un")


def label_map(given: str | Mapping[str, str] | None) -> dict[str, str]:
    """'Active=active,n.d.=' as a mapping; nothing after the sign: rows of that label have none."""
    if given is None or isinstance(given, Mapping):
        return dict(given or {})
    pairs = [part.rpartition("=") for part in given.split(",")]
    if not all(sign for _, sign, _ in pairs):
        raise InvalidConfig(
            f"--map-labels {given}", "OLD=NEW with commas between; OLD= leaves its rows out", "quote it: 'n.d.='"
        )
    return {old.strip(): new.strip() for old, _, new in pairs}


def class_list(given: str | Sequence[str] | None) -> list[str] | None:
    """'inactive,active' as names in their order."""
    if given is None:
        return None
    names = [name.strip() for name in (given.split(",") if isinstance(given, str) else given)]
    if len(names) < 2 or len(set(names)) != len(names) or "" in names:
        raise InvalidConfig(f"--classes {','.join(names)}", "two different names or more", "e.g. --classes no,yes")
    return names


def chosen_labels(values: Sequence[str], mapping: Mapping[str, str], classes: Sequence[str] | None) -> list[str]:
    """The labels under their new names; those that are none of the classes are left empty."""
    if unknown := [old for old in mapping if old not in set(values)]:
        raise InvalidConfig(
            f"--map-labels with {unknown[0]!r}", f"labels of the table: {listed(sorted(set(values)), 20)}", "check it"
        )
    renamed = [mapping.get(value, value) for value in values]
    if classes is None:
        return renamed
    if absent := [name for name in classes if name not in renamed]:
        raise InvalidConfig(
            f"--classes with {absent[0]!r}, which no row has",
            f"labels of the table: {listed(sorted(set(renamed)), 20)}",
            "check the names, or map labels with --map-labels",
        )
    return [value if value in classes else "" for value in renamed]


def label_notes(values: Sequence[str]) -> list[str]:
    """Labels that look like one class written twice, like no result, or that too few rows have."""
    counts = Counter(value for value in values if value.lower() not in MISSING)
    alike: dict[str, list[str]] = {}
    for value in counts:
        alike.setdefault(_without_spelling(value), []).append(value)
    notes = []
    for same in (sorted(some, key=lambda one: -counts[one]) for some in alike.values() if len(some) > 1):
        told = ", ".join(f"{one!r} {counts[one]}" for one in same)
        change = shlex.quote(",".join(f"{one}={same[0]}" for one in same[1:]))
        notes.append(f"these labels differ only in how they are written: {told}; join them with --map-labels {change}")
    signs_are_results = any(value.startswith("+") for value in counts)
    few = []
    for value, count in counts.items():
        rows = plural(count, "row")
        is_sign = signs_are_results and value[0] in "+-"
        if re.sub(r"[\W_]+", "", value.casefold()) in NO_RESULT and not is_sign:
            change = shlex.quote(f"{value}=")
            notes.append(f"the label {value!r} ({rows}) is taken for a class; leave it out with --map-labels {change}")
        elif count < FEW and len(counts) > 1:
            few.append(f"{value!r} has {rows}")
    if few:
        notes.append(f"too few to learn a class and to hold some out: {listed(few)}")
    return notes


def denies(label: str, other: str) -> bool:
    """Is it the opposite by its spelling: inactive of active, Non-toxic of toxic, - of +?"""
    plain, denied = (re.sub(r"[\W_]", "", text.lower()) for text in (label, other))
    return (label, other) == ("-", "+") or bool(denied and plain in {word + denied for word in DENIALS})


def _without_spelling(label: str) -> str:
    """The label without case, blanks and punctuation; signs stay: -1 is not 1, and <10 is not >10."""
    return re.sub(r"(?<=\w)-(?=\w)|[^\w+<>=≤≥-]+|_+", " ", label.casefold()).strip() or label


SMILES_NAMES = (
    "smiles", "canonicalsmiles", "isomericsmiles", "smi", "mol", "molecule", "structure", "compound", "drug",
)  # fmt: skip
LABEL_NAMES = ("label", "labels", "y", "class", "target", "activity", "active", "outcome", "category", "pnp", "toxic")
NAME_NAMES = (
    "name", "title", "compoundname", "moleculename", "drugname", "commonname", "id", "compoundid", "moleculeid",
    "chemblid", "cid", "cas", "casnumber", "identifier", "code",
)  # fmt: skip
MISSING = {"", "na", "n/a", "nan", "null", "<na>", "#n/a"}
SAMPLE = 50  # values looked at to see whether a column holds SMILES
MANY_CLASSES = 50
LARGEST = 10**18  # a label beyond it is a text, so that none is rounded


def smiles_column(table: TextTable, given: str | None = None) -> str:
    """The given column, else a known one, else a usual name that holds molecules, else what holds most of them."""
    if given is not None:
        return existing_column(table, given, "SMILES")
    if table.smiles is not None:
        return table.smiles
    for name in _by_name(table.names, SMILES_NAMES):
        if name.lower().endswith("smiles") or molecule_share(table[name]) >= 0.5:
            return name
    shares = {name: molecule_share(table[name]) for name in table.names}
    best = max(shares, key=lambda name: (shares[name], sum(map(len, table[name]))), default=None)
    if best is None or shares[best] < 0.5:
        advice = "name the column: --smiles COLUMN (in Python smiles=...)"
        if len(table.names) == 1:
            advice += ", or separate columns by commas, semicolons or tabs; SMILES and names by blanks are .smi"
        raise InvalidConfig(
            f"a table with the {'column' if len(table.names) == 1 else 'columns'} {listed(table.names, 20)}",
            f"one with SMILES, called e.g. {SMILES_NAMES[0]}",
            advice,
        )
    return best


def label_column(table: TextTable, given: str | None, taken: Collection[str]) -> str | None:
    """The given column, else the first with a usual name; None if there is none."""
    if given is not None:
        return existing_column(table, given, "label")
    return next((name for name in _by_name(table.names, LABEL_NAMES) if name not in taken), None)


def row_names(columns: Mapping[str, Sequence[str]], rows: Sequence[int]) -> list[str | None]:
    """What people call these rows, where a column has a usual name for that."""
    column = next(iter(_by_name(list(columns), NAME_NAMES)), None)
    return [None if column is None else columns[column][row] or None for row in rows]


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
    if numbers is not None and (broken := [number for number in numbers if number % 1]):
        raise _no_classes(name, f"numbers such as {float(broken[0]):g}")
    if class_names is None and len(distinct) > max(MANY_CLASSES, len(present) // 2):
        raise _no_classes(name, f"{len(distinct)} different values in {len(present)} rows")
    labels: list[Any] = [
        None if value.lower() in MISSING else value if numbers is None else int(Decimal(value)) for value in values
    ]
    return label_numbers(labels, class_names)


def _no_classes(name: str, what: str) -> InvalidConfig:
    return InvalidConfig(
        f"the label column {name!r} with {what}: a continuous quantity or a name",
        "a few classes",
        "choose another column, or turn the values into classes first (e.g. above and below a threshold)",
    )


def _numbers(values: Sequence[str]) -> list[Decimal] | None:
    """The values as the numbers they are written as, or None if one is none, or is larger than anybody counts."""
    try:
        numbers = [Decimal(value) for value in values]
    except InvalidOperation:
        return None
    return numbers if all(number.is_finite() and abs(number) < LARGEST for number in numbers) else None


def _by_name(columns: Sequence[str], usual: Sequence[str]) -> list[str]:
    """Columns with a usual name, in the order of those; case and punctuation do not matter."""
    plain = {name: re.sub(r"[\W_]", "", name.lower()) for name in columns}
    return [column for wanted in usual for column in columns if plain[column] == wanted]


def existing_column(table: TextTable, given: str, what: str) -> str:
    if given not in table.names:
        raise InvalidConfig(f"{what} column {given!r}", f"one of {listed(table.names, 20)}", "check the name")
    return given
