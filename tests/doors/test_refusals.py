"""What cannot be done is refused before it costs time, and leaves everything as it was."""

import json
import os
import re
from pathlib import Path

import pytest
from run_command import said

from graphfnp import load_model
from graphfnp.cli.app import main

QUICK = ["--method", "vanilla", "--epochs", "2", "--no-report", "--split", "random", "--set", "backbone.width=16"]
ROWS = [f"{'C' * n}{tail},{int(tail[-1] == 'N')}" for n in range(1, 13) for tail in ("O", "N", "CO", "CN")]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    (tmp_path / "in.csv").write_text("\n".join(["smiles,label", *ROWS, ""]))
    return tmp_path / "in.csv"


@pytest.fixture
def run(table: Path, capsys) -> Path:
    said(capsys, "train", table, "-o", table.parent / "run", *QUICK)
    return table.parent / "run"


@pytest.mark.parametrize(
    ("content", "words", "why"),
    [
        ("smiles,label\nC,1\nCC,1\nCCC,1\n", [], "these classes: 1"),
        ("smiles,label\nC,1\nCC,0\n", [], "2 training graphs, and none for validation"),
        (None, ["--from", "mutagenicity"], "with backbone.width=16"),
        (None, ["--from", "mutagenicity", "--backbone", "gat"], "with backbone.name=gat"),
        (None, ["--from", "mutagenicity", "--set", "backbone.width=128"], "whose backbone does not fit"),
        (None, ["--freeze", "1"], "--freeze 1 alone"),
    ],
)
def test_a_refused_training_leaves_no_run_and_destroys_none(content, words, why, run: Path, capsys) -> None:
    table, before = run.parent / "in.csv", (run / "metrics.json").read_text()
    if content is not None:
        table.write_text(content)
    for folder in (run, run.parent / "new"):
        _, told = said(capsys, "train", table, "-o", folder, *QUICK, "--overwrite", *words, code=2)
        assert why in told
    assert (run / "metrics.json").read_text() == before
    assert not (run.parent / "new").exists()


def test_a_file_that_has_changed_is_not_measured_by_the_old_split(run: Path, capsys) -> None:
    table, before = run.parent / "in.csv", (run / "metrics.json").read_text()
    table.write_text(table.read_text().replace("\n", "\r\n"))  # other bytes, the same graphs
    said(capsys, "evaluate", run)
    table.write_text("\n".join(["smiles,label", *reversed(ROWS), ""]))
    _, told = said(capsys, "evaluate", run, code=2)
    assert "has changed since" in told
    assert (run / "metrics.json").read_text() == before
    (run.parent / "other.csv").write_text("smiles,label\nCCF,0\nNCCF,1\n")  # may be measured all the same
    said(capsys, "evaluate", run, run.parent / "other.csv", "--json")


def test_an_interrupted_training_does_not_go_on_with_another_file(run: Path, capsys) -> None:
    words = ["train", run.parent / "in.csv", "-o", run, *QUICK, "--resume"]
    (run / "metrics.json").unlink()  # as if it had been stopped before the end
    said(capsys, *words)
    (run / "metrics.json").unlink()
    (run.parent / "in.csv").write_text("\n".join(["smiles,label", *reversed(ROWS), ""]))
    _, told = said(capsys, *words, code=2)
    assert "has changed since" in told
    assert not (run / "metrics.json").exists()


def test_a_folder_that_holds_a_run_is_refused_before_the_data_are_read(run: Path, capsys) -> None:
    (run.parent / "in.csv").write_text("no table")
    _, told = said(capsys, "train", run.parent / "in.csv", "-o", run, *QUICK, code=2)
    assert "already holds a run" in told


@pytest.mark.parametrize("name", ["report.html", "metrics.json", "model.safetensors"])
def test_a_folder_with_files_that_a_run_would_write_over_is_refused(
    name: str, table: Path, tmp_path: Path, capsys
) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / name).write_text("mine")
    _, told = said(capsys, "train", table, "-o", folder, *QUICK, code=2)
    assert f"which already holds {name}" in told.replace("│ ", "")
    assert [one.read_text() for one in folder.iterdir()] == ["mine"]


@pytest.mark.parametrize("content", ["[]", "{}", '{"label_shift": {"estimated": {"part": "test"}}}', "none"])
def test_measures_that_somebody_edited_are_told_with_how_to_mend_them(
    content: str, run: Path, table: Path, capsys
) -> None:
    (run / "metrics.json").write_text(content)
    _, told = said(capsys, "train", table, "-o", run, *QUICK, "--resume", code=2)
    assert "metrics.json" in told.replace("│ ", "")


def test_another_plan_is_answered_with_the_command_that_goes_on(run: Path, capsys) -> None:
    _, told = said(capsys, "train", run.parent / "in.csv", "-o", run, *QUICK, "--seed", "1", "--resume", code=2)
    assert f"--out{run}--resume" in re.sub(r"[│ ]", "", told)


def test_every_endpoint_is_checked_before_the_first_is_trained(tmp_path: Path, capsys) -> None:
    rows = [f"{row},1" for row in ROWS]
    (tmp_path / "in.csv").write_text("\n".join(["smiles,a,b", *rows, ""]))
    for labels, why in (("a,c", "--label c: label column 'c'"), ("a,b", "--label b: training graphs by class: 1 38")):
        _, told = said(capsys, "train", tmp_path / "in.csv", "-o", tmp_path / "run", "--label", labels, *QUICK, code=2)
        assert why in told
        assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("words", [["--classes", "a,b"], ["--smiles", "s"], ["--label", "y"], ["--map-labels", "0=a"]])
