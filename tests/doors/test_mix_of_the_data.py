"""The label mix at every door: what is said is for the mix of the training data, unless another is asked for."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from run_command import said

import graphfnp as package
from graphfnp.cli.app import main
from graphfnp.experiments.cell import Cell
from graphfnp.experiments.measure import measure, scores
from graphfnp.prediction.calibration import fit_calibration
from graphfnp.prediction.label_mix import assumed_mix
from graphfnp.prediction.predict import collect
from graphfnp.runs.checkpoint import load_model
from graphfnp.runs.run import Run

ALCOHOLS = ["C" * n + tail for n in range(1, 13) for tail in ("O", "CO", "C(C)O")]
AMINES = ["C" * n + "N" for n in range(1, 5)]
TINY = ["--split", "random", "--no-report", "--set", "backbone.width=16", "--epochs", "3"]


@pytest.fixture(scope="module")
def rare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on 36 alcohols and 4 amines."""
    folder = tmp_path_factory.mktemp("rare")
    kinds = ["alcohol"] * len(ALCOHOLS) + ["amine"] * len(AMINES)
    pd.DataFrame({"smiles": ALCOHOLS + AMINES, "label": kinds}).to_csv(folder / "in.csv", index=False)
    with pytest.raises(SystemExit):
        main(["train", str(folder / "in.csv"), "--method", "vanilla", "-o", str(folder / "run"), *TINY])
    return folder


def test_model_is_saved_for_the_mix_of_its_training_part(rare: Path) -> None:
    run = Run(rare / "run")
    y = run.dataset().train.y
    assert assumed_mix(run.model)[1] == pytest.approx(float((y == 1).float().mean()))
    assert json.loads((rare / "run" / "model.json").read_text())["label_mix"] == pytest.approx(assumed_mix(run.model))


def test_predictions_say_which_mix_they_are_for_with_the_names_of_classes(rare: Path, capsys) -> None:
    _, told = said(capsys, "predict", rare / "run", "CCO")
    assert re.search(r"label mix: alcohol 9\d\.\d %, amine \d\.\d %", told)
    _, told = said(capsys, "predict", rare / "run", "CCO", "--mix", "amine=0.25")
    assert "alcohol 75.0 %, amine 25.0 %" in told
    records, _ = said(capsys, "predict", rare / "run", "CCO", "--mix", "even", "--json")
    assert json.loads(records)[0]["calibration"]["label_mix"] == {"alcohol": 0.5, "amine": 0.5}


def test_old_word_prior_means_the_same(rare: Path, capsys) -> None:
    by_name, by_place = (
        json.loads(said(capsys, "predict", rare / "run", "CCO", *words, "--json")[0])[0]["p(amine)"]
        for words in (["--mix", "amine=0.3"], ["--prior", "0.3"])
    )
    assert by_name == by_place


def test_files_of_predictions_keep_the_mix_they_are_for(rare: Path, tmp_path: Path, capsys) -> None:
    shares = {}
    for name, words in (("usual", []), ("even", ["--mix", "even"])):
        said(capsys, "predict", rare / "run", rare / "in.csv", "-o", tmp_path / f"{name}.csv", *words)
        shares[name] = pd.read_csv(tmp_path / f"{name}.csv")["p(amine)"].mean()
        about = json.loads((tmp_path / f"{name}.csv.about.json").read_text())
        assert about["label_mix"][1] == pytest.approx(0.5 if words else 0.1, abs=0.03)
    assert shares["usual"] < shares["even"] / 2


def test_evaluation_prints_the_baseline_and_the_calibration_of_the_rare_class(rare: Path, capsys) -> None:
    shown, _ = said(capsys, "evaluate", rare / "run", "--part", "train")
    assert "majority class: 90" in shown.replace("\n", " ")
    assert "ECE of p(amine)" in shown
    before = (rare / "run" / "metrics.json").read_text()
    even = json.loads(said(capsys, "evaluate", rare / "run", "--mix", "even", "--json")[0])
    assert even["label_mix"] == pytest.approx([0.5, 0.5])
    assert (rare / "run" / "metrics.json").read_text() == before  # measures of the run are those of its own mix


