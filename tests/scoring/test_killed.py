"""Scoring killed by the system, in processes of their own: it goes on, and ends with the same bytes."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from graphfnp.runs.run import Run
from graphfnp.scoring.parts import Parts

SCRIPT = """
import sys
from graphfnp.scoring import rows, score_file
from graphfnp.runs.checkpoint import load_model
if __name__ == "__main__":
    rows.CHUNK = score_file.CHUNK = 16
    execution = score_file.Execution("local", int(sys.argv[4]))
    score_file.score_file(load_model(sys.argv[1]), sys.argv[2], sys.argv[3], execution=execution)
"""


def started(script: Path, run: Run, source: Path, target: Path, workers: int) -> subprocess.Popen:
    words = [sys.executable, str(script), str(run.folder), str(source), str(target), str(workers)]
    return subprocess.Popen(words, env={**os.environ, "OMP_NUM_THREADS": "1"})


@pytest.mark.slow
def test_a_killed_process_loses_nothing_and_leaves_nobody_behind(
    molecule_run: Run, broken_file: Path, tmp_path: Path
) -> None:
    psutil = pytest.importorskip("psutil")
    script = tmp_path / "score.py"
    script.write_text(SCRIPT)
    whole, pieces = tmp_path / "whole.csv", tmp_path / "pieces.csv"
    assert started(script, molecule_run, broken_file, whole, 0).wait() == 0
    points = sorted(random.Random(3).sample(range(1, 50), 3))
    for point in points:
        process = started(script, molecule_run, broken_file, pieces, 2)
        while len(list(Parts(pieces).folder.glob("*.part"))) < point:
            assert process.poll() is None
            time.sleep(0.002)
        beside = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        assert not pieces.exists()
        _, alive = psutil.wait_procs(beside, timeout=60)
        assert not alive, "processes that read ahead end with their parent"
    assert started(script, molecule_run, broken_file, pieces, 1).wait() == 0
    assert pieces.read_bytes() == whole.read_bytes()
    assert not Parts(pieces).folder.exists()