def test_columns_of_a_dataset_by_name_are_not_silently_ignored(words: list[str], tmp_path: Path, capsys) -> None:
    _, told = said(capsys, "train", "ba2motifs", "-o", tmp_path / "run", *QUICK, *words, code=2)
    assert f"{words[0]} for ba2motifs" in told


@pytest.mark.parametrize(
    "words",
    [
        ["train", "ba2motifs", "--limit", "-3"],
        ["train", "ba2motifs", "--devices", "0"],
        ["train", "ba2motifs", "--precision", "8-bit"],
        ["predict", "bbbp", "CCO", "--draws", "0"],
        ["predict", "bbbp", "CCO", "--workers", "-1"],
        ["predict", "bbbp", "CCO", "--max-atoms", "0"],
        ["predict", "bbbp", "CCO", "--find", "permeable"],
    ],
    ids=" ".join,
)
def test_numbers_out_of_range_are_refused_by_name(words: list[str], capsys) -> None:
    _, told = said(capsys, *words, code=2)
    assert words[-2] in told


@pytest.mark.parametrize(
    "words",
    [
        ["evaluate", "bbbp", "--label", "active"],
        ["evaluate", "bbbp", "--smiles", "structure"],
        ["evaluate", "bbbp", "any.csv", "--part", "train"],
        ["calibrate", "bbbp", "--out", "mine", "--precision", "0.9", "--kind", "isotonic"],
        ["calibrate", "bbbp", "--out", "mine", "--precision", "0.9", "--conformal-share", "0.2"],
        ["calibrate", "bbbp", "--out", "mine", "--precision", "0.9", "--map-labels", "0=a"],
        ["calibrate", "bbbp", "any.csv", "--out", "mine", "--positive", "permeable"],
    ],
    ids=" ".join,
)
def test_an_option_that_would_do_nothing_is_refused(words: list[str], capsys, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    _, told = said(capsys, *words, code=2)
    assert f"{words[-2]} {words[-1]} " in told
    assert not any(tmp_path.iterdir())


def test_a_mistyped_file_is_answered_with_the_one_meant(table: Path, capsys) -> None:
    _, told = said(capsys, "train", table.with_name("inn.csv"), code=2)
    assert f"didyoumean{table}?" in re.sub(r"[│ ]", "", told)  # whole, however long it is


def test_an_empty_smiles_is_a_row_with_its_reason(capsys) -> None:
    printed, _ = said(capsys, "predict", "bbbp", "CCO", "", "--json")
    assert [one["reason"] for one in json.loads(printed)] == ["", "no SMILES given"]


def test_what_users_are_warned_of_comes_without_a_line_of_code(table: Path, capsys) -> None:
    _, told = said(capsys, "predict", "ba2motifs", table)
    assert "note: the model sees node degrees only" in told
    assert "UserWarning" not in told


def test_graphs_without_a_name_are_not_measured_where_they_were_trained_on(tmp_path: Path, capsys) -> None:
    said(capsys, "train", "ba2motifs", "-o", tmp_path / "run", *QUICK, "--limit", "20")
    _, told = said(capsys, "evaluate", tmp_path / "run", "ba2motifs", code=2)
    assert "its training part is among them" in " ".join(told.replace("│", " ").split())
    said(capsys, "evaluate", tmp_path / "run", "ba2motifs_plain")
    _, told = said(capsys, "predict", tmp_path / "run", "CCO", code=2)
    assert "reads no SMILES" in told


@pytest.mark.parametrize("step", [1, 2, 3])
def test_a_run_whose_calibration_in_place_was_killed_is_still_a_run(step, run: Path, monkeypatch, capsys) -> None:
    mine, steps, replace = run.parent / "mine.csv", list[str](), os.replace
    mine.write_text("\n".join(["smiles,label", *(row.replace("C", "CS", 1) for row in ROWS), ""]))
    before = load_model(run)

    def killed(one: str, other: str) -> None:
        steps.append(Path(other).name)
        if len(steps) == step:
            raise KeyboardInterrupt
        replace(one, other)

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", killed)
        with pytest.raises(SystemExit):
            main(["calibrate", str(run), str(mine)])
    assert len(steps) == step
    after = load_model(run)
    assert (after.conformal.facts() == before.conformal.facts()) == (step < 3)
    said(capsys, "export", run, run.parent / "model.zip")
    assert load_model(run.parent / "model.zip").conformal.facts() == after.conformal.facts()
    said(capsys, "calibrate", run, mine)
    assert not list(run.glob("*.next*"))


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["calibration", "--engine", "ray"], "--engine without --fill"),
        (["calibration", "--address", "head:6379"], "--address without --fill"),
        (["calibration", "--workers", "2"], "--workers without --fill"),
        (["calibration", "--budget", "5"], "--budget without --fill"),
        (["calibration", "--keep", "cells"], "--keep without --fill"),
        (["calibration", "--fill", "--address", "head:6379"], "an address with --engine ray"),
        (["calibration", "--write", "page.md"], "--write beside table calibration"),
        (["--dataset", "bbbp", "--write", "page.md"], "--write beside --dataset"),
        (["--write", "page.md", "--json"], "--write beside --json"),
    ],
)
def test_no_option_of_a_table_is_passed_over_in_silence(words, why, tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    _, told = said(capsys, "table", *words, code=2)
    assert why in told
    assert not list(tmp_path.iterdir())
