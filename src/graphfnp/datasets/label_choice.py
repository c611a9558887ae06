"""What a user says of the labels of a table: other names, which classes count, and what to look at before training."""

import re
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence

from graphfnp.errors import InvalidConfig, listed

FEW = 10  # rows of a class that can hardly be learned, and not be held out
NO_RESULT = {
    "nd",
    "notdetermined",
    "nottested",
    "nt",
    "unknown",
    "inconclusive",
    "ambiguous",
    "tbd",
    "pending",
    "missing",
    "none",
    "",
    "error",
    "failed",
}  # fmt: skip  - without case and punctuation


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
    counts = Counter(value for value in values if value)
    alike: dict[str, list[str]] = {}
    for value in counts:
        alike.setdefault(re.sub(r"[\W_]+", " ", value.casefold()).strip() or value, []).append(value)
    notes = []
    for same in (sorted(some, key=lambda one: -counts[one]) for some in alike.values() if len(some) > 1):
        told = ", ".join(f"{one!r} {counts[one]}" for one in same)
        change = shlex.quote(",".join(f"{one}={same[0]}" for one in same[1:]))
        notes.append(f"these labels differ only in how they are written: {told}; join them with --map-labels {change}")
    for value in counts:
        if re.sub(r"[\W_]+", "", value.casefold()) in NO_RESULT:
            change = shlex.quote(f"{value}=")
            told = f"the label {value!r} ({counts[value]} rows) is taken for a class"
            notes.append(f"{told}; leave it out with --map-labels {change}")
        elif counts[value] < FEW and len(counts) > 1:
            notes.append(f"the class {value!r} has {counts[value]} rows: too few to learn it and to hold some out")
    return notes
