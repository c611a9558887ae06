"""Results of finished cells: one JSON line each, appended under a lock, so that nothing finished is ever lost."""

import fcntl
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from graphfnp.errors import InvalidRun
from graphfnp.experiments.cell import Cell


class Results:
    """The results folder: ``DATASET-BACKBONE.jsonl``, a line a cell."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.records: dict[str, dict[str, Any]] = {}
        self._sizes: dict[Path, int] = {}
        self.refresh()

    def __contains__(self, cell: Cell) -> bool:
        return cell.key in self.records

    def __getitem__(self, cell: Cell) -> dict[str, Any]:
        return self.records[cell.key]

    def found(self, cells: Iterable[Cell]) -> list[dict[str, Any]]:
        """Records with scores."""
        return [self[cell] for cell in cells if cell in self and "diverged" not in self[cell]]

    def diverged(self, cells: Iterable[Cell]) -> int:
        """How many of the trainings ended without scores."""
        return sum(cell in self and "diverged" in self[cell] for cell in cells)

    def refresh(self) -> None:
        """Read what this or another process has added."""
        for path in sorted(self.folder.glob("*.jsonl")):
            if path.stat().st_size != self._sizes.get(path):
                self._sizes[path] = path.stat().st_size
                self._read(path)

    def _read(self, path: Path) -> None:
        for number, line in enumerate(path.read_text().splitlines(), start=1):
            try:
                record = json.loads(line)
                self.records[record["key"]] = record
            except (ValueError, KeyError):
                raise InvalidRun(
                    f"line {number} of {path}, which is not a result", "one JSON object a line", "remove that line"
                ) from None

    def add(self, cell: Cell, record: Mapping[str, Any]) -> None:
        """Append and flush; a cell that another process has finished meanwhile is not written twice."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{cell.dataset}-{cell.backbone}.jsonl"
        with path.open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            self.refresh()
            if cell not in self:
                file.write(json.dumps({"key": cell.key, **record}, separators=(",", ":")) + "\n")
                file.flush()
        self.refresh()
