"""How long each door takes to open: ``python benchmarks/start_up.py [--rounds 7] [--json]``.

Commands are run in turns, beside the import of what no prediction can do without. The least of the turns is told too:
on a busy machine it is the nearest to the truth. tests/doors/test_start_up.py says what each door may import.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from service import start
from side_by_side import options, record, row
from whole_file import cost, write_file

IMPORTS = "import torch, rdkit"


def until_ready() -> float:
    """Seconds until the service says where it is."""
    process, _, seconds = start("bbbp")
    process.terminate()
    process.wait(60)
    return seconds


def main() -> None:
    given = options(__doc__, 7).parse_args()
    program = [sys.executable, "-m", "graphfnp.cli.app"]
    wall: dict[str, list[float]] = {}
    processor: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        few = write_file(folder / "100.csv", 100)
        commands = {
            IMPORTS: [sys.executable, "-c", "import torch, rdkit.Chem"],
            "--help": [*program, "--help"],
            "predict SMILES": [*program, "predict", "bbbp", "CCO"],
            "predict 100 rows": [*program, "predict", "bbbp", few, "-o", folder / "out.csv"],
        }
        for _ in range(given.rounds):
            for door, words in commands.items():
                began = time.perf_counter()  # without the pauses of cost
                subprocess.run([*map(str, words)], capture_output=True, check=True)
                wall.setdefault(door, []).append(time.perf_counter() - began)
                processor.setdefault(door, []).append(cost(words).processor)
            wall.setdefault("serve, until ready", []).append(until_ready())
    base = statistics.median(wall[IMPORTS])
    for door, seconds in wall.items():
        used = f"{statistics.median(processor[door]):5.2f} s of processors" if door in processor else ""
        middle = statistics.median(seconds)
        print(f"{door:20} {middle:5.2f} s (least {min(seconds):.2f}), {middle / base:4.2f} of the imports  {used}")
    print(f"load {os.getloadavg()[0]:.1f}")
    if given.json:
        ratios = {f"{door} to {IMPORTS}": statistics.median(some) / base for door, some in wall.items()}
        table = [
            row(f"start: {door}", f"{statistics.median(some):.2f} s", f"`python -c '{IMPORTS}'`, {base:.2f} s",
                statistics.median(some) / base, "at most 1.5")
            for door, some in wall.items() if door != IMPORTS
        ]  # fmt: skip
        record(
            "start_up", ratios, table, rounds=given.rounds,
            seconds={door: [round(one, 3) for one in sorted(some)] for door, some in wall.items()},
        )  # fmt: skip


if __name__ == "__main__":
    main()
