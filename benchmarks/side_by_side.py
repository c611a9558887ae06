"""Functions timed in turns, so that a busy machine slows all of them alike, and the record of their ratios."""

import argparse
import gc
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
PACKAGES = ("graphfnp", "torch", "torch_geometric", "rdkit", "numpy")


@dataclass(frozen=True)
class Timing:
    """Seconds of every round."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def spread(self) -> tuple[float, float]:
        """The quarters: half of the rounds lie between."""
        if len(self.seconds) < 3:
            return min(self.seconds), max(self.seconds)
        low, _, high = statistics.quantiles(self.seconds, n=4)
        return low, high

    def __str__(self) -> str:
        low, high = self.spread
        return f"{1000 * self.median:.1f} ms ({1000 * low:.1f} to {1000 * high:.1f})"


def alternate(
    functions: Mapping[str, Callable[[], object]],
    rounds: int,
    warm_up: int = 1,
    clock: Callable[[], float] = time.process_time,
) -> dict[str, Timing]:
    """Call all functions in turns, ``rounds`` times after ``warm_up`` rounds that do not count.

    Processor time, which others on the machine change least; ``clock=time.perf_counter`` where other processes work.
    """
    seconds: dict[str, list[float]] = {name: [] for name in functions}
    for turn in range(warm_up + rounds):
        for name, function in functions.items():
            gc.collect()
            start = clock()
            function()
            if turn >= warm_up:
                seconds[name].append(clock() - start)
    return {name: Timing(tuple(values)) for name, values in seconds.items()}


def options(description: str | None, rounds: int) -> argparse.ArgumentParser:
    """The options all benchmarks share."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=rounds, help=f"turns each side has (default: {rounds})")
    parser.add_argument("--json", action="store_true", help="also write benchmarks/results/NAME.json")
    return parser


def row(work: str, ours: str, peer: str = "", ratio: float | None = None, aim: str = "", floor: str = "") -> dict:
    """A row of the table of benchmarks/README.md, which ``python benchmarks/table.py`` writes."""
    shown = "" if ratio is None else f"{ratio:.3g}"
    return {"work": work, "ours": ours, "peer": peer, "ratio": shown, "aim": aim, "floor": floor}


def _without_folders(argument: str) -> str:
    """Where something lies on this machine is nobody's business."""
    return Path(argument).name if Path(argument).is_absolute() else argument


def record(name: str, ratios: Mapping[str, float], table: Sequence[dict] = (), **facts: Any) -> None:
    """Write ``benchmarks/results/NAME.json``: the ratios, and what they were measured on."""
    RESULTS.mkdir(exist_ok=True)
    content = {
        "benchmark": name,
        "command": f"python {' '.join([f'benchmarks/{Path(sys.argv[0]).name}', *map(_without_folders, sys.argv[1:])])}",
        "date": time.strftime("%Y-%m-%d"),
        "machine": f"{platform.system()} {platform.machine()}, {_processor()}",
        "cores": os.cpu_count(),
        "load": [round(one, 1) for one in os.getloadavg()],  # of the last 1, 5 and 15 minutes, this benchmark included
        "versions": {"python": platform.python_version(), **{one: version(one) for one in PACKAGES}},
        "ratios": {key: float(f"{value:.3g}") for key, value in ratios.items()},
        "table": list(table),
        **facts,
    }
    (RESULTS / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n")


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()
