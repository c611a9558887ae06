"""``graphfnp predict RUN - -o -``: what comes through a pipe scores like a file, and the output holds nothing else."""

import csv
import gzip
import io
import subprocess
import sys

import pytest
from rdkit import Chem

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


def test_an_empty_pipe_is_told_what_to_do() -> None:
    done = piped(b"\n", "-o", "-")
    assert done.returncode == 2
    assert b"nothing on standard input" in done.stderr
    assert done.stdout == b""


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
