"""Where a result comes from: code, versions, time and memory; and numbers short enough to keep."""

import platform
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from graphfnp.experiments.cell import Cell


def provenance(cell: Cell, seconds: float) -> dict[str, Any]:
    libraries = ("torch", "torch_geometric", "rdkit", "numpy")
    return {
        "code": code_revision(),
        "versions": {"python": platform.python_version(), **{name: version(name) for name in libraries}},
        "seconds": seconds,
        "peak_mib": peak_memory(),
        "threads": torch.get_num_threads(),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": cell.plan.command,
    }


@lru_cache(maxsize=1)
def code_revision() -> str | None:
    """The commit the code is at, with a + if it has been changed since; None outside a repository."""
    place = Path(__file__).parent
    try:
        commit = subprocess.run(
            ["git", "rev-parse", "--short=12", "HEAD"], cwd=place, capture_output=True, text=True, check=True
        ).stdout.strip()
        changed = subprocess.run(
            ["git", "status", "--porcelain", "--", "."], cwd=place, capture_output=True, text=True, check=True
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    return commit + ("+" if changed else "")


def reset_peak_memory() -> None:
    """Workers do many cells: without this the peak of a cell would be the largest so far. Linux only."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak_memory() -> float | None:
    """Most resident memory since the reset, in MiB."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), None)


def rounded(value: Any) -> Any:
    """Six digits are more than any of these numbers means, and keep the files small."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, Mapping):
        return {name: rounded(item) for name, item in value.items()}
    return [rounded(item) for item in value] if isinstance(value, list | tuple) else value
