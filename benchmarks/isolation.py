"""What it costs to read rows in child processes: the same file and the same request with them and without, in turns.

``python benchmarks/isolation.py [--json]``. Without children a row that RDKit cannot bear ends the program. Processor
time counts the children too, and means something on a busy machine; the load is told with the numbers.
"""

import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
from starlette.testclient import TestClient

from graphfnp.isolation import pool
from graphfnp.runs.bundles import open_run
from graphfnp.runs.decoded import decoded_of_run
from graphfnp.scoring.score_file import Execution, score_file
from graphfnp.service.app import make_app
from graphfnp.service.config import ServiceConfig
from graphfnp.service.engine import Engine
from side_by_side import options, record, row
from whole_file import write_file

ROWS, REQUESTS = 16384, 40  # of the file; in each turn
ASPIRIN = "CC(=O)Oc1ccccc1C(=O)O"


@contextmanager
def isolation(on: bool) -> Iterator[None]:
    before, pool.available = pool.available, on
    try:
        yield
    finally:
        pool.available = before


def processor_seconds() -> float:
    """Of this process and the children it has."""
    times = [one.cpu_times() for one in [psutil.Process(), *psutil.Process().children(recursive=True)]]
    return sum(one.user + one.system for one in times)


def main() -> None:
    chosen = options(__doc__, rounds=5).parse_args()
    run, load = open_run("bbbp"), os.getloadavg()[0]
    seconds: dict[tuple[str, str], list[float]] = {}

    def note(what: str, how: str, value: float) -> None:
        seconds.setdefault((what, how), []).append(value)

    sides = {"with children": True, "without": False}
    with tempfile.TemporaryDirectory() as name:
        source, target = write_file(Path(name) / "in.csv", ROWS), Path(name) / "out.csv"
        engine = Engine(run, decoded_of_run(run), ServiceConfig(log_level="warning"))
        with TestClient(make_app(engine)) as client:
            for turn in range(chosen.rounds + 1):
                for how, on in sides.items():
                    with isolation(on):
                        for what, workers in (("a file", 0), ("a file, two readers", 2)):
                            if on or not workers:
                                used, start = processor_seconds(), time.perf_counter()
                                score_file(
                                    run.model, source, target, execution=Execution(workers=workers), restart=True
                                )
                                if turn:
                                    note(f"{what}, processor", how, processor_seconds() - used)
                                    note(what, how, time.perf_counter() - start)
                        for _ in range(REQUESTS):
                            start = time.perf_counter()
                            assert client.post("/predict", json={"smiles": ASPIRIN}).status_code == 200
                            if turn:
                                note("a request", how, time.perf_counter() - start)
    median = {key: statistics.median(values) for key, values in seconds.items()}
    for (what, how), value in median.items():
        print(f"{what:28} {how:14} {1000 * value:10.1f} ms")
    inside = "without"
    ratios = {
        "file_wall": median["a file", "with children"] / median["a file", inside],
        "file_processor": median["a file, processor", "with children"] / median["a file, processor", inside],
        "file_wall_two_readers": median["a file, two readers", "with children"] / median["a file", inside],
    }
    more = 1000 * (median["a request", "with children"] - median["a request", inside])
    print(
        ", ".join(f"{name} {value:.3f}" for name, value in ratios.items()),
        f"; a request {more:+.2f} ms; load {load:.1f}",
    )
    if chosen.json:
        facts = {f"{what}, {how}": round(1000 * value, 2) for (what, how), value in median.items()}
        table = [
            row("a file with rows read in children", "with", "without", ratios["file_processor"], "processor time"),
            row("a request with rows read in children", f"{more:+.1f} ms"),
        ]
        record(
            "isolation", ratios, table, request_milliseconds_more=round(more, 2), milliseconds=facts, rows=ROWS,
            rounds=chosen.rounds,
        )  # fmt: skip


if __name__ == "__main__":
    main()