def test_run_of_an_earlier_version_takes_the_mix_from_its_measures(rare: Path, tmp_path: Path) -> None:
    for path in (rare / "run").iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    record = json.loads((tmp_path / "model.json").read_text())
    del record["label_mix"], record["calibration"]["log_prior"]
    (tmp_path / "model.json").write_text(json.dumps(record))
    assert assumed_mix(load_model(tmp_path)) == pytest.approx(assumed_mix(Run(rare / "run").model))
    (tmp_path / "metrics.json").unlink()
    assert assumed_mix(load_model(tmp_path)) == pytest.approx([0.5, 0.5])


def test_estimator_says_what_is_for_the_data_it_was_given() -> None:
    y = ["alcohol"] * len(ALCOHOLS) + ["amine"] * len(AMINES)
    settings = {"method": "vanilla", "width": 16, "epochs": 3, "validation_fraction": 0.25}
    usual, even = (
        package.GraphFNPClassifier(**settings, mix=mix).fit(ALCOHOLS + AMINES, y).predict_proba(ALCOHOLS)[:, 1].mean()
        for mix in ("training", "even")
    )
    assert usual < even / 2


def test_cell_of_a_table_is_scored_for_an_even_mix(rare: Path, tmp_path: Path) -> None:
    settings = {"training.epochs": 2, "training.finishing_epochs": 0, "backbone.width": 16}
    cell = Cell(str(rare / "in.csv"), "gcn", "vanilla", 0, settings, {"split": "random"})
    found = measure(cell, tmp_path / "cell")
    run = Run(tmp_path / "cell")
    data, classifier = run.dataset(), run.model.classifier
    raw = collect(classifier, data.validation)
    calibration = fit_calibration("soft", raw.logits, data.validation.y, classifier.class_weight)
    assert not calibration.log_prior
    even = scores(calibration, collect(classifier, data.test), data.test.y)
    assert found["test"]["soft"]["nll"] == pytest.approx(even["nll"], rel=1e-4)
    assert found["test"]["soft"]["nll"] != pytest.approx(json.loads((run.folder / "metrics.json").read_text())["nll"])


@pytest.mark.slow
@pytest.mark.parametrize("method", ["graphfnp", "vanilla", "mc-dropout"])
def test_mean_probability_is_the_rate_of_a_rare_class(method: str, data_folder: Path, tmp_path: Path, capsys) -> None:
    """7 % of BBBP: within 2 points on 504 molecules held aside, the calibration of the rare class near its floor."""
    graphs = package.load("bbbp", data=data_folder).graphs
    crosses, stays = ([t for t, y in zip(graphs.text, graphs.y.tolist(), strict=True) if y == k] for k in (1, 0))
    stays = stays[:: len(stays) // round(len(crosses) * 7 / 93)][: round(len(crosses) * 7 / 93)]
    kinds = ["crosses"] * len(crosses) + ["stays out"] * len(stays)
    table = pd.DataFrame({"smiles": crosses + stays, "label": kinds})
    shares = {"train": 0.5, "valid": 0.2, "test": 0.3}  # so many that chance is about one point
    table["part"] = np.random.default_rng(0).choice(list(shares), len(table), p=list(shares.values()))
    table.to_csv(tmp_path / "rare.csv", index=False)
    words = ["--method", method, "--split", "part", "--set", "backbone.width=64", "--epochs", 15, "--no-report"]
    said(capsys, "train", tmp_path / "rare.csv", "-o", tmp_path / "run", *words)
    run = Run(tmp_path / "run")
    test = run.dataset().test
    mean = float(package.predict(run.model, test).probabilities[:, 1].mean())
    assert mean == pytest.approx(float((test.y == 1).float().mean()), abs=0.02)
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
    assert metrics["ece_positive_class"] < metrics["ece_positive_class_floor"] + 0.03


def test_the_mix_of_the_training_data_by_name_is_the_model_itself(capsys: pytest.CaptureFixture) -> None:
    """Its shares as they are told, to six digits, are no other mix: nothing that was measured is lost."""
    usual, _ = said(capsys, "predict", "bbbp", "CCO", "--json")
    assert said(capsys, "predict", "bbbp", "CCO", "--json", "--mix", "training")[0] == usual
    assert said(capsys, "predict", "bbbp", "CCO", "--json", "--mix", "permeable=0.839362")[0] == usual
