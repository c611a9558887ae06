"""Does the cost stay linear and the memory flat, and do two workers do twice the work: ``python benchmarks/growth.py``.

Files of 10,000, 100,000 and 1,000,000 molecules through ``graphfnp predict``; then 40,960 molecules through the engine
Ray with one and two workers, each with a model and a reader of its own, counted from the first finished chunk on.
"""

import sys
import tempfile
import time
from pathlib import Path

from graphfnp.runs.bundles import open_run
from graphfnp.scoring.rows import CHUNK
from graphfnp.scoring.score_file import Execution, score_file
from side_by_side import options, record, row
from whole_file import Cost, cost, write_file

ROWS = (10_000, 100_000, 1_000_000)
RAY_ROWS = 20 * CHUNK


def ray_rate(source: Path, target: Path, workers: int) -> float:
    """Rows a second between the first finished chunk and the last."""
    seen: list[tuple[float, int]] = []
    score_file(
        open_run(Path("bbbp")).model, source, target, execution=Execution("ray", workers), restart=True,
        watch=lambda done, before, rows: seen.append((time.perf_counter(), done)),
    )  # fmt: skip
    (began, first), (ended, last) = seen[0], seen[-1]
    return (last - first) / (ended - began)


def main() -> None:
    parser = options(__doc__, rounds=2)
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS)
    chosen = parser.parse_args()
    costs: dict[int, Cost] = {}
    rates: dict[int, list[float]] = {1: [], 2: []}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for count in sorted(chosen.rows):
            source, target = write_file(folder / "in.csv", count), folder / f"{count}.csv"
            costs[count] = cost([sys.executable, "-m", "graphfnp.cli.app", "predict", "bbbp", source, "-o", target])
            print(count, costs[count], flush=True)
        source = write_file(folder / "in.csv", RAY_ROWS)
        for _ in range(chosen.rounds):
            for workers in rates:
                rates[workers].append(ray_rate(source, folder / "ray.csv", workers))
    (few, *_, many) = costs
    step = many - few
    each = {what: (getattr(costs[many], what) - getattr(costs[few], what)) / step for what in ("wall", "processor")}
    first = max(rates[1]), max(rates[2])
    ratios = {
        "memory of the largest file to the smallest": costs[many].memory / costs[few].memory,
        "two workers of Ray to one": first[1] / first[0],
    }
    print({what: f"{1e6 * value:.0f} us a row" for what, value in each.items()}, ratios, rates)
    if chosen.json:
        hours = each["processor"] / 3600
        table = [
            row(f"{many:,} molecules", f"{costs[many].wall:.0f} s, {costs[many].memory:.0f} MiB", f"memory of {few:,}",
                ratios["memory of the largest file to the smallest"], "flat"),
            row("ten million molecules", f"{1e7 * hours:.1f} core hours"),
            row("a billion molecules", f"{1e9 * hours:,.0f} core hours"),
            row("two workers of Ray", f"{first[1]:,.0f} a second", f"one: {first[0]:,.0f}",
                ratios["two workers of Ray to one"], "at least 1.8"),
        ]  # fmt: skip
        record(
            "growth", ratios, table, seconds_a_row=each, costs={count: vars(one) for count, one in costs.items()},
            ray_rows_a_second=rates,
        )  # fmt: skip


if __name__ == "__main__":
    main()
