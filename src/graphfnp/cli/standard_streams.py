"""``-`` for standard input and output of ``graphfnp predict``: a file in its place, so that all else holds."""

import os
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from graphfnp.cli.console import err
from graphfnp.datasets.columns import molecule_share
from graphfnp.errors import InvalidGraphs

DASH = "-"
LONGEST_HEAD = 2**16
OUTPUT = "standard-output.csv"
HEADS = {b"PAR1": ".parquet", b"\x1f\x8b": ".csv.gz"}  # what else may come through a pipe


@contextmanager
def files_for_streams(source: str, target: Path | None) -> Iterator[tuple[str, Path | None]]:
    """Source and target with a file in place of each ``-``; what was written is on standard output afterwards."""
    to_output = str(target) == DASH
    if source != DASH and not to_output:
        yield source, target
        return
    with TemporaryDirectory(prefix="graphfnp-") as name:
        folder = Path(name)
        given = str(_from_input(folder)) if source == DASH else source
        written = folder / OUTPUT if to_output else target
        yield given, written
        if to_output and written is not None and written.is_file():
            _to_output(written)


def shown(target: Path) -> str:
    """The target by the name a user knows it."""
    return "standard output" if target.name == OUTPUT else str(target)


def _from_input(folder: Path) -> Path:
    piped = sys.stdin  # None where whoever started this has closed it
    if piped is not None and piped.isatty():
        err.print("a SMILES on each line, or a CSV; Ctrl-D ends it", style="dim")
    path = folder / "standard-input"
    with open(path, "wb") as file:
        if piped is not None:
            shutil.copyfileobj(piped.buffer, file)
    with open(path, "rb") as file:
        head = file.read(LONGEST_HEAD)
    if not head.strip():
        raise InvalidGraphs("nothing on standard input", "a CSV, or a SMILES on each line", "check what is piped here")
    return path.rename(path.with_suffix(_ending(head)))


def _ending(head: bytes) -> str:
    """Of a file with this beginning: a table has a header, or more than one column; a list of SMILES has neither."""
    for start, ending in HEADS.items():
        if head.startswith(start):
            return ending
    if re.search(rb"V[23]000\s*$", head, re.MULTILINE):
        return ".sdf"
    first = next((line for line in head.decode("utf-8-sig", "replace").splitlines() if line.strip()), "")
    if molecule_share([first.split()[0]]) == 1:
        return ".smi"
    return ".csv" if re.search(r"[,;\t]", first) or re.fullmatch(r"[A-Za-z_ ]+", first.strip()) else ".smi"


def _to_output(path: Path) -> None:
    try:
        with open(path, "rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.buffer.flush()
    except BrokenPipeError:  # `| head` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
