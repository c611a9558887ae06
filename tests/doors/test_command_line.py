"""The command line by its arguments: what it writes, what it prints, and how it refuses."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pytest

from graphfnp.cli.app import main
from graphfnp.cli.console import err, out
from graphfnp.prediction.scalings import Temperature
from graphfnp.runs.checkpoint import METRICS
from graphfnp.runs.run import CONFIG, EPOCHS, SPLIT, Run

TINY = [
    "--epochs", "2", "--limit", "40", "--no-report", "--set", "backbone.width=16", "--set", "decoder.width=16",
    "--set", "rationales_per_class=2", "--set", "training.finishing_epochs=1",
]  # fmt: skip
COMMANDS = ("demo", "train", "evaluate", "predict", "calibrate", "rationales", "explain", "report", "data")
SCORES = {
    "accuracy", "auroc", "ece", "ece_interval", "ece_floor", "nll", "brier", "rationale_f1", "rationale_f1_macro",
    "num_graphs",
}  # fmt: skip
ALCOHOLS = ["CO", "CCO", "CCCO", "CC(C)O", "OCCO", "CCC(C)O", "CCCCO", "OC1CCCC1", "OC1CCCCC1", "OCC=C"]
AMINES = ["CN", "CCN", "CCCN", "CC(C)N", "NCCN", "CCC(C)N", "CCCCN", "NC1CCCC1", "NC1CCCCC1", "c1cc[nH]c1"]


class Result(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def graphfnp(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    """Run the command line in this process."""
    for console in (out, err):  # made once for all tests of a process, as wide as the terminal was then
        monkeypatch.setattr(console, "width", 200)

    def run(*arguments: object) -> Result:
        capsys.readouterr()
        with pytest.raises(SystemExit) as caught:
            main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Result(int(caught.value.code or 0), captured.out, captured.err)

    return run


@pytest.fixture(scope="module")
def molecules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on a small CSV of alcohols and amines that lies beside it."""
    folder = tmp_path_factory.mktemp("molecules")
    table = pd.DataFrame({"smiles": ALCOHOLS + AMINES, "kind": ["alcohol"] * 10 + ["amine"] * 10})
    pd.concat([table] * 2).to_csv(folder / "small.csv", index=False)
    with pytest.raises(SystemExit) as caught:
        main(["train", str(folder / "small.csv"), "--label", "kind", "--out", str(folder / "run"), *TINY])
    assert not caught.value.code
    return folder


# ---------------------------------------------------------------- help


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command: str, graphfnp) -> None:
    result = graphfnp(command, "--help")
    assert result.code == 0
    assert "Usage" in result.out
    assert len(result.out.splitlines()) > 5
    assert not re.search(r" \.(\s|$)", result.out)  # square brackets are taken for markup, and what is in them is lost


def test_help_of_all_names_the_commands(graphfnp) -> None:
    result = graphfnp("--help")
    assert result.code == 0
    assert all(command in result.out for command in COMMANDS)


# ---------------------------------------------------------------- train, evaluate


