"""Finished chunks on disk, so that scoring that was killed goes on: a folder beside the output until it is whole."""

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from graphfnp.checkpoint import read_json, write_atomically, write_json
from graphfnp.errors import InvalidRun
from graphfnp.records import OK

MANIFEST, LOCK = "manifest.json", "lock"
SHOWN_PROBLEMS = 10  # kept of each part, for the summary
_COUNTS = b"counts"


@dataclass(frozen=True)
class Counts:
    """Rows of a part, or of all: how many, how many could not be used, and the first of those."""

    rows: int = 0
    failed: int = 0
    problems: tuple[tuple[int, str, str], ...] = ()  # row, input, reason
    notes: tuple[str, ...] = ()  # on the file as a whole

    def __add__(self, other: "Counts") -> "Counts":
        problems = (self.problems + other.problems)[:SHOWN_PROBLEMS]
        return Counts(self.rows + other.rows, self.failed + other.failed, problems)

    @classmethod
    def of(cls, table: pa.Table) -> "Counts":
        bad = table.filter(pa.array([status != OK for status in table["status"].to_pylist()], pa.bool_()))
        first = bad[:SHOWN_PROBLEMS].select(["row", "input", "reason"]).to_pylist()
        return cls(len(table), len(bad), tuple((one["row"], one["input"], one["reason"]) for one in first))


class Parts:
    """One Arrow file for each finished chunk, and a manifest of all that decides what is in them."""

    def __init__(self, target: Path) -> None:
        self.target, self.folder = target, target.with_name(f"{target.name}.parts")

    @contextmanager
    def opened(self, manifest: Mapping[str, Any], restart: bool = False) -> Iterator[None]:
        """Held by one process at a time; InvalidRun if what was begun had another input, model or setting."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with _locked(self.folder / LOCK, self.target):
            if restart:
                self._forget()
            self._agree(json.loads(json.dumps(manifest)))
            yield

    def _agree(self, manifest: dict[str, Any]) -> None:
        path = self.folder / MANIFEST
        if not path.exists():
            write_json(path, manifest)
            return
        old = read_json(path, f"remove {self.folder}, or add --restart")
        if changed := [name for name in {**old, **manifest} if old.get(name) != manifest.get(name)]:
            raise InvalidRun(
                f"{self.folder}, begun with another {', '.join(changed)}",
                "the command it was begun with, to go on where that stopped",
                "run that command, or add --restart to begin anew, or choose another --out",
            )

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:07}.arrow"

    def done(self, number: int) -> bool:
        return self._path(number).exists()

    def write(self, number: int, table: pa.Table) -> Counts:
        """In one atomic step: a part is there and whole, or it is not there."""
        counts = Counts.of(table)
        kept = table.replace_schema_metadata(
            {_COUNTS: json.dumps([counts.rows, counts.failed, counts.problems]).encode()}
        )
        sink = pa.BufferOutputStream()
        with pa.ipc.new_file(sink, kept.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
            writer.write_table(kept)
        write_atomically(self._path(number), sink.getvalue())
        return counts

    def counts(self, number: int) -> Counts:
        with pa.OSFile(str(self._path(number))) as file:
            found = json.loads(pa.ipc.open_file(file).schema.metadata[_COUNTS])
        rows, failed, problems = found
        return Counts(rows, failed, tuple(tuple(one) for one in problems))

    def tables(self, total: int) -> Iterator[pa.Table]:
        """All parts in order, one in memory at a time."""
        for number in range(total):
            with pa.OSFile(str(self._path(number))) as file:
                yield pa.ipc.open_file(file).read_all().replace_schema_metadata(None)

    def remove(self) -> None:
        """What is no longer needed once the output is whole."""
        shutil.rmtree(self.folder)

    def _forget(self) -> None:
        for path in (*self.folder.glob("*.arrow"), self.folder / MANIFEST):
            path.unlink(missing_ok=True)


@contextmanager
def _locked(path: Path, target: Path) -> Iterator[None]:
    """Two processes at one output would write over each other."""
    try:
        import fcntl
    except ImportError:  # not on this system: the user has to see to it
        yield
        return
    with open(path, "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InvalidRun(
                f"{target}, which another process is writing now", "an output of its own", "wait, or choose another"
            ) from None
        yield
