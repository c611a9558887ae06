"""The parent's side: one child, asked with :meth:`IsolatedProcess.call`."""

import contextlib
import json
import mmap
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from graphfnp.errors import InvalidConfig
from graphfnp.isolation.frames import exactly, packed, unpacked

STATE_SIZE, MEMORY = 24, 77  # as worker.py has them; that module imports what only some systems have
PATIENCE = 60.0  # seconds on the clock for one row: a process that waits for something uses no processor
STARTING = 600.0  # until the child has imported what it needs, which is no row's doing
SOURCE = str(Path(__file__).parents[2])
Why = Literal["time", "memory", "crash", "error"]


@dataclass(frozen=True)
class Limits:
    """What one row may cost: processor time, so that a busy machine refuses no row that a quiet one takes."""

    seconds: float = 0.5  # of the processor; a molecule takes about a thousandth of that
    megabytes: int = 512  # beyond what the process has when it starts

    def __post_init__(self) -> None:
        if not (0.001 <= self.seconds <= 3600 and 64 <= self.megabytes <= 2**20):
            raise InvalidConfig(
                f"{self.seconds:g} seconds and {self.megabytes} megabytes a row",
                "0.001 to 3600 seconds, and at least 64 megabytes",
                "change these limits",
            )


@dataclass(frozen=True)
class Answer:
    """What the function returned."""

    value: Any
    arrays: dict[str, np.ndarray]
    done: int  # rows; fewer than were given if the call's time was over


@dataclass(frozen=True)
class Lost:
    """One row ended the work; the others of the call were not to blame."""

    row: int
    why: Why
    reason: str


class IsolatedProcess:
    """A child that calls functions by name; it starts with the first call and forks anew when a row ends it."""

    def __init__(self, limits: Limits, modules: Sequence[str]) -> None:
        self.limits, self.modules = limits, modules
        self.child: subprocess.Popen | None = None

    def call(self, function: str, rows: Sequence[Any], options: Any, seconds: float | None = None) -> Answer | Lost:
        """``function`` is "module:name"; :mod:`graphfnp.isolation.worker` says how it is called.

        After ``seconds`` of processor time no further row is begun.
        """
        asked = {"function": function, "rows": list(rows), "options": options, "seconds": seconds}
        child = self.started()
        assert child.stdin is not None
        try:
            view = memoryview(packed(asked, {}))
            while view:
                view = view[child.stdin.write(view) :]
            record, arrays = self._answer(child)
        except (EOFError, OSError, ValueError, KeyError, TypeError):  # the whole child is gone, or talks nonsense
            row = self._state()[2]
            self.close()
            return Lost(min(row, len(rows) - 1), "crash", "reading it ends the process")
        row = min(int(record["row"]), len(rows) - 1)
        if "failed" in record:
            return Lost(row, "error", f"reading it fails ({record['failed']})")
        if "died" in record:
            return Lost(row, *self._reason(record["died"]))
        return Answer(record["value"], arrays, record["done"])

    def close(self) -> None:
        """Without a word to the child: it may not be listening."""
        child, self.child = self.child, None
        if child is None:
            return
        with contextlib.suppress(OSError):
            os.killpg(child.pid, signal.SIGKILL)  # it leads a group of its own: itself and its worker
        child.wait()
        for pipe in (child.stdin, child.stdout):
            with contextlib.suppress(OSError):
                pipe.close()  # type: ignore[union-attr]

    # ---------------------------------------------------------------- one child

    def started(self) -> subprocess.Popen:
        """The child, which imports what it needs while this process does something else."""
        if self.child is not None and self.child.poll() is None:
            return self.child
        self.close()  # of one that somebody killed, what is left
        with tempfile.TemporaryFile() as file:
            file.truncate(STATE_SIZE)
            self.state = mmap.mmap(file.fileno(), STATE_SIZE)
            options = {**vars(self.limits), "modules": list(self.modules), "state": file.fileno()}
            path = os.pathsep.join([SOURCE, *filter(None, [os.environ.get("PYTHONPATH")])])
            self.child = subprocess.Popen(
                [sys.executable, "-m", "graphfnp.isolation.worker", json.dumps(options)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, pass_fds=[file.fileno()],
                start_new_session=True,  # Ctrl-C is for the parent to handle
                env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
                bufsize=0,
            )  # fmt: skip
        return self.child

    def _answer(self, child: subprocess.Popen) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Waits as long as rows go on; a row that neither ends nor works is killed."""
        assert child.stdout is not None
        since, row = time.monotonic(), -1
        while not select.select([child.stdout], [], [], 1.0)[0]:
            pid, working, now = self._state()
            if now != row:
                since, row = time.monotonic(), now
            elif time.monotonic() - since > (PATIENCE + self.limits.seconds if pid else STARTING):
                os.kill(pid if working else child.pid, signal.SIGKILL)
                since = time.monotonic()
        return unpacked(exactly(child.stdout.read))

    def _state(self) -> tuple[int, int, int]:
        pid, working, row = (int.from_bytes(self.state[k : k + 8], "little") for k in (0, 8, 16))
        return pid, working, row

    def _reason(self, code: int) -> tuple[Why, str]:
        if code == -signal.SIGPROF:
            return "time", f"reading it takes more than {self.limits.seconds:g} s of processor time"
        if code in (MEMORY, -signal.SIGKILL):
            return "memory", f"reading it takes more than {self.limits.megabytes} MB of memory, or minutes"
        return "crash", f"reading it ends the process ({'signal' if code < 0 else 'exit code'} {abs(code)})"