def test_training_writes_the_run_folder_and_evaluation_reads_it(graphfnp, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    trained = graphfnp("train", "ba2motifs", "--out", folder, *TINY)
    assert trained.code == 0, trained.err
    assert "accuracy" in trained.out
    expected = {CONFIG, SPLIT, EPOCHS, METRICS, "domain.safetensors", "held_out.safetensors"}
    assert {path.name for path in folder.iterdir()} == expected | {"model.json", "model.safetensors"}
    written = json.loads((folder / METRICS).read_text())

    evaluated = graphfnp("evaluate", folder, "--json")
    assert evaluated.code == 0, evaluated.err
    metrics = json.loads(evaluated.out)
    assert metrics.keys() >= SCORES
    assert metrics["rationale_f1"].keys() == {"1", "3"}
    assert metrics["rationale_f1_macro"].keys() == {"1", "3"}
    assert metrics["num_graphs"] == 40
    low, high = metrics["ece_interval"]
    assert 0 <= low <= high <= 1
    assert metrics == written == json.loads((folder / METRICS).read_text())

    again = graphfnp("train", "ba2motifs", "--out", folder, *TINY)
    assert again.code == 2
    assert "--overwrite" in again.err
    resumed = graphfnp("train", "ba2motifs", "--out", folder, "--resume", "--json", *TINY)
    assert json.loads(resumed.out) == written
    changed = graphfnp("train", "ba2motifs", "--out", folder, "--resume", "--seed", 3, *TINY)
    assert changed.code == 2
    assert "started with another seed" in changed.err


def test_the_recorded_command_trains_the_same_model_again(graphfnp, tiny_run: Run, tmp_path: Path) -> None:
    program, *arguments = tiny_run.plan.command.split()
    assert program == "graphfnp"
    result = graphfnp(*arguments, "--out", tmp_path / "again", "--no-report")
    assert result.code == 0, result.err
    again = tmp_path / "again" / "model.safetensors"
    assert again.read_bytes() == (tiny_run.folder / "model.safetensors").read_bytes()


def test_evaluation_of_another_part_leaves_the_tests_metrics_alone(graphfnp, tiny_run: Run) -> None:
    before = (tiny_run.folder / METRICS).read_text()
    result = graphfnp("evaluate", tiny_run.folder, "--part", "validation")
    assert result.code == 0, result.err
    assert "Rationale F1, K=1" in result.out
    assert (tiny_run.folder / METRICS).read_text() == before


def test_a_method_without_rationales_is_evaluated_without_them(graphfnp, tmp_path: Path) -> None:
    arguments = ["--epochs", 1, "--limit", 40, "--no-report", "--set", "backbone.width=16"]
    result = graphfnp("train", "ba2motifs", "--method", "vanilla", "--json", "--out", tmp_path, *arguments)
    assert result.code == 0, result.err
    assert "rationale_f1" not in json.loads(result.out)
    refused = graphfnp("rationales", tmp_path)
    assert refused.code == 2
    assert "--method graphfnp" in refused.err


def test_an_interrupted_training_says_how_to_go_on(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    code = "from graphfnp.cli.app import main; main()"
    arguments = ["train", "ba2motifs", "--out", str(folder), *TINY, "--epochs", "500"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell that runs the tests in the background has told its children to ignore the signal.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    while not (folder / "training.safetensors").exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate()
    assert process.returncode == 130
    assert "--resume" in error


# ---------------------------------------------------------------- predict


def test_a_row_comes_out_for_every_row_that_goes_in(graphfnp, molecules: Path, tmp_path: Path) -> None:
    given = ["CCO", "this is no molecule", "CCN", "C1CC", "", "c1cc[nH]c1"]
    pd.DataFrame({"smiles": given, "name": list("abcdef")}).to_csv(tmp_path / "new.csv", index=False)
    target = tmp_path / "out.csv"
    result = graphfnp("predict", molecules / "run", tmp_path / "new.csv", "--out", target)
    assert result.code == 0, result.err
    found = pd.read_csv(target)
    assert found["row"].tolist() == list(range(6))
    assert found["status"].tolist() == ["ok", "failed", "ok", "failed", "failed", "ok"]
    assert found["reason"].notna().tolist() == [False, True, False, True, True, False]
    good = found[found["status"] == "ok"]
    assert set(good["class"]) <= {"alcohol", "amine"}
    assert (good["p(alcohol)"] + good["p(amine)"]).tolist() == pytest.approx([1.0] * 3, abs=1e-5)
    assert ((good["low"] <= good["probability"] + 1e-6) & (good["probability"] <= good["high"] + 1e-6)).all()
    assert found[found["status"] == "failed"]["probability"].isna().all()
    assert "3 of 6 rows could not be read" in result.err


def test_predictions_move_to_another_label_mix_and_their_sets_do_not(graphfnp, molecules: Path, tmp_path: Path) -> None:
    source = molecules / "small.csv"
    told = {}
    for prior in (None, "0.1", "0.8,0.2", "estimate"):
        result = graphfnp("predict", molecules / "run", source, "--json", *(["--prior", prior] if prior else []))
        assert result.code == 0, result.err
        told[prior] = json.loads(result.out)
    mean = {prior: sum(row["p(amine)"] for row in rows) / len(rows) for prior, rows in told.items()}
    assert mean["0.1"] < mean["0.8,0.2"] < mean[None]
    sets = [[row["conformal_set"] for row in rows] for rows in told.values()]
    assert sets.count(sets[0]) == len(sets)
    assert set(sets[0][0]) <= {"alcohol", "amine"}
    for wrong in ("1.2", "few", "0.2,0.3,0.5", "0.3,0.3"):
        refused = graphfnp("predict", molecules / "run", source, "--prior", wrong)
        assert refused.code == 2
        assert "estimate" in refused.err
        assert "--mix amine=0.2" in refused.err
    assert "20 graphs or more" in graphfnp("predict", molecules / "run", "CCO", "--prior", "estimate").err


def test_sets_are_weighted_for_the_rows_of_a_file(graphfnp, molecules: Path, tmp_path: Path) -> None:
    given = molecules / "run", molecules / "small.csv"
    shown = graphfnp("predict", *given, "--weighted", "-o", tmp_path / "out.parquet")
    assert shown.code == 0, shown.err
    assert "sets: weighted for these graphs: holds if classes depend on graphs as among the held-out ones" in shown.err
    plain = graphfnp("predict", *given, "-o", tmp_path / "plain.parquet")
    assert "sets:" not in plain.err
    weighted, usual = (pd.read_parquet(tmp_path / name) for name in ("out.parquet", "plain.parquet"))
    assert weighted["p(amine)"].equals(usual["p(amine)"])
    assert weighted["model"][0] != usual["model"][0]
    assert "20 or more" in graphfnp("predict", molecules / "run", "CCO", "--weighted").err
    assert "trained on" in graphfnp("evaluate", *given, "--weighted", "--label", "kind").err


def test_threshold_is_fitted_stored_and_decides_rows(graphfnp, molecules: Path, tmp_path: Path) -> None:
    refused = graphfnp("calibrate", molecules / "run")
    assert refused.code == 2
    assert "--precision 0.9" in refused.err
    assert graphfnp("calibrate", molecules / "run", "--cost-fp", 1, "--out", tmp_path / "half").code == 2
    assert "alcohol, amine" in graphfnp("calibrate", molecules / "run", "--precision", 0.5, "--positive", "acid").err
    new = tmp_path / "decided"
    shown = graphfnp("calibrate", molecules / "run", "--cost-fp", 1, "--cost-fn", 1000, "--out", new)
    assert shown.code == 0, shown.err
    assert "amine from p = " in shown.out
    assert (
        "a false positive costs 1, a false negative 1000, fitted on 4 held-out graphs, 50% of that class" in shown.out
    )
    predicted = graphfnp("predict", new, molecules / "small.csv", "-o", tmp_path / "out.parquet")
    assert "decision: amine from p = " in predicted.err
    rows, threshold = pd.read_parquet(tmp_path / "out.parquet"), Run(new).model.decision.threshold
    assert (rows["decision"] == "amine").equals(rows["p(amine)"] >= threshold)
    measured = json.loads(graphfnp("evaluate", new, "--json").out)["decision"]
    assert measured["threshold"] == threshold
    assert measured["said"] == measured["false_positives"] + round(measured["recall"] * 2)  # two amines of four
    assert "amine precision" in graphfnp("evaluate", new).out
    moved = graphfnp("predict", new, "CCO", "--mix", "amine=0.1", "--json")  # the threshold was for another mix
    assert json.loads(moved.out)[0]["decision"] is None
    mine = pd.DataFrame({"smiles": ["F" + "C" * n + end for n in range(2, 14) for end in "ON"], "kind": [0, 1] * 12})
    mine.to_csv(tmp_path / "mine.csv", index=False)
    both = graphfnp(
        "calibrate", new, tmp_path / "mine.csv", "--cost-fp", 5, "--cost-fn", 1, "--positive", "alcohol", "--json"
    )
    assert json.loads(both.out)["decision"]["positive"] == 0
    assert Run(new).model.decision.graphs == 24
    dropped = graphfnp("calibrate", new, tmp_path / "mine.csv")
    assert "the threshold was for the calibration before, and is dropped" in dropped.err
    assert Run(new).model.decision is None


def test_threshold_says_of_a_file_what_calibrate_told_of_it(graphfnp, tmp_path: Path) -> None:
    mine = pd.DataFrame({"smiles": [f"FC{'C' * n}{end}" for n in range(30) for end in ("C(=O)O", "CO", "CBr")]})
    label = [37 * row % 100 < 20 + 30 * (row % 3) for row in range(len(mine))]  # bromides oftener than acids
    mine["kind"] = ["permeable" if one else "non-permeable" for one in label]
    mine.to_csv(tmp_path / "mine.csv", index=False)
    arguments = [
        "calibrate",
        "bbbp",
        tmp_path / "mine.csv",
        "--label",
        "kind",
        "--kind",
        "isotonic",
        "--out",
        tmp_path / "new",
    ]
    told = json.loads(graphfnp(*arguments, "--cost-fp", 1, "--cost-fn", 1, "--json").out)["decision"]
    rows = json.loads(graphfnp("predict", tmp_path / "new", tmp_path / "mine.csv", "--json").out)
    said = [one for row, one in zip(rows, label, strict=True) if row["decision"] == "permeable"]
    assert told["said"] == len(said) > 0
    assert told["precision"] == pytest.approx(sum(said) / len(said))


def test_rows_to_test_are_picked_in_order_with_their_columns(graphfnp, molecules: Path, tmp_path: Path) -> None:
    table = pd.DataFrame({"smiles": ["CCO", "no molecule", "CCN", "c1ccccc1", "CCCO"], "name": list("abcde")})
    table.to_csv(tmp_path / "in.csv", index=False)
    arguments = ["predict", molecules / "run", tmp_path / "in.csv", "--pick", 2, "--find", "amine"]
    written = graphfnp(*arguments, "-o", tmp_path / "out.csv")
    assert written.code == 0, written.err
    assert "1 row could not be read, and could not be picked" in written.err
    rows = pd.read_csv(tmp_path / "out.csv")
    assert len(rows) == 2
    assert rows["name"].tolist() == [table["name"][row] for row in rows["row"]]
    records = json.loads(graphfnp(*arguments, "--json").out)
    assert [record["row"] for record in records] == rows["row"].tolist()
    assert [record["columns"]["name"] for record in records] == rows["name"].tolist()
    assert "5 of 4" in graphfnp(*arguments[:4], 5).err
    assert "alcohol, amine" in graphfnp(*arguments[:6], "acid").err


def test_run_is_calibrated_on_a_file_of_ones_own(graphfnp, molecules: Path, tmp_path: Path) -> None:
    table = pd.DataFrame({"smiles": ["F" + "C" * n + end for n in range(2, 14) for end in "ON"], "kind": [0, 1] * 12})
    table.to_csv(tmp_path / "mine.csv", index=False)
    before = (molecules / "run" / "model.json").read_text()
    arguments = ["calibrate", molecules / "run", tmp_path / "mine.csv", "--out", tmp_path / "new"]
    result = graphfnp(*arguments, "--kind", "vector", "--json")
    assert result.code == 0, result.err
    facts = json.loads(result.out)
    assert facts["before"]["num_graphs"] == facts["after"]["num_graphs"] == 24
    assert facts["conformal"]["held_out_graphs"] == [6, 6]
    assert (molecules / "run" / "model.json").read_text() == before
    model = Run(tmp_path / "new").model
    assert len(model.calibration.scaling.scale) == 2
    assert model.conformal.held_back
    predicted = graphfnp("predict", tmp_path / "new", "CCO", "--json")
    assert json.loads(predicted.out)[0]["conformal_set"] == ["alcohol", "amine"]  # six are too few for 90 %
    assert "exists" in graphfnp(*arguments).err
    page = tmp_path / "new" / "report.html"
    page.write_text("<main>the page of the model before")
    again = ["calibrate", tmp_path / "new", tmp_path / "mine.csv", "--kind", "temperature"]
    shown = graphfnp(*again)
    assert shown.code == 0, shown.err
    assert "ECE" in shown.out
    assert "graphfnp report" in shown.out
    assert graphfnp(*again).code == 0
    assert page.read_text().count("shows the model before it was calibrated on mine.csv") == 1
    assert graphfnp("report", tmp_path / "new").code == 0
    assert "shows the model before" not in page.read_text()
    assert '<th scope="row">calibrated on</th><td>mine.csv</td>' in page.read_text()
    assert isinstance(Run(tmp_path / "new").model.calibration.scaling, Temperature)
    for wrong in (["--kind", "best"], ["--conformal-share", "1"]):
        assert graphfnp("calibrate", tmp_path / "new", tmp_path / "mine.csv", *wrong).code == 2
    assert "trained on" in graphfnp("calibrate", molecules / "run", molecules / "small.csv").err


def test_too_few_labels_for_a_scaling_are_told(graphfnp, molecules: Path, tmp_path: Path) -> None:
    table = pd.DataFrame({"smiles": ["F" + "C" * n + end for n in range(2, 11) for end in "ON"], "kind": [0, 1] * 9})
    for rows, said in ((18, False), (16, True)):
        table[:rows].to_csv(tmp_path / "mine.csv", index=False)
        told = graphfnp("calibrate", molecules / "run", tmp_path / "mine.csv", "--out", tmp_path / f"new-{rows}")
        assert told.code == 0, told.err
        assert ("8 graphs to fit on, fewer than 10 or of one class: nothing is scaled" in told.err) == said


def test_predictions_as_json_and_parquet_are_the_same_rows(graphfnp, molecules: Path, tmp_path: Path) -> None:
    (tmp_path / "new.smi").write_text("CCO ethanol\nnonsense x\nCCN ethylamine\n")
    printed = json.loads(graphfnp("predict", molecules / "run", tmp_path / "new.smi", "--json").out)
    graphfnp("predict", molecules / "run", tmp_path / "new.smi", "--out", tmp_path / "out.parquet")
    assert [record["status"] for record in printed] == ["ok", "failed", "ok"]
    frame = pd.read_parquet(tmp_path / "out.parquet")
    assert frame["row"].tolist() == [record["row"] for record in printed]
    assert frame["probability"].dropna().tolist() == [r["probability"] for r in printed if r["status"] == "ok"]


@pytest.mark.parametrize("smiles", ["CCO", "c1cc[nH]c1", "CC.O", "CCN.Cl"])
def test_one_smiles_is_predicted_as_it_stands(smiles: str, graphfnp, molecules: Path) -> None:
    result = graphfnp("predict", molecules / "run", smiles)
    assert result.code == 0, result.err
    assert smiles in result.out  # brackets are not markup
    (record,) = json.loads(graphfnp("predict", molecules / "run", smiles, "--json").out)
    assert (record["input"], record["status"]) == (smiles, "ok")


def test_a_smiles_that_is_none_fails_with_its_reason(graphfnp, molecules: Path) -> None:
    result = graphfnp("predict", molecules / "run", "C1CC[", "--json")
    assert result.code == 1
    (record,) = json.loads(result.out)
    assert record["status"] == "failed"
    assert record["reason"]


def test_graphs_of_another_kind_are_refused(graphfnp, molecules: Path, tiny_run: Run) -> None:
    result = graphfnp("predict", molecules / "run", "ba2motifs")
    assert result.code == 2
    assert "what the model was trained on" in result.err


# ---------------------------------------------------------------- rationales, report


def test_rationales_are_written_and_drawn(graphfnp, tiny_run: Run, tmp_path: Path) -> None:
    result = graphfnp("rationales", tiny_run.folder, "--out", tmp_path, "--candidates", 4, "--json")
    assert result.code == 0, result.err
    records = json.loads(result.out)
    assert records == json.loads((tmp_path / "rationales.json").read_text())
    assert [record["label"] for record in records] == ["cycle", "cycle", "house", "house"]
    for number, record in enumerate(records, 1):
        drawing = tmp_path / f"rationale-{number}.svg"
        assert drawing.exists() == (record["valid"] and record["same_as"] is None)
        assert record["num_nodes"] == len(record["node_types"])
        assert all(0 <= i < j < record["num_nodes"] for i, j, _ in record["edges"])
        assert 0 <= record["class_probability"] <= 1


def test_rationales_of_molecules_are_molecules(graphfnp, molecules: Path, tmp_path: Path) -> None:
    result = graphfnp("rationales", molecules / "run", "--out", tmp_path, "--candidates", 4)
    assert result.code == 0, result.err
    records = json.loads((tmp_path / "rationales.json").read_text())
    assert all(record["valid"] is (record["smiles"] is not None) for record in records)
    assert all(record["smiles"] in result.out for record in records if record["valid"])


def test_a_report_is_one_page_with_its_figures_beside_it(graphfnp, molecules: Path) -> None:
    result = graphfnp("report", molecules / "run")
    assert result.code == 0, result.err
    page = (molecules / "run" / "report.html").read_text()
    assert "graphfnp on small" in page
    assert 'src="http' not in page
    assert list((molecules / "run").rglob("*.png"))


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["train", "ba2motifs", "--method", "oracle"], "one of graphfnp, paper"),
        (["train", "ba2motifs", "--set", "backbone.wide=3"], "did you mean 'width'?"),
        (["train", "ba2motifs", "--set", "backbone.width"], "--set NAME=VALUE"),
        (["train", "ba2motifs", "--set", "backbone.width=ten"], "a value of type int"),
        (["train", "ba2motifs", "--set", "training.epoch=3"], "did you mean 'epochs'?"),
        (["train", "ba2motifs", "--backbone", "mlp"], "'gcn', 'gat'"),
        (["train", "ba2motifs", "--epochs", "0"], "epochs, batch_size and validation_draws >= 1"),
        (["train", "ba3motifs"], "did you mean ba2motifs?"),
        (["train", "absent.csv"], "no path that exists"),
        (["evaluate", "."], "holds no config.json"),
        (["evaluate", "absent"], "which is not a folder"),
        (["predict", ".", "CCO"], "holds no config.json"),
        (["rationales", "."], "graphfnp train"),
        (["report", "."], "graphfnp train"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, list) else "",
)
def test_a_mistake_ends_with_code_2_and_what_to_do(
    arguments: list[str], said: str, graphfnp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = graphfnp(*arguments)
    assert result.code == 2
    assert said in " ".join(result.err.replace("│", " ").split())
    assert "what to do" in result.err
    assert "Traceback" not in result.err


@pytest.mark.parametrize(
    "arguments", [["train"], ["fly"], ["train", "ba2motifs", "--epochs", "many"], ["predict", "."]]
)
def test_arguments_that_cannot_be_read_end_with_code_2(arguments: list[str], graphfnp) -> None:
    assert graphfnp(*arguments).code == 2


def test_brackets_in_an_error_are_not_markup(graphfnp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "[bold]x[/bold]" in graphfnp("evaluate", "[bold]x[/bold]").err


def test_a_truncated_checkpoint_ends_with_code_2(graphfnp, tiny_run: Run, tmp_path: Path) -> None:
    for path in tiny_run.folder.iterdir():
        content = path.read_bytes()
        (tmp_path / path.name).write_bytes(content[: len(content) // 2] if path.suffix == ".safetensors" else content)
    result = graphfnp("evaluate", tmp_path)
    assert result.code == 2
    assert "truncated" in result.err


def test_an_unknown_part_and_an_unknown_ending_are_refused(graphfnp, tiny_run: Run, tmp_path: Path) -> None:
    assert "one of train, validation, test" in graphfnp("evaluate", tiny_run.folder, "--part", "all").err
    refused = graphfnp("predict", tiny_run.folder, "ba2motifs", "--out", tmp_path / "rows.txt")
    assert refused.code == 2
    assert "change the ending" in refused.err
