"""The text files of the TU format as arrays, with an error for every line that is not what it should be."""

import io
import re
from pathlib import Path
from typing import Any

import numpy as np

from graphfnp.datasets.archives import member_bytes, required_bytes
from graphfnp.errors import InvalidGraphs, listed


def _required_files(name: str) -> str:
    return ", ".join(f"{name}_{part}.txt" for part in ("A", "graph_indicator", "graph_labels"))


def read_numbers(
    place: Path, name: str, what: str, *, columns: int | None = None, rows: int | None = None,
    optional: bool = False, whole: bool = True,
) -> Any:  # fmt: skip
    """One file as an array [lines, columns], whole numbers unless said otherwise; None if optional and not there."""
    file = f"{name}_{what}.txt"
    if optional and member_bytes(place, file) is None:
        return None
    content = required_bytes(place, file, _required_files(name))
    if not content.strip():
        values = np.zeros((0, columns or 1))
    else:
        import pandas as pd  # slow to import, and only this needs it

        try:
            text = content.decode("utf-8-sig").replace(",", " ")
            values = pd.read_csv(io.StringIO(text), sep=r"\s+", header=None, quoting=3).to_numpy()
        except (ValueError, OverflowError) as error:  # UnicodeDecodeError and pandas' own are ValueErrors
            raise InvalidGraphs(f"{file}: {error}", "numbers, the same count in every line", "mend the file") from error
    if values.dtype.kind not in "iuf" or (whole and not _are_whole(values)):
        raise InvalidGraphs(
            f"{file} with {listed(_strange(values, whole))}",
            f"{'whole ' if whole else ''}numbers, the same count in every line",
            "mend the file",
        )
    if columns is not None and values.shape[1] != columns:
        raise InvalidGraphs(f"{file} with {values.shape[1]} columns", f"{columns} columns", "mend the file")
    if rows is not None and len(values) != rows:
        raise InvalidGraphs(
            f"{file} with {len(values)} lines", f"{rows} lines, as the files it belongs to", "mend the file"
        )
    return values.astype(np.int64) if whole else values.astype(np.float64)


def _are_whole(values: Any) -> bool:
    return bool((np.isfinite(values) & (np.abs(values) < 2**53)).all() and (values == np.floor(values)).all())


def _strange(values: Any, whole: bool) -> list[str]:
    """The first fields that are not what a number should be."""

    def fine(field: Any) -> bool:
        try:
            return float(field).is_integer() or not whole
        except (ValueError, OverflowError):
            return False

    return [
        f"{field!r} in line {line + 1}" for line, row in enumerate(values.tolist()) for field in row if not fine(field)
    ]


def read_labels(place: Path, name: str) -> list[int | str]:
    """One label for each graph: whole numbers, or any words."""
    file = f"{name}_graph_labels.txt"
    content = required_bytes(place, file, _required_files(name))
    words = [line.strip() for line in content.decode("utf-8-sig", errors="replace").splitlines() if line.strip()]
    if not words:
        raise InvalidGraphs(f"an empty {file}", "one label for each graph", "add the labels")
    try:
        numbers = [float(word) for word in words]
    except ValueError:
        return list(words)
    if not all(number.is_integer() for number in numbers):
        raise InvalidGraphs(f"{file} with fractions such as {words[0]}", "classes", "a regression target is no class")
    return [int(number) for number in numbers]


def read_names(place: Path, name: str) -> dict[str, dict[int, str]]:
    """Names of node, edge and class labels, from lines ``number name`` under a heading such as ``Node labels``."""
    found: dict[str, dict[int, str]] = {"node": {}, "edge": {}, "class": {}}
    for file in (f"{name}_label_readme.txt", "README.txt", "readme.txt"):
        section = None
        for line in (member_bytes(place, file) or b"").decode("utf-8", errors="replace").splitlines():
            if heading := re.match(r"\s*(node|edge|class) labels\b", line, flags=re.IGNORECASE):
                section = found[heading[1].lower()]
            elif section is not None and (entry := re.fullmatch(r"\s+(-?\d+)\s+(\S+)\s*", line)):
                section.setdefault(int(entry[1]), entry[2])
            elif line.strip() and not line.strip().lower().startswith("component"):
                section = None
    return found
