"""Fill a table on a Ray cluster: the same cells, handed to whatever machines there are; the driver keeps results."""

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from graphfnp.experiments.cell import Cell
from graphfnp.experiments.fill import CellProgress, Outcome, PendingCells
from graphfnp.experiments.measure import measure
from graphfnp.experiments.results import Results
from graphfnp.ray_session import ray_session

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
