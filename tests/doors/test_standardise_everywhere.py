"""Standard forms at every door: what training did to its molecules is done to those the model is asked about."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from fastapi.testclient import TestClient
from run_command import said

import graphfnp
from graphfnp.errors import InvalidConfig, InvalidGraphs
from graphfnp.runs.bundles import open_run
from graphfnp.service.app import make_app
from graphfnp.service.config import ServiceConfig
from graphfnp.service.engine import Engine

SALT, ACID = "CC(=O)[O-].[Na+]", "CC(=O)O"


def test_plain_graphs_are_refused_by_a_model_of_standard_forms(tmp_path: Path) -> None:
    table = _table(tmp_path)
    data = graphfnp.load(table, standardise=True)
    assert "fragment 20" in data.facts["notes"]
    classifier = graphfnp.make_classifier("vanilla", data.graphs.schema, {"backbone.width": 8})
    model = graphfnp.TrainedModel(classifier)
    assert model.id != replace(model, classifier=_plain(classifier)).id
    with pytest.raises(InvalidGraphs, match="standardise=True"):
        graphfnp.predict(model, graphfnp.load(table).graphs)
    both = graphfnp.predict(model, [SALT, ACID]).probabilities
    assert torch.equal(both[0], both[1])
    with pytest.raises(InvalidConfig, match="without SMILES"):
        graphfnp.load("ba2motifs", standardise=True)


def test_every_door_standardises_as_training_did(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    table, folder = _table(tmp_path), tmp_path / "run"
    small = ["--epochs", "1", "--no-report", "--set", "backbone.width=16", "--set", "decoder.width=16"]
    _, told = said(capsys, "train", table, "--standardise", "-o", folder, *small)
    assert "standardised 60 molecules; changed: fragment 20, charge 20" in told
    assert "standardised 60 molecules" in json.loads((folder / "config.json").read_text())["facts"]["notes"]
    assert json.loads((folder / "model.json").read_text())["schema"]["standardise"] is True
    (tmp_path / "in.csv").write_text(f"smiles\n{SALT}\n{ACID}\nC1CC\n")
    _, told = said(capsys, "predict", folder, tmp_path / "in.csv", "-o", tmp_path / "out.csv")
    assert "standardised 2 molecules; changed: fragment 1, charge 1" in told
    given, standard = _records(tmp_path / "out.csv")[:2]
    assert given["standardised"] == standard["standardised"] == ACID
    assert (given["input"], given["changes"]) == (SALT, "fragment, charge")
    assert given["probability"] == standard["probability"]
    shown = json.loads(said(capsys, "predict", folder, SALT, "--json")[0])[0]
    assert (shown["input"], shown["standardised"]) == (SALT, ACID)
    assert f"{shown['probability']:g}" == given["probability"]
    explained = json.loads(said(capsys, "explain", folder, SALT, "--json", "-o", tmp_path / "why")[0])[0]
    assert (explained["input"], explained["standardised"]) == (SALT, ACID)
    assert f"<code>{SALT}</code>" in (tmp_path / "why" / "explanation.html").read_text()
    for ending in ("csv", "json"):  # as a stream and at once
        said(capsys, "predict", folder, tmp_path / "in.csv", "-o", tmp_path / f"small.{ending}", "--max-atoms", 4)
    large, standard = _records(tmp_path / "small.csv")[:2]
    assert [json.loads((tmp_path / "small.json").read_text())[0][name] for name in ("input", "status", "reason")] == [
        large[name] for name in ("input", "status", "reason")
    ]
    assert (large["input"], large["status"], standard["status"]) == (SALT, "failed", "ok")
    others = [f"{'C' * n}C(=O)[O-].[K+],1" for n in range(1, 21)] + [f"{'C' * n}S,0" for n in range(1, 21)]
    (tmp_path / "others.csv").write_text("\n".join(["smiles,label", *others]) + "\n")
    _, told = said(capsys, "calibrate", folder, tmp_path / "others.csv", "-o", tmp_path / "calibrated")
    assert "of 40 graphs were trained on" in told  # other salts of the same acids
    assert "standardise" in json.loads((tmp_path / "calibrated" / "model.json").read_text())["schema"]
    with TestClient(make_app(Engine(open_run(folder), None, ServiceConfig())), base_url="http://localhost") as client:
        served, drawn = client.post("/predict", json={"smiles": [SALT]}).json()["records"][0], {}
        for smiles in (SALT, ACID):
            drawn[smiles] = client.post("/draw", json={"smiles": smiles}).text.replace(smiles, "")
    assert (served["input"], served["standardised"], served["changes"]) == (SALT, ACID, "fragment, charge")
    assert served["probability"] == pytest.approx(shown["probability"], abs=2e-6)
    assert drawn[SALT] == drawn[ACID]


def test_the_estimator_standardises_what_it_learns_from_and_what_it_is_asked(tmp_path: Path) -> None:
    rows = [line.split(",") for line in _table(tmp_path).read_text().splitlines()[1:]]
    model = graphfnp.GraphFNPClassifier("vanilla", width=8, epochs=1, standardise=True)
    model.fit([smiles for smiles, _ in rows], [label for _, label in rows])
    found = model.predict_proba([SALT, ACID])
    assert (found[0] == found[1]).all()
    model.save(tmp_path / "estimator")
    again = graphfnp.GraphFNPClassifier.load(tmp_path / "estimator").predict_proba([SALT])
    assert again == pytest.approx(found[:1], abs=1e-5)


def _table(folder: Path) -> Path:
    """Twenty salts, twenty amines, twenty phenols."""
    chains = ["C" * n for n in range(1, 21)]
    lines = (
        [f"{c}C(=O)[O-].[Na+],1" for c in chains] + [f"{c}N,0" for c in chains] + [f"{c}c1ccccc1O,1" for c in chains]
    )
    path = folder / "salts.csv"
    path.write_text("\n".join(["smiles,label", *lines]) + "\n")
    return path


def _plain(classifier: graphfnp.GraphClassifier) -> graphfnp.GraphClassifier:
    schema = replace(classifier.schema, standardise=False)
    other = graphfnp.make_classifier("vanilla", schema, {"backbone.width": 8})
    other.load_state_dict(classifier.state_dict())
    return other


def _records(path: Path) -> list[dict[str, str]]:
    with open(path, newline="") as file:
        return list(csv.DictReader(file))
