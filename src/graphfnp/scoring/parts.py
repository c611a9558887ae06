"""Finished chunks on disk, so that scoring that was killed goes on: a folder beside the output until it is whole."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from graphfnp.chemistry.standardise import counted
from graphfnp.errors import InvalidRun
from graphfnp.files import locked, read_json, write_atomically, write_json
from graphfnp.prediction.records import OK

MANIFEST, LOCK = "manifest.json", "lock"
_PART = re.compile(r"\d{7,}\.part")
SHOWN_PROBLEMS = 10  # kept of each part, for the summary


@dataclass(frozen=True)
class Counts:
    """Rows of a part, or of all: how many, how many could not be used, and the first of those."""

    rows: int = 0
    failed: int = 0
    problems: tuple[tuple[int, str, str], ...] = ()  # row, input, reason
    notes: tuple[str, ...] = ()  # on the file as a whole
    changes: Mapping[str, int] = field(default_factory=dict)  # rows that standardising changed, by what it did

    def __add__(self, other: "Counts") -> "Counts":
        problems = (self.problems + other.problems)[:SHOWN_PROBLEMS]
        changes = {
            name: self.changes.get(name, 0) + other.changes.get(name, 0) for name in {**self.changes, **other.changes}
        }
        return Counts(self.rows + other.rows, self.failed + other.failed, problems, changes=changes)

    @classmethod
    def of(cls, table: pa.Table) -> "Counts":
        failed = [k for k, status in enumerate(table["status"].to_pylist()) if status != OK]
        row, given, reason = (table[name] for name in ("row", "input", "reason"))
        first = tuple((row[k].as_py(), given[k].as_py(), reason[k].as_py()) for k in failed[:SHOWN_PROBLEMS])
        changes = counted(table["changes"].to_pylist()) if "changes" in table.column_names else {}
        return cls(len(table), len(failed), first, changes=changes)


class Parts:
    """One file for each finished chunk, and a manifest of all that decides what is in them.

    A part says in its first line which rows it holds and the sha256 of the rest, an Arrow file. One that was copied,
    cut or changed is not believed: its rows are scored again. Only files that were written here are ever removed.
    """

    def __init__(self, target: Path) -> None:
        self.target, self.folder = target, target.with_name(f"{target.name}.parts")

    @contextmanager
    def opened(self, manifest: Mapping[str, Any], restart: bool = False) -> Iterator[None]:
        """Held by one process at a time; InvalidRun if what was begun had another input, model or setting."""
        if self.folder.is_symlink() or (self.folder.exists() and not self.folder.is_dir()):
            raise InvalidRun(
                f"{self.folder}, which is a link or a file",
                "room for a folder of this name",
                "move it, or choose another",
            )
        self.folder.mkdir(parents=True, exist_ok=True)
        self._check_ours(manifest)
        with locked(self.folder / LOCK, self.target):
            if restart:
                self._forget()
            self._agree(json.loads(json.dumps(manifest)))
            yield

    def _check_ours(self, manifest: Mapping[str, Any]) -> None:
        """InvalidRun if somebody keeps files there under our names: an empty lock comes first, a manifest before parts.

        What is in the folder of our own manifest, under our names, is taken for ours.
        """
        path, lock = self.folder / MANIFEST, self.folder / LOCK
        others = [lock] if lock.is_file() and lock.stat().st_size else []
        try:
            known = json.loads(path.read_bytes())
            others += [] if isinstance(known, dict) and known.keys() == manifest.keys() else [path]
        except FileNotFoundError:
            others += sorted(one for one in self.folder.iterdir() if _PART.fullmatch(one.name))
        except ValueError:
            others.append(path)
        if others:
            raise InvalidRun(
                f"{others[0]}, which was not written here",
                "no files of others with such a name in the folder of the parts",
                "move it, or choose another --out",
            )

    def _agree(self, manifest: dict[str, Any]) -> None:
        path = self.folder / MANIFEST
        if not path.exists():
            write_json(path, manifest)
            return
        old = read_json(path, f"remove {self.folder}")
        if changed := [name for name in manifest if old.get(name) != manifest.get(name)]:
            raise InvalidRun(
                f"{self.folder}, started with another {', '.join(changed)}",
                "the command it was started with, to resume",
                "run that command, add --restart to start again, or choose another --out",
            )

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:07}.part"

    def write(self, number: int, start: int, table: pa.Table) -> Counts:
        """In one atomic step: a part is there and whole, or it is not there."""
        counts, sink = Counts.of(table), pa.BufferOutputStream()
        with pa.ipc.new_file(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
            writer.write_table(table)
        content = sink.getvalue().to_pybytes()
        head: dict[str, Any] = {"number": number, "start": start, "rows": counts.rows, "failed": counts.failed}
        head |= {"changes": counts.changes} if counts.changes else {}
        head |= {"problems": counts.problems, "sha256": hashlib.sha256(content).hexdigest()}
        write_atomically(self._path(number), json.dumps(head).encode() + b"\n" + content)
        return counts

    def found(self, number: int, start: int, rows: int) -> Counts | None:
        """The counts of a part that holds these rows and nothing else; None if it has to be scored."""
        read = self._read(number)
        if read is None or (read[0]["start"], read[0]["rows"]) != (start, rows):
            return None
        head = read[0]
        problems = tuple((row, given, why) for row, given, why in head["problems"])
        return Counts(rows, head["failed"], problems, changes=head.get("changes", {}))

    def tables(self, total: int) -> Iterator[pa.Table]:
        """All parts in order, one in memory at a time."""
        for number in range(total):
            if (read := self._read(number)) is None:
                raise InvalidRun(
                    f"{self._path(number)}, which was changed",
                    "the part as it was written",
                    "run the command again",
                )
            yield pa.ipc.open_file(pa.BufferReader(read[1])).read_all()

    def _read(self, number: int) -> tuple[dict[str, Any], bytes] | None:
        """Head and content of a part that is what it says."""
        path = self._path(number)
        try:
            if path.is_symlink():
                return None
            line, _, content = path.read_bytes().partition(b"\n")
            head = json.loads(line)
            intact = head["number"] == number and head["sha256"] == hashlib.sha256(content).hexdigest()
            return (head, content) if intact else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def remove(self) -> None:
        """What is no longer needed once the output is whole; a folder in which somebody keeps other files stays."""
        self._forget()
        (self.folder / LOCK).unlink(missing_ok=True)
        with suppress(OSError):
            self.folder.rmdir()

    def _forget(self) -> None:
        begun = re.compile(rf"({_PART.pattern}|{re.escape(MANIFEST)}|{re.escape(self.target.name)})\.\d+\.tmp")
        for path in self.folder.iterdir():
            is_ours = _PART.fullmatch(path.name) or begun.fullmatch(path.name)
            if is_ours and (path.is_file() or path.is_symlink()):
                path.unlink(missing_ok=True)
        (self.folder / MANIFEST).unlink(missing_ok=True)  # last: without it nobody knows whose parts these are
