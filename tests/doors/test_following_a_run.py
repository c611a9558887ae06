"""A run as one follows it from outside: log files, growing files, its split and why, and commands to rerun."""

import json
import shlex
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from run_command import said

from graphfnp.runs.run import Plan, Run, execute
from graphfnp.training.config import TrainingConfig

TINY = ["--method", "vanilla", "--epochs", "3", "--no-report", "--set", "backbone.width=16"]
RINGS = [
    "c1ccccc1",
    "C1CCCCC1",
    "c1ccncc1",
    "C1CCNCC1",
    "c1ccoc1",
    "c1ccsc1",
    "C1CCOC1",
    "c1ccc2ccccc2c1",
    "C1CC1",
    "C1CCC1",
]


@pytest.fixture
def rings(tmp_path: Path) -> Path:
    """200 molecules of ten scaffolds, with both classes of each."""
    rows = [("C" * n + ring, "even" if n % 2 else "odd") for ring in RINGS for n in range(1, 21)]
    folder = tmp_path / "my data"
    folder.mkdir()
    pd.DataFrame(rows, columns=["smiles", "label"]).to_csv(folder / "in.csv", index=False)
    return folder / "in.csv"


def test_every_epoch_is_a_line_in_a_log_file(rings: Path, capsys) -> None:
    _, told = said(capsys, "train", rings, "-o", rings.parent / "run", *TINY)
    assert all(f"epoch {n} of 3: validation NLL" in told for n in (1, 2, 3))


def test_scored_rows_are_counted_in_a_log_file(rings: Path, capsys, monkeypatch) -> None:
    monkeypatch.setattr("graphfnp.cli.progress.LOG_SECONDS", 0.0)
    _, told = said(capsys, "predict", "bbbp", rings, "-o", rings.parent / "out.csv", "--smiles", "smiles")
    assert "200 of 200 rows: " in told
    assert "rows/s" in told


def test_a_mask_explainer_counts_its_graphs_in_a_log_file(capsys, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setattr("graphfnp.cli.progress.LOG_SECONDS", 0.0)
    _, told = said(capsys, "explain", "bbbp", "CCO", "--explainer", "gnn-explainer", "--out", tmp_path / "masks")
    assert "gnn-explainer: 1 of 1 graph" in told


def test_file_of_epochs_grows_while_it_trains(rings: Path) -> None:
    folder, seen = rings.parent / "run", []

    def watch(event) -> None:
        if event.record is not None:
            seen.append(len((folder / "epochs.jsonl").read_text().splitlines()))

    plan = Plan(str(rings), "vanilla", overrides={"backbone.width": 16}, training=TrainingConfig(epochs=3))
    run = execute(plan, folder, watch=watch)
    assert seen == [1, 2, 3]
    assert [record["epoch"] for record in run.history] == [0, 1, 2]


def test_own_molecules_are_split_by_scaffold_and_the_run_says_why(rings: Path, capsys) -> None:
    _, told = said(capsys, "train", rings, "-o", rings.parent / "run", *TINY)
    assert Run(rings.parent / "run").dataset().split.how.startswith("scaffold")
    assert "split by scaffold, since new molecules have new scaffolds" in told


def test_molecules_without_scaffolds_are_split_at_random_and_the_run_says_why(tmp_path: Path, capsys) -> None:
    chains = ["C" * n + tail for n in range(1, 61) for tail in ("O", "N")]
    pd.DataFrame({"smiles": chains, "label": [one[-1] for one in chains]}).to_csv(tmp_path / "in.csv", index=False)
    _, told = said(capsys, "train", tmp_path / "in.csv", "-o", tmp_path / "run", *TINY)
    assert "split at random: there are too few molecules" in told


def test_command_to_rerun_is_quoted_so_that_it_runs(rings: Path, capsys) -> None:
    said(capsys, "train", rings, "-o", rings.parent / "run", *TINY)
    words = shlex.split(Run(rings.parent / "run").record["command"])
    assert words[:3] == ["graphfnp", "train", str(rings)]
    said(capsys, *words[1:], "-o", rings.parent / "again", "--no-report")


def test_workbook_is_told_from_text(tmp_path: Path, capsys) -> None:
    for name in ("in.xlsx", "in.csv"):
        (tmp_path / name).write_bytes(b"PK\x03\x04" + bytes(200))
        _, told = said(capsys, "train", tmp_path / name, *TINY, code=2)
        assert "workbook" in told
        assert "CSV" in told
    _, told = said(capsys, "predict", "bbbp", tmp_path / "in.csv", "-o", tmp_path / "out.csv", code=2)
    assert "workbook" in told


def test_report_after_rationales_does_not_decode_again(tiny_run: Run, tmp_path: Path, monkeypatch) -> None:
    import graphfnp.runs.decoded as decoded
    from graphfnp.report.assemble import report_of_run

    folder = tmp_path / "run"
    folder.mkdir()
    for path in tiny_run.folder.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    kept = decoded.decoded_of_run(Run(folder))
    monkeypatch.setattr(decoded, "decode", lambda *_, **__: pytest.fail("decoded again"))
    report = report_of_run(Run(folder))
    assert report.rationales is not None
    assert len(report.rationales) == len(kept.rationales)


def test_class_that_too_few_held_out_graphs_can_rule_out_is_named(rings: Path, capsys) -> None:
    said(capsys, "train", rings, "-o", rings.parent / "run", *TINY, "--set", "training.conformal_share=0.5")
    shown, _ = said(capsys, "predict", rings.parent / "run", "CCO")
    told = "every 90 % set contains classes with fewer than 9 held-out graphs: 'even' has 5, 'odd' has 5"
    assert told in " ".join(shown.split())


def test_small_file_is_trained_for_enough_epochs_to_learn_and_the_run_says_so(tmp_path: Path, capsys) -> None:
    chains = ["C" * n + tail for n in range(1, 31) for tail in ("O", "C#N")]
    pd.DataFrame({"smiles": chains, "label": [one[-1] for one in chains]}).to_csv(tmp_path / "in.csv", index=False)
    words = ["--split", "random", "--no-report", "--set", "backbone.width=16", "--set", "generation_weight=0"]
    words += ["--set", "training.batch_size=8"]
    _, told = said(capsys, "train", tmp_path / "in.csv", "-o", tmp_path / "run", *words)
    assert "100 epochs, more than the usual 30, for only 48 training graphs; --epochs sets the number" in told
    run = Run(tmp_path / "run")
    assert run.plan.training.epochs == 100
    assert "training.epochs=100" in run.plan.command
    assert json.loads((tmp_path / "run/metrics.json").read_text())["accuracy"] == 1
    usual = replace(run.plan, training=replace(run.plan.training, epochs=TrainingConfig.epochs))
    said(capsys, *shlex.split(usual.command)[1:], "-o", tmp_path / "usual", "--no-report")
    assert Run(tmp_path / "usual").plan.training.epochs == 30, "chosen, as it was: it is in the command"
