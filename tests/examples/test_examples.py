"""Every example runs as a newcomer would run it, on a small scale."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))
SAYS = {
    "bring_your_own_graphs": "a line far out",
    "classify_and_explain": "rationale 0 for cycle",
    "compare_uncertainty": "model uncertainty",
}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs_and_says_what_it_promises(example: Path, tmp_path: Path):
    done = subprocess.run(
        [sys.executable, str(example), "--quick"],
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert SAYS[example.stem] in done.stdout
    assert "Warning" not in done.stderr, done.stderr
    if example.stem == "classify_and_explain":
        assert (tmp_path / "runs/classify_and_explain/report.html").is_file()
