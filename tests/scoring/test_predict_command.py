"""``graphfnp predict`` from file to file: what it says, and with which code it ends."""

from pathlib import Path

import pandas as pd
import pytest
from molecule_rows import BROKEN

from graphfnp.cli.app import main
from graphfnp.cli.console import err, out
from graphfnp.runs.run import Run


@pytest.fixture
def graphfnp(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    for console in (out, err):
        monkeypatch.setattr(console, "width", 300)

    def run(*words: object) -> tuple[int, str]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as caught:
            main([str(word) for word in words])
        return int(caught.value.code or 0), capsys.readouterr().err

    return run


def test_a_file_with_broken_rows_goes_through_and_says_so(graphfnp, molecule_run: Run, broken_file: Path) -> None:
    target = broken_file.with_name("out.csv")
    code, told = graphfnp("predict", molecule_run.folder, broken_file, "-o", target)
    assert code == 0
    assert f"{len(BROKEN)} of 1000 rows could not be read" in told
    assert "row 400" in told
    assert "more than the limit of 1000" in told
    assert len(told) < 5000  # a polymer is not printed in full
    whole = target.read_bytes()
    code, told = graphfnp("predict", molecule_run.folder, broken_file, "-o", target, "--strict", "--workers", 0)
    assert code == 1
    assert target.read_bytes() == whole


def test_options_reach_the_records(graphfnp, molecule_run: Run, broken_file: Path) -> None:
    target = broken_file.with_name("out.parquet")
    words = ["--max-atoms", 3000, "--level", 0.5, "--prior", "0.3", "--workers", 0]
    assert graphfnp("predict", molecule_run.folder, broken_file, "-o", target, *words)[0] == 0
    found = pd.read_parquet(target).set_index("row")
    assert found["status"][400] == "ok"
    assert set(found["conformal_level"].dropna()) == {0.5}


def test_a_file_without_one_molecule_ends_with_code_1(graphfnp, molecule_run: Run, tmp_path: Path) -> None:
    (tmp_path / "in.smi").write_text("nonsense\nmore of it\n")
    code, told = graphfnp("predict", molecule_run.folder, tmp_path / "in.smi", "-o", tmp_path / "out.csv")
    assert code == 1
    assert "2 of 2 rows" in told
    assert len(pd.read_csv(tmp_path / "out.csv")) == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--engine", "spark"], "local or ray"),
        (["--address", "here"], "add --engine ray"),
        (["--level", "1.5"], "between 0 and 1"),
        (["--smiles", "structure"], "check the name"),
    ],
)
def test_a_mistake_ends_with_code_2(words, said, graphfnp, molecule_run: Run, broken_file: Path) -> None:
    code, told = graphfnp("predict", molecule_run.folder, broken_file, "-o", broken_file.with_name("o.csv"), *words)
    assert code == 2
    assert said in told
    assert not broken_file.with_name("o.csv.parts").exists()


def test_what_needs_more_memory_than_there_is_ends_with_code_2(graphfnp, molecule_run: Run) -> None:
    code, told = graphfnp("predict", molecule_run.folder, "CCO", "--draws", 10**12)
    assert code == 2
    assert "more memory than there is" in told


def test_an_engine_for_one_molecule_is_refused(graphfnp, molecule_run: Run) -> None:
    code, told = graphfnp("predict", molecule_run.folder, "CCO", "--engine", "ray")
    assert code == 2
    assert "leave the engine out" in told


def test_the_limit_of_atoms_holds_without_a_file_too(graphfnp, molecule_run: Run, tmp_path: Path) -> None:
    code, told = graphfnp("predict", molecule_run.folder, "C" * 30, "--max-atoms", 20)
    assert code == 1
    assert "30 atoms, more than the limit of 20" in told
    (tmp_path / "in.smi").write_text(f"CCO\n{'C' * 30}\nCCN\n")
    words = ["-o", tmp_path / "out.json", "--max-atoms", 20]
    assert graphfnp("predict", molecule_run.folder, tmp_path / "in.smi", *words)[0] == 0
    found = pd.read_json(tmp_path / "out.json").set_index("row")
    assert found["status"].tolist() == ["ok", "failed", "ok"]
    assert found["reason"][1] == "a molecule of 30 atoms, more than the limit of 20"
