"""Training by two processes beside one: ``python benchmarks/processes.py [--json]``, on Mutagenicity, 256 wide.

Both are run as a user would, ``graphfnp train --devices``, in turns; an epoch's time is the median of those after the
first two, in which rationales are placed.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from side_by_side import options, record, row

EPOCHS, WIDTH, BATCHES = 5, 256, (64, 256)


def epoch_seconds(devices: int, batch_size: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        settings = [f"backbone.width={WIDTH}", f"training.batch_size={batch_size}", "generation_weight=0"]
        chosen = [word for setting in settings for word in ("--set", setting)]
        command = [sys.executable, "-m", "graphfnp", "train", "mutagenicity", "--devices", str(devices)]
        command += ["--epochs", str(EPOCHS), "--no-report", "--out", f"{folder}/run", *chosen]
        subprocess.run(command, check=True, capture_output=True)
        lines = (Path(folder) / "run" / "epochs.jsonl").read_text().splitlines()
    return median(json.loads(line)["seconds"] for line in lines[2:])


def main() -> None:
    chosen = options(__doc__, rounds=2).parse_args()
    ratios, table = {}, []
    for batch_size in BATCHES:
        turns = [[epoch_seconds(devices, batch_size) for devices in (1, 2)] for _ in range(chosen.rounds)]
        one, two = (median(seconds) for seconds in zip(*turns, strict=True))
        ratios[f"two processes, batches of {batch_size}"] = one / two
        work, aim = f"an epoch by two processes, batches of {batch_size}", "at least 1.6"
        table.append(row(work, f"{two:.2f} s", f"one process: {one:.2f} s", one / two, aim))
        print(f"batches of {batch_size}: {one:.2f} s by one process, {two:.2f} s by two, {one / two:.2f} times as fast")
    if chosen.json:
        record("processes", ratios, table)


if __name__ == "__main__":
    main()
