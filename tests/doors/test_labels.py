"""Labels at the door: what looks wrong is said before training, and can be mended there."""

import json
from pathlib import Path

import pandas as pd
import pytest
from run_command import said

from graphfnp.cli.app import main
from graphfnp.cli.console import _label_shift_row, conformal_row, err
from graphfnp.runs.run import Run

TINY = [
    "--method", "vanilla", "--epochs", "2", "--no-report", "--split", "random", "--set", "backbone.width=16",
]  # fmt: skip
MOLECULES = ["C" * n + tail for n in range(1, 13) for tail in ("O", "N", "CO", "CN")]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Two classes, of which one is written in two ways, and rows without a result."""
    labels = ["active" if smiles[-1] == "N" else "inactive" for smiles in MOLECULES]
    labels[1], labels[5], labels[0], labels[2] = "Active", "ACTIVE", "n.d.", "n.d."
    pd.DataFrame({"smiles": MOLECULES, "label": labels}).to_csv(tmp_path / "in.csv", index=False)
    return tmp_path / "in.csv"


def test_case_variants_tiny_classes_and_missing_results_are_said_before_training(table: Path, capsys) -> None:
    _, told = said(capsys, "train", table, "-o", table.parent / "run", *TINY)
    assert "differ only in how they are written: 'active' 22, 'Active' 1, 'ACTIVE' 1" in told
    assert "--map-labels Active=active,ACTIVE=active" in told
    assert "'n.d.' (2 rows) is taken for a class; leave it out with --map-labels n.d.=" in told
    assert told.index("written") < told.index("epoch 1 of 2")


def test_labels_are_mapped_left_out_and_put_in_order(table: Path, capsys) -> None:
    words = ["--map-labels", "Active=active,ACTIVE=active,n.d.=", "--classes", "inactive,active"]
    _, told = said(capsys, "train", table, "-o", table.parent / "run", *TINY, *words)
    run = Run(table.parent / "run")
    assert run.model.classifier.schema.class_names == ("inactive", "active")
    assert run.dataset().graphs.class_counts.tolist() == [22, 24]
    assert "classes in their order: inactive 22, active 24" in told
    assert "differ only" not in told
    assert "--map-labels Active=active,ACTIVE=active,n.d.=" in run.record["command"]


def test_classes_alone_leave_other_labels_out(table: Path, capsys) -> None:
    said(capsys, "train", table, "-o", table.parent / "run", *TINY, "--classes", "inactive,active")
    assert Run(table.parent / "run").dataset().graphs.class_counts.tolist() == [22, 22]


@pytest.mark.parametrize(
    "words", [["--classes", "inactive,potent"], ["--map-labels", "Aktive=active"], ["--map-labels", "Active"]]
)
def test_labels_that_are_not_there_are_refused_with_those_that_are(words: list[str], table: Path, capsys) -> None:
    _, told = said(capsys, "train", table, "-o", table.parent / "run", *TINY, *words, code=2)
    assert words[0] in told


# ---------------------------------------------------------------- graphs that were trained on


@pytest.fixture
def run(tmp_path: Path) -> Path:
    frame = pd.DataFrame({"smiles": MOLECULES, "label": ["amine" if one[-1] == "N" else "other" for one in MOLECULES]})
    frame.to_csv(tmp_path / "train.csv", index=False)
    with pytest.raises(SystemExit):
        main(["train", str(tmp_path / "train.csv"), "-o", str(tmp_path / "run"), *TINY])
    return tmp_path / "run"


def foreign(folder: Path) -> Path:
    """Twelve molecules of the training part, written backwards, and sixteen new ones."""
    seen = [one[::-1] for one in Run(folder / "run").dataset().train.text[:12]]
    new = [f"{tail}C{'C' * n}F" for n in range(8) for tail in ("O", "N")]
    kinds = ["amine" if "N" in one else "other" for one in seen + new]
    pd.DataFrame({"smiles": seen + new, "label": kinds}).to_csv(folder / "mine.csv", index=False)
    return folder / "mine.csv"


def test_calibration_leaves_out_what_the_model_was_trained_on_and_says_so(run: Path, capsys) -> None:
    printed, _ = said(capsys, "calibrate", run, foreign(run.parent), "-o", run.parent / "new", "--json")
    facts = json.loads(printed)
    assert facts["before"]["num_graphs"] == 16
    assert facts["left_out"] == "12 of 28 graphs were trained on"
    _, told = said(capsys, "calibrate", run, run.parent / "mine.csv", "-o", run.parent / "other")
    assert "12 of 28 graphs were trained on, and are left out of the calibration" in told
    _, told = said(capsys, "evaluate", run.parent / "other", run.parent / "mine.csv")
    assert "calibrated on a file called mine.csv: metrics on the same graphs are too optimistic" in told


def test_a_calibration_that_makes_it_worse_is_called_so(run: Path, capsys) -> None:
    printed, _ = said(capsys, "calibrate", run, foreign(run.parent), "-o", run.parent / "new", "--kind", "isotonic")
    assert "the NLL rose: by these graphs the calibration before was the better one" in " ".join(printed.split())


def test_evaluation_on_another_file_leaves_them_out_too(run: Path, capsys) -> None:
    before = (run / "metrics.json").read_text()
    printed, _ = said(capsys, "evaluate", run, foreign(run.parent), "--json")
    assert json.loads(printed)["num_graphs"] == 16
    assert (run / "metrics.json").read_text() == before
    _, told = said(capsys, "evaluate", run, run.parent / "mine.csv")
    assert "flatter" not in told
    assert "12 of 28 graphs were trained on" in told


def test_a_file_that_calls_all_its_rows_test_rows_is_judged_and_predicted(run: Path, capsys) -> None:
    pd.read_csv(foreign(run.parent)).assign(split="test").to_csv(run.parent / "test.csv", index=False)
    printed, _ = said(capsys, "evaluate", run, run.parent / "test.csv", "--json")
    assert json.loads(printed)["num_graphs"] == 16
    assert len(json.loads(said(capsys, "predict", run, run.parent / "test.csv", "--json")[0])) == 28


def test_the_label_mix_of_another_file_is_told_beside_the_one_assumed(run: Path, capsys) -> None:
    frame = pd.read_csv(foreign(run.parent)).query("label == 'other' or smiles == 'NCF'")
    frame.to_csv(run.parent / "mostly.csv", index=False)
    table = " ".join(said(capsys, "evaluate", run, run.parent / "mostly.csv")[0].split())
    assert "these graphs have amine 11.1 %, other 88.9 %" in table


def test_file_of_training_graphs_alone_is_refused(run: Path, capsys) -> None:
    seen = Run(run).dataset().train
    kinds = [("amine", "other")[y] for y in seen.y.tolist()]
    pd.DataFrame({"smiles": seen.text, "label": kinds}).to_csv(run.parent / "seen.csv", index=False)
    _, told = said(capsys, "calibrate", run, run.parent / "seen.csv", "-o", run.parent / "new", code=2)
    assert "all among those the model was trained on" in " ".join(told.replace("│", " ").split())


def test_labels_of_another_file_are_mapped_to_the_models_classes(run: Path, capsys) -> None:
    frame = pd.read_csv(foreign(run.parent)).replace({"amine": "NH2", "other": "none of it"})
    frame.to_csv(run.parent / "named.csv", index=False)
    words = ["--map-labels", "NH2=amine,none of it=other", "-o", run.parent / "new", "--json"]
    assert json.loads(said(capsys, "calibrate", run, run.parent / "named.csv", *words)[0])["before"]["num_graphs"] == 16


def test_error_names_the_option_as_it_is_typed(tmp_path: Path, capsys) -> None:
    (tmp_path / "in.csv").write_text("smiles;BBB result\nCCO;yes\nCCN;no\n")
    _, told = said(capsys, "train", tmp_path / "in.csv", code=2)
    assert "name the column: --label COLUMN" in told
    (tmp_path / "none.csv").write_text("a;b\nx y;yes\nz;no\n")
    _, told = said(capsys, "predict", "bbbp", tmp_path / "none.csv", code=2)
    assert "name the column: --smiles COLUMN" in told


def test_salts_are_said_to_be_taken_as_written_and_every_note_has_a_line(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(err, "width", 400)
    rows = "".join(f"{'C' * n}N{'.Cl' * (n % 2)};{'Active' if n % 3 else 'active'}\n" for n in range(1, 41))
    (tmp_path / "in.csv").write_text(f"smiles;label\n{rows}CCO;inactive\n")
    with pytest.raises(SystemExit):
        main(["train", str(tmp_path / "in.csv"), "-o", str(tmp_path / "run"), *TINY])
    notes = [line for line in capsys.readouterr().err.splitlines() if line.startswith("note: ")]
    salts = "note: 20 rows hold several molecules, such as salts: each is one graph as written"
    assert f"{salts}; --standardise keeps the largest fragment" in notes
    assert any(note.startswith("note: these labels differ only") for note in notes)


# ---------------------------------------------------------------- what is said of a file


def test_each_fact_of_a_file_with_bad_rows_is_said_once(tmp_path: Path, capsys) -> None:
    rows = "".join(f"{smiles},{'no' if smiles[-1] == 'O' else 'yes'}\n" for smiles in MOLECULES)
    (tmp_path / "in.csv").write_text(f"smiles,label\nC(,no\n{rows}{'C' * 500}(,yes\n")
    _, told = said(capsys, "train", tmp_path / "in.csv", "-o", tmp_path / "run", *TINY)
    assert "in.csv: 48 graphs from 50 rows; split random 80/10/10" in told
    for fact in ("48 graphs", "no 24", "2 rows could not be read", "row 0: 'C(': SMILES Parse Error"):
        assert told.count(fact) == 1
    assert told.count("C" * 70) == 1  # of five hundred


def test_without_a_test_part_the_measures_are_said_to_be_of_validation(tmp_path: Path, capsys) -> None:
    parts = ["train", "train", "valid"] * 16
    labels = ["amine" if one[-1] == "N" else "other" for one in MOLECULES]
    pd.DataFrame({"smiles": MOLECULES, "label": labels, "split": parts}).to_csv(tmp_path / "in.csv", index=False)
    words = [one for one in TINY if one not in ("--split", "random")]
    printed, _ = said(capsys, "train", tmp_path / "in.csv", "-o", tmp_path / "run", *words)
    assert "in.csv, validation part" in printed
    _, told = said(capsys, "evaluate", tmp_path / "run", code=2)
    assert "write --part validation" in told


def test_a_file_without_one_readable_row_is_refused_with_the_reason(tmp_path: Path, capsys) -> None:
    (tmp_path / "in.csv").write_text("smiles;label;dose\nCCO;0;0,5\nCCN;1;1,5\n")
    _, told = said(capsys, "train", tmp_path / "in.csv", "-o", tmp_path / "run", "--features", "dose", *TINY, code=2)
    assert "'0,5' as 'dose', which is not a number: write decimals with a point" in told.replace(" │ │ ", " ")
    assert not (tmp_path / "run").exists()


def test_rows_left_out_of_a_measure_are_named(run: Path, capsys) -> None:
    table = foreign(run.parent)
    table.write_text(f"{table.read_text()}C(,amine\nFCCS,\n")
    for words in (["evaluate", run, table], ["calibrate", run, table, "-o", run.parent / "mine", "--json"]):
        _, told = said(capsys, *words)
        assert "note: 1 row has no label in the column 'label'" in told
        assert "note: 1 row that could not be read: 28 ('C(' in row 28: SMILES Parse Error" in told


def test_the_table_of_measures_stays_short_with_many_classes():
    facts = {
        "classes": [f"c{k}" for k in range(40)],
        "shares": {"train": [0.025] * 40, "test": [0.025] * 40},
        "distance": {"train to test": 0.1},
        "estimated": {"part": "test", "em": [0.025] * 40, "bbse": None},
    }
    assert _label_shift_row(facts)[2] == "share of labels that differ: train to test 10.0%"
    coverage = [0.5, None, *[1.0] * 38]
    sets = {"level": 0.9, "coverage": 0.9, "coverage_per_class": coverage, "mean_size": 2.0, "singletons": 0.5}
    assert conformal_row(sets)[2].startswith("by class from 50.0% to 100.0%; 2.000 classes per set")
