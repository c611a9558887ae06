"""Molecules scored per second from SMILES to a file, beside ``chemprop predict``; and memory at 10k and 200k rows.

``python benchmarks/scoring.py RUN --chemprop ENV/bin/chemprop [--json]``: RUN is a run on BBBP; chemprop (2.3.1) has
an environment of its own, and a model of its default size is trained first. Both score the same two files in
turns; what a molecule costs after start-up is the difference between the files. Wall time means something on a quiet
machine alone, processor time nearly always: both are told. ``--memory`` measures memory instead, without chemprop.
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
from pathlib import Path

import psutil
from rdkit import Chem, rdBase

from side_by_side import record

FEW, MANY = 6144, 20480  # rows of the two files; in both our processes have something to read ahead
SMALL, LARGE = 10000, 200000  # rows whose memory is compared
PAUSE = 0.1  # seconds between two looks at the memory


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


def costs(words: list[str]) -> tuple[float, float]:
    """Wall seconds and processor seconds of a command, its own processes included."""
    environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}  # as a user has it
    start = time.perf_counter()
    with tempfile.TemporaryFile("w+") as told_to:
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=told_to, env=environment)
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        told_to.seek(0)
        if status:
            raise SystemExit(f"{' '.join(words)} failed:\n{told_to.read()[-2000:]}")
    return seconds, used.ru_utime + used.ru_stime


def peak_memory(words: list[str]) -> float:
    """Most memory of a command and its processes together, in MiB; pages they share count once for each."""
    process = psutil.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    peak = 0
    while process.poll() is None:
        total = 0
        for one in [process, *process.children(recursive=True)]:
            try:
                total += one.memory_info().rss
            except psutil.Error:  # gone meanwhile
                continue
        peak = max(peak, total)
        time.sleep(PAUSE)
    if process.returncode:
        raise SystemExit(f"{' '.join(words)} failed")
    return peak / 2**20


def ours(run: Path, source: Path, target: Path) -> list[str]:
    target.unlink(missing_ok=True)
    return [sys.executable, "-m", "graphfnp.cli.app", "predict", str(run), str(source), "-o", str(target)]


def race(run: Path, chemprop: Path, folder: Path, rounds: int) -> tuple[dict[str, float], dict[str, float]]:
    """Ratios of molecules a second after start-up, and the rates themselves."""
    model, files = folder / "chemprop", [write_file(folder / f"{count}.csv", count) for count in (FEW, MANY)]
    columns = ["--smiles-columns", "smiles"]
    taught = write_file(folder / "train.csv", 400, labels=True)
    options = ["--target-columns", "p_np", "--task-type", "classification", "--epochs", "3", "--accelerator", "cpu"]
    costs([str(chemprop), "train", "-i", str(taught), *columns, *options, "-o", str(model)])
    found: dict[str, list[tuple[float, float]]] = {"chemprop": [], "graphfnp": []}
    for _ in range(rounds):
        for name in found:
            pair = []
            for source in files:
                words = ours(run, source, folder / "ours.csv")
                if name == "chemprop":
                    words = [str(chemprop), "predict", "-i", str(source), *columns, "--accelerator", "cpu"]
                    words += ["--model-paths", str(model), "-o", str(folder / "theirs.csv")]
                pair.append(costs(words))
            wall, processor = (pair[1][k] - pair[0][k] for k in (0, 1))
            found[name].append((wall, processor))
            print(f"  {name:9} {(MANY - FEW) / wall:7.0f} molecules/s, {1000 * processor / (MANY - FEW):.2f} ms each")
    middle = {name: [statistics.median(column) for column in zip(*some, strict=True)] for name, some in found.items()}
    ratios = {
        f"graphfnp to chemprop, molecules per {what}": middle["chemprop"][k] / middle["graphfnp"][k]
        for k, what in enumerate(("second", "second of processor time"))
    }
    rates = {f"{name}, molecules per second": round((MANY - FEW) / middle[name][0]) for name in middle}
    rates |= {f"{name}, ms of processor time": round(1000 * middle[name][1] / (MANY - FEW), 3) for name in middle}
    return ratios, rates


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--chemprop", type=Path, help="the program, in an environment of its own")
    parser.add_argument("--memory", action="store_true", help=f"memory at {SMALL} and {LARGE} rows instead")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--json", action="store_true", help="also write benchmarks/results/scoring[_memory].json")
    chosen = parser.parse_args()
    if not chosen.memory and chosen.chemprop is None:
        parser.error("--chemprop PATH, or --memory")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if chosen.memory:
            files = {count: write_file(folder / f"{count}.csv", count) for count in (SMALL, LARGE)}
            peaks = {count: peak_memory(ours(chosen.run, file, folder / "out.csv")) for count, file in files.items()}
            print(", ".join(f"{count} rows: {peak:.0f} MiB" for count, peak in peaks.items()))
            ratio = {f"memory at {LARGE} rows to {SMALL} rows": peaks[LARGE] / peaks[SMALL]}
            facts = {f"MiB at {count} rows": round(peak) for count, peak in peaks.items()}
            if chosen.json:
                record("scoring_memory", ratio, **facts)
            return
        ratios, rates = race(chosen.run, chosen.chemprop, folder, chosen.rounds)
        for what, ratio in ratios.items():
            print(f"{what}: {ratio:.2f}")
        if chosen.json:
            busy = f"{os.getloadavg()[1]:.0f} processes wanted the processors meanwhile"
            record("scoring", ratios, rounds=chosen.rounds, **rates, machine=busy)


if __name__ == "__main__":
    main()
