"""A file of molecules from start to end, beside ``chemprop predict``: ``python benchmarks/whole_file.py [--json]``.

Files of 100, 6,144, 20,480 and 200,000 rows; wall time, processor time and peak memory of all processes of a command,
start-up included. Sides take turns, so that a busy machine slows all of them:

* graphfnp      ``graphfnp predict bbbp FILE -o out.csv``, with every field of the record
* chemprop      ``chemprop predict``, its default model, trained here for three epochs on 400 molecules
* chemprop fast the same with ``--use-cuikmolmaker-featurization`` (its fast path, if cuik-molmaker is installed)
* RDKit alone   ``Chem.MolFromSmiles`` for every row on all processors: the floor of whatever reads SMILES

chemprop (2.3.1) has an environment of its own, as benchmarks/chemprop_peer.py makes it: ``--environment FOLDER``.
Without one, its sides are left out, and that is said.
"""

import argparse
import csv
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from rdkit import Chem, rdBase

from side_by_side import record, row

ROWS = (100, 6144, 20480, 200000)
ONCE = 100000  # rows from which one turn has to do
PAUSE = 0.05  # seconds between two looks at the processes
OURS, PLAIN, FAST, FLOOR = "graphfnp", "chemprop", "chemprop fast", "RDKit alone"
PARSE = """
import csv, os, sys
from multiprocessing import Pool
from rdkit import Chem, rdBase
def parse(texts):
    with rdBase.BlockLogs():
        return sum(Chem.MolFromSmiles(text) is not None for text in texts)
if __name__ == "__main__":
    with open(sys.argv[1]) as file:
        texts = [row["smiles"] for row in csv.DictReader(file)]
    with Pool(os.cpu_count()) as pool:
        print(sum(pool.imap_unordered(parse, (texts[k : k + 512] for k in range(0, len(texts), 512)))))
"""


@dataclass(frozen=True)
class Cost:
    """Of one command with all its processes."""

    wall: float  # seconds
    processor: float  # seconds
    memory: float  # MiB at its peak; pages that processes share count for each


def molecules() -> list[tuple[str, str]]:
    """SMILES and labels of BBBP; only those that RDKit reads, since one that it does not ends chemprop."""
    with open(Path(os.environ["GRAPHFNP_DATA"]) / "BBBP" / "BBBP.csv") as file, rdBase.BlockLogs():
        return [(row["smiles"], row["p_np"]) for row in csv.DictReader(file) if Chem.MolFromSmiles(row["smiles"])]


def write_file(path: Path, count: int, labels: bool = False) -> Path:
    """BBBP shuffled, again and again until there are enough rows."""
    known, order, rows = molecules(), random.Random(0), []
    while len(rows) < count:
        rows += order.sample(known, len(known))
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["smiles", "p_np"] if labels else ["smiles"])
        writer.writerows(row if labels else row[:1] for row in rows[:count])
    return path


def cost(words: Sequence[str | Path]) -> Cost:
    """Looked at while it runs: what a process that is killed has used is told to nobody."""
    environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}  # as a user has it
    used: dict[tuple[int, float], float] = {}
    peak, start = 0, time.perf_counter()
    with tempfile.TemporaryFile("w+") as said:
        process = psutil.Popen([*map(str, words)], stdout=subprocess.DEVNULL, stderr=said, env=environment)
        while process.poll() is None:
            total = 0
            for one in _family(process):
                try:
                    with one.oneshot():
                        total += one.memory_info().rss
                        times = one.cpu_times()
                        used[one.pid, one.create_time()] = times.user + times.system
                except psutil.Error:  # gone meanwhile
                    continue
            peak = max(peak, total)
            time.sleep(PAUSE)
        wall = time.perf_counter() - start
        said.seek(0)
        if process.returncode:
            raise SystemExit(f"{' '.join(map(str, words))} failed:\n{said.read()[-2000:]}")
    return Cost(wall, sum(used.values()), peak / 2**20)


def _family(process: psutil.Process) -> list[psutil.Process]:
    try:
        return [process, *process.children(recursive=True)]
    except psutil.Error:
        return []


# ---------------------------------------------------------------- sides


def chemprop_sides(environment: Path, folder: Path) -> dict[str, Callable[[Path], list[str | Path]]]:
    """Commands of chemprop with and without its fast path, after its model is trained; none where it is not."""
    program = environment / "bin" / "chemprop"
    if not program.exists():
        print(f"chemprop is left out: no {program}; benchmarks/chemprop_peer.py makes that environment.")
        return {}
    model, columns, cpu = folder / "chemprop", ["--smiles-columns", "smiles"], ["--accelerator", "cpu"]
    taught = write_file(folder / "train.csv", 400, labels=True)
    task = ["--target-columns", "p_np", "--task-type", "classification", "--epochs", "3"]
    cost([program, "train", "-i", taught, *columns, *task, *cpu, "-o", model])

    def command(*options: str) -> Callable[[Path], list[str | Path]]:
        return lambda source: [
            program, "predict", "-i", source, *columns, *cpu, "--model-paths", model, "-o", folder / "theirs.csv",
            *options,
        ]  # fmt: skip

    found = {PLAIN: command()}
    has_fast = subprocess.run([environment / "bin" / "python", "-c", "import cuik_molmaker"], capture_output=True)
    if has_fast.returncode:
        print(f"chemprop's fast path is left out: no cuik_molmaker in {environment}; install cuik-molmaker there.")
    else:
        found[FAST] = command("--use-cuikmolmaker-featurization")
    return found


