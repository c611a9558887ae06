"""Fill a table: hand missing cells to worker processes, or to a Ray cluster, until all are done or time is up."""

import fcntl
import multiprocessing
import os
import signal
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import torch

from graphfnp.experiments.cell import Cell
from graphfnp.experiments.measure import measure
from graphfnp.experiments.results import Results
from graphfnp.ray_session import ray_session

PendingCells = Callable[[Results], Sequence[Cell]]  # cells not yet finished, the most urgent first


@dataclass(frozen=True)
class CellProgress:
    """What a watcher hears: a cell has begun, reached an epoch, is done, or has failed."""

    worker: int
    cell: Cell
    kind: str  # "epoch", "done", "failed", "stopped", "busy"
    epoch: int = 0
    epochs: int = 1
    text: str = ""


@dataclass
class Outcome:
    """What a filling came to."""

    done: int = 0
    failed: dict[str, str] = field(default_factory=dict)  # cell -> reason
    left: int = 0


def fill(
    pending_cells: PendingCells,
    results: Results,
    cells_folder: Path,
    workers: int = 1,
    minutes: float | None = None,
    watch: Callable[[CellProgress, Outcome], None] | None = None,
) -> Outcome:
    """Run what is wanted. An interrupted cell keeps its last epoch and goes on from there next time."""
    outcome, skipped = Outcome(), set[str]()
    deadline = None if minutes is None else time.monotonic() + 60 * minutes
    team = [_Worker(number, cells_folder, results.folder) for number in range(workers)]
    try:
        while True:
            running = {worker.cell.key for worker in team if worker.cell is not None}
            in_time = deadline is None or time.monotonic() < deadline
            idle = [worker for worker in team if worker.cell is None]
            wishes = pending_cells(results) if in_time and idle else []  # asked only where there is somebody to do them
            pending = (cell for cell in wishes if cell.key not in skipped | running)
            for worker, cell in zip(idle, pending, strict=False):
                worker.begin(cell)
                running.add(cell.key)
            if not running:
                break
            busy = {worker.connection: (worker, worker.cell) for worker in team if worker.cell is not None}
            patience = None if deadline is None or not in_time else max(0.0, deadline - time.monotonic())
            for connection in wait(list(busy), patience):
                worker, cell = busy[connection]  # type: ignore[index]
                update = worker.receive(cell)
                if update.kind == "done":
                    results.refresh()
                    outcome.done += 1
                elif update.kind == "failed":
                    outcome.failed[str(update.cell)] = update.text
                if update.kind in ("failed", "busy"):
                    skipped.add(update.cell.key)
                if watch is not None:
                    watch(update, outcome)
            if not in_time:
                for worker, _ in busy.values():
                    worker.stop()
    finally:
        for worker in team:
            worker.stop()
        for worker in team:
            worker.close()
    results.refresh()
    outcome.left = len(pending_cells(results))
    return outcome


class _Worker:
    """A process that does one cell after another, and the parent's end of its pipe."""

    def __init__(self, number: int, cells_folder: Path, results_folder: Path) -> None:
        self.number, self.folders = number, (cells_folder, results_folder)
        self.cell: Cell | None = None
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")  # torch's threads do not survive a fork
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, *self.folders), daemon=True)
        self.process.start()
        theirs.close()

    def begin(self, cell: Cell) -> None:
        self.cell = cell
        self.connection.send(cell)

    def receive(self, cell: Cell) -> CellProgress:
        try:
            kind, epoch, epochs, text = self.connection.recv()
        except EOFError:  # killed, perhaps for want of memory: the others go on
            self.process.join()
            kind, epoch, epochs = "failed", 0, 1
            text = f"the worker ended with code {self.process.exitcode}"
            self._start()
        if kind != "epoch":
            self.cell = None
        return CellProgress(self.number, cell, kind, epoch, epochs, text)

    def stop(self) -> None:
        with suppress(OSError):
            self.connection.send(None)

    def close(self) -> None:
        self.process.join(timeout=60)
        if self.process.is_alive():
            self.process.terminate()
        self.connection.close()


