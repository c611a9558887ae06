"""``graphfnp predict RUN - -o -``: what comes through a pipe scores like a file, and the output holds nothing else."""

import csv
import gzip
import io
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rdkit import Chem

from graphfnp.cli.app import main
from graphfnp.datasets.table_files import read_text_table
from graphfnp.errors import MissingData

WORDS = [sys.executable, "-m", "graphfnp.cli.app", "predict", "bbbp", "-"]


def piped(content: bytes, *words: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*WORDS, *words], input=content, capture_output=True, check=False, timeout=300)


@pytest.mark.parametrize(
    ("content", "inputs"),
    [
        (b"CCO\nC1CC\n\nCCN\n", ["CCO", "C1CC", "", "CCN"]),
        (b"C1CC\nCCO ethanol\n", ["C1CC", "CCO"]),
        (b"\xef\xbb\xbfname;SMILES\na;CCO\nb;CC(\n", ["CCO", "CC("]),
        (gzip.compress(b"smiles\nCCO\n"), ["CCO"]),
        (2 * f"{Chem.MolToMolBlock(Chem.MolFromSmiles('CCO'))}$$$$\n".encode(), ["CCO", "CCO"]),
    ],
    ids=["list", "list that begins badly", "table", "gzip", "SDF"],
)
def test_every_row_that_is_piped_in_comes_out(content: bytes, inputs: list[str]) -> None:
    done = piped(content, "-o", "-")
    assert done.returncode == 0, done.stderr
    rows = list(csv.DictReader(io.StringIO(done.stdout.decode())))
    assert [row["input"] for row in rows] == inputs
    assert [int(row["row"]) for row in rows] == list(range(len(inputs)))
    assert b"standard output" in done.stderr


def test_json_and_csv_do_not_share_one_pipe() -> None:
    done = piped(b"CCO\n", "-o", "-", "--json")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"leave --json out for CSV" in done.stderr


def test_an_empty_pipe_is_told_what_to_do() -> None:
    done = piped(b"\n", "-o", "-")
    assert done.returncode == 2
    assert b"nothing on standard input" in done.stderr
    assert done.stdout == b""


def test_a_closed_standard_input_is_told_as_an_empty_one(capsys: pytest.CaptureFixture, monkeypatch) -> None:
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(SystemExit) as end:
        main(["predict", "bbbp", "-"])
    assert end.value.code == 2
    assert "nothing on standard input" in capsys.readouterr().err


def test_what_is_told_to_end_leaves_no_copy_of_its_input(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [*WORDS, "-o", "-"], stdin=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "TMPDIR": str(tmp_path)}
    )
    assert process.stdin is not None
    process.stdin.write(b"CCO\n" * 100_000)
    process.stdin.flush()
    until = time.monotonic() + 120
    while not list(tmp_path.glob("graphfnp-*/standard-input")) and time.monotonic() < until:
        time.sleep(0.05)
    process.terminate()
    _, told = process.communicate(timeout=120)
    assert process.returncode == 143
    assert b"the same command" in told
    assert not list(tmp_path.glob("graphfnp-*"))


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    process = subprocess.Popen(
        [*WORDS, "-o", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b"CCO\n" * 3000)
    process.stdin.close()
    assert b'"row"' in process.stdout.readline()
    process.stdout.close()
    assert process.wait(300) == 0
    assert process.stderr is not None
    assert b"Broken" not in process.stderr.read()


def test_a_pipe_in_place_of_a_file_is_told_to_be_piped_in(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "rows")
    with pytest.raises(MissingData, match="which is a pipe") as refused:
        read_text_table(tmp_path / "rows")
    assert "graphfnp predict RUN -" in refused.value.to_do


def test_lines_in_a_log_are_whole_however_long_their_paths() -> None:
    done = piped(b"CCO\n" + b"C1" + b"C" * 70 + b"\n", "-o", "-")
    assert f"  row 1: 'C1{'C' * 70}': SMILES Parse Error: unclosed ring\n".encode() in done.stderr