def all_sides(run: str, environment: Path, folder: Path) -> dict[str, Callable[[Path], list[str | Path]]]:
    def ours(source: Path) -> list[str | Path]:
        (folder / "ours.csv").unlink(missing_ok=True)
        return [sys.executable, "-m", "graphfnp.cli.app", "predict", run, source, "-o", folder / "ours.csv"]

    parse = folder / "parse.py"
    parse.write_text(PARSE)
    return {OURS: ours, **chemprop_sides(environment, folder), FLOOR: lambda source: [sys.executable, parse, source]}


# ---------------------------------------------------------------- the race


def race(
    sides: dict[str, Callable[[Path], list[str | Path]]], counts: Sequence[int], rounds: int, folder: Path
) -> tuple[dict[str, dict[int, Cost]], list[dict[str, Any]]]:
    """Medians by side and number of rows, and every turn with the load before it."""
    turns: list[dict[str, Any]] = []
    for count in counts:
        source = write_file(folder / f"{count}.csv", count)
        for turn in range(1 if count >= ONCE else rounds):
            for side in list(sides) if turn % 2 == 0 else list(sides)[::-1]:
                load, one = os.getloadavg()[0], cost(sides[side](source))
                turns.append({"rows": count, "side": side, **vars(one), "load": load})
                print(
                    f"{count:7} rows  {side:13} {one.wall:7.2f} s  {one.processor:7.2f} s of processors"
                    f"  {one.memory:6.0f} MiB  load {load:.1f}",
                    flush=True,
                )
    middle: dict[str, dict[int, Cost]] = {side: {} for side in sides}
    for side in sides:
        for count in counts:
            these = [turn for turn in turns if (turn["side"], turn["rows"]) == (side, count)]
            middle[side][count] = Cost(
                *(statistics.median(turn[what] for turn in these) for what in ("wall", "processor", "memory"))
            )
    return middle, turns


def ratios(middle: dict[str, dict[int, Cost]], counts: Sequence[int]) -> dict[str, float]:
    """Ours against the faster chemprop, whole files and after start-up; and against the floor."""
    found: dict[str, float] = {}
    peers = [side for side in (PLAIN, FAST) if side in middle]
    for count in counts:
        if peers:
            fastest = min(middle[side][count].wall for side in peers)
            found[f"{count} rows, fastest chemprop to graphfnp, wall"] = fastest / middle[OURS][count].wall
    if len(counts) < 2:
        return found
    few, many = counts[-2:]

    def rate(side: str, what: str) -> float:
        took = getattr(middle[side][many], what) - getattr(middle[side][few], what)
        return (many - few) / max(took, 1e-9)

    for what in ("wall", "processor"):
        for side in middle:
            found[f"{side}, rows a second of {what} after start-up"] = rate(side, what)
        if peers:
            fastest = max(rate(side, what) for side in peers)
            found[f"graphfnp to fastest chemprop, rows a second of {what} after start-up"] = rate(OURS, what) / fastest
        found[f"floor to graphfnp, rows a second of {what} after start-up"] = rate(FLOOR, what) / rate(OURS, what)
    return found


def table_rows(middle: dict[str, dict[int, Cost]], found: dict[str, float], counts: Sequence[int]) -> list[dict]:
    peers, floor = [side for side in (PLAIN, FAST) if side in middle], middle[FLOOR]
    rows = []
    for count in counts:
        own, best = middle[OURS][count], min(peers, key=lambda side: middle[side][count].wall, default=None)
        told = "" if best is None else f"{best}: {middle[best][count].wall:.1f} s"
        ratio = None if best is None else middle[best][count].wall / own.wall
        aim = "2.5 times faster" if count == 6144 else ""
        work, ours = f"a file of {count:,} molecules", f"{own.wall:.1f} s, {own.memory:.0f} MiB"
        rows.append(row(work, ours, told, ratio, aim, f"RDKit alone: {floor[count].wall:.1f} s"))
    if len(counts) > 1:
        rates = {side: found[f"{side}, rows a second of wall after start-up"] for side in middle}
        best = max(peers, key=rates.__getitem__, default=None)
        told = "" if best is None else f"{best}: {rates[best]:,.0f}"
        ratio = None if best is None else rates[OURS] / rates[best]
        rows.append(
            row("molecules a second after start-up", f"{rates[OURS]:,.0f}", told, ratio, "4 times faster",
                f"RDKit alone: {rates[FLOOR]:,.0f}")
        )  # fmt: skip
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", default="bbbp", help="a run folder or a bundled model")
    parser.add_argument("--environment", type=Path, default=Path("runs/chemprop"), help="chemprop's own")
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS)
    parser.add_argument("--rounds", type=int, default=3, help=f"turns of each side; one from {ONCE} rows")
    parser.add_argument("--json", action="store_true", help="also write benchmarks/results/whole_file.json")
    given = parser.parse_args()
    counts = sorted(given.rows)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sides = all_sides(given.run, given.environment.absolute(), folder)
        middle, turns = race(sides, counts, given.rounds, folder)
    found = ratios(middle, counts)
    for what, ratio in found.items():
        print(f"{what}: {ratio:,.2f}")
    if given.json:
        record(
            "whole_file", found, table_rows(middle, found, counts),
            waits=os.environ.get("OMP_WAIT_POLICY", "as the library likes"),
            medians={side: {count: vars(one) for count, one in some.items()} for side, some in middle.items()},
            turns=turns,
        )  # fmt: skip


if __name__ == "__main__":
    main()