class _Stopped(Exception):
    """The parent asked to stop."""


def _serve(connection: Connection, cells_folder: Path, results_folder: Path) -> None:
    """The life of a worker: cells in, update out, until it is sent nothing."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent is interrupted too, and asks to stop
    torch.set_num_threads(1)  # one core a worker: more cells at a time beat more threads a cell
    results = Results(results_folder)
    with suppress(EOFError, BrokenPipeError, _Stopped):
        while (cell := connection.recv()) is not None:
            try:
                kind, text = _do(cell, connection, cells_folder, results), ""
            except _Stopped:
                connection.send(("stopped", 0, 1, ""))
                raise
            except Exception as error:
                kind, text = "failed", f"{type(error).__name__}: {error}"
                (cells_folder / f"{cell.key}.error").write_text(f"{cell}\n{traceback.format_exc()}")
            connection.send((kind, 0, 1, text))


def _do(cell: Cell, connection: Connection, cells_folder: Path, results: Results) -> str:
    def tell(event) -> None:
        if event.record is not None or event.stage != "training":
            if connection.poll():
                raise _Stopped
            connection.send(("epoch", event.epoch + 1, event.epochs, ""))

    folder = cells_folder / cell.key
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # freed by the system when the process ends
        except BlockingIOError:
            return "busy"  # another filling has it
        results.refresh()
        if cell not in results:
            results.add(cell, measure(cell, folder, tell))
    return "done"


POLL = 1.0  # seconds


def fill_cluster(
    pending_cells: PendingCells,
    results: Results,
    workers: int = 1,
    minutes: float | None = None,
    watch: Callable[[CellProgress, Outcome], None] | None = None,
    address: str | None = None,
) -> Outcome:
    """Run what is wanted as Ray tasks, ``workers`` at a time; a task whose machine dies is started again elsewhere.

    Without an address a Ray of this machine's own is started, and ended again. Cells that time interrupts start anew:
    machines need not share a disk.
    """
    with ray_session(address, workers) as ray:
        task = ray.remote(num_cpus=1, max_retries=3, retry_exceptions=False)(_measured)
        outcome, running, skipped = Outcome(), dict[Any, Cell](), set[str]()
        deadline = None if minutes is None else time.monotonic() + 60 * minutes

        def tell(cell: Cell, kind: str, text: str = "") -> None:
            if watch is not None:
                watch(CellProgress(0, cell, kind, text=text), outcome)

        try:
            while deadline is None or time.monotonic() < deadline:
                keys = {cell.key for cell in running.values()} | skipped
                pending = [cell for cell in pending_cells(results) if cell.key not in keys]
                for cell in pending[: workers - len(running)]:
                    running[task.remote(cell, os.environ.get("GRAPHFNP_DATA"))] = cell
                    tell(cell, "epoch")
                if not running:
                    break
                ready, _ = ray.wait(list(running), timeout=POLL)
                for reference in ready:
                    cell = running.pop(reference)
                    try:
                        results.add(cell, ray.get(reference))
                        outcome.done += 1
                        tell(cell, "done")
                    except ray.exceptions.RayError as error:
                        skipped.add(cell.key)
                        outcome.failed[str(cell)] = str(error).strip().splitlines()[-1]
                        tell(cell, "failed", outcome.failed[str(cell)])
        finally:
            for reference in running:
                ray.cancel(reference, force=True)
    outcome.left = len(pending_cells(results))
    return outcome


def _measured(cell: Cell, data: str | None) -> dict[str, Any]:
    torch.set_num_threads(1)
    if data is not None:
        os.environ.setdefault("GRAPHFNP_DATA", data)
    with tempfile.TemporaryDirectory() as folder:
        return measure(cell, Path(folder) / cell.key)
