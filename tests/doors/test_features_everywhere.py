"""Features beside the structure at every door: computed from the SMILES, or columns that each row brings along."""

import csv
import json
from pathlib import Path

import pandas as pd
import pytest
import torch
from fastapi.testclient import TestClient
from run_command import said

import graphfnp
from graphfnp.chemistry.descriptors import descriptors_of
from graphfnp.errors import InvalidConfig, InvalidGraphs
from graphfnp.graphs.descriptors import RDKIT_NAMES
from graphfnp.runs.bundles import open_run
from graphfnp.scoring.engines import _to_chunk, _to_table
from graphfnp.scoring.rows import Chunk
from graphfnp.scoring.score_file import Execution, score_file
from graphfnp.service.app import make_app
from graphfnp.service.config import ServiceConfig
from graphfnp.service.engine import Engine
from graphfnp.service.panel import make_panel

SMALL = ["--epochs", "1", "--no-report", "--set", "backbone.width=16", "--set", "decoder.width=16"]
WITHOUT = "no value of 'dose', which the model reads beside the structure"


def test_rdkit_descriptors_are_those_of_rdkit_and_odd_molecules_have_them() -> None:
    values = dict(zip(RDKIT_NAMES, descriptors_of("CCO", ("rdkit",)), strict=True))
    assert values["MolWt"] == pytest.approx(46.069)
    assert values["TPSA"] == pytest.approx(20.23)
    assert (values["NumHDonors"], values["HeavyAtomCount"], values["RingCount"]) == (1, 3, 0)
    for odd in ("[Na+].[Cl-]", "[H][H]", "[Fe]", "C" * 300, "c1ccccc1", "[2H]O[2H]", "*CC", "O=[Pt](Cl)(Cl)(N)N"):
        assert not isinstance(descriptors_of(odd, ("rdkit",)), str), odd
    assert descriptors_of("**", ("rdkit",)) == "its descriptor LabuteASA is nan, no finite number"
    assert descriptors_of("CCO", ("dose",)) == []


def test_loading_joins_features_and_refuses_rows_without_them(tmp_path: Path) -> None:
    table = _table(tmp_path, ["CCCO,,1", "CCCN,n.d.,0", "CCCF,nan,0", "CCCS,1e39,1"])
    data = graphfnp.load(table, features="dose,rdkit")
    assert data.graphs.schema.descriptors == ("rdkit", "dose")  # what is computed comes first
    assert data.graphs.descriptors is not None
    assert data.graphs.descriptors.shape == (60, len(RDKIT_NAMES) + 1)
    assert data.graphs.descriptors[:3, -1].tolist() == [1.0, 2.0, 3.0]
    assert [(one.row, one.given, one.reason) for one in data.problems] == [
        (60, "CCCO", WITHOUT),
        (61, "CCCN", "'n.d.' as 'dose', which is not a number"),
        (62, "CCCF", "nan as 'dose', which is not a finite number"),
        (63, "CCCS", "1e+39 as 'dose', which is too large for a number of 32 bits"),
    ]
    with pytest.raises(InvalidConfig, match="without the column 'pH'"):
        graphfnp.load(table, features="pH")
    with pytest.raises(InvalidConfig, match="each once"):
        graphfnp.load(table, features="dose,dose")
    with pytest.raises(InvalidConfig, match="without SMILES"):
        graphfnp.load("ba2motifs", features="rdkit")


def test_a_model_with_features_refuses_graphs_without(tmp_path: Path) -> None:
    table = _table(tmp_path)
    data = graphfnp.load(table, features=["dose"])
    model = graphfnp.TrainedModel(graphfnp.make_classifier("vanilla", data.graphs.schema, {"backbone.width": 8}))
    with pytest.raises(InvalidGraphs, match="features='dose'"):
        graphfnp.predict(model, graphfnp.load(table).graphs)
    with pytest.raises(InvalidGraphs, match="a DataFrame with molecules and the columns dose"):
        graphfnp.predict(model, ["CCO"])
    with pytest.raises(InvalidGraphs, match=WITHOUT):
        graphfnp.predict(model, pd.DataFrame({"smiles": ["CCO"], "dose": [None]}))
    frame = pd.read_csv(table)[["dose", "smiles"]]
    given = graphfnp.predict(model, frame).probabilities
    assert torch.equal(given, graphfnp.predict(model, data.graphs).probabilities)


def test_every_door_reads_the_features_training_read(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    table, folder = _table(tmp_path, ["CCCO,,1"]), tmp_path / "run"
    _, told = said(capsys, "train", table, "--features", "rdkit,dose", "-o", folder, *SMALL)
    assert f"row 60: 'CCCO': {WITHOUT}" in told
    assert json.loads((folder / "model.json").read_text())["schema"]["descriptors"] == ["rdkit", "dose"]
    assert "--features rdkit,dose" in json.loads((folder / "config.json").read_text())["command"]
    (tmp_path / "in.csv").write_text("dose,name,smiles\n2.5,a,CCO\n,b,CCO\nhigh,c,CCO\n9,d,C1CC\n-40,e,CCO\n")
    _, told = said(capsys, "predict", folder, tmp_path / "in.csv", "-o", tmp_path / "out.csv")
    written = _records(tmp_path / "out.csv")
    assert [one["status"] for one in written] == ["ok", "failed", "failed", "failed", "ok"]
    assert [one["reason"] for one in written[1:3]] == [WITHOUT, "'high' as 'dose', which is not a number"]
    assert "unclosed ring" in written[3]["reason"]
    assert written[0]["distance"] != written[4]["distance"]  # the same molecule at another dose
    shown = json.loads(said(capsys, "predict", folder, tmp_path / "in.csv", "--json")[0])
    assert [one["reason"] for one in shown] == [one["reason"] for one in written]
    assert [f"{shown[row]['probability']:g}" for row in (0, 4)] == [written[row]["probability"] for row in (0, 4)]
    (tmp_path / "bare.csv").write_text("smiles\nCCO\n")
    for target in ((), ("-o", tmp_path / "never.csv")):
        assert "without the column 'dose'" in said(capsys, "predict", folder, tmp_path / "bare.csv", *target, code=2)[1]
    assert WITHOUT in said(capsys, "predict", folder, "CCO", code=1)[1]
    _, told = said(capsys, "calibrate", folder, _others(tmp_path), "-o", tmp_path / "calibrated")
    assert json.loads((tmp_path / "calibrated" / "model.json").read_text())["schema"]["descriptors"]
    said(capsys, "evaluate", folder)
    said(capsys, "explain", folder, tmp_path / "in.csv", "-o", tmp_path / "why", "--candidates", "4")
    assert (tmp_path / "why" / "explanation.html").exists()
    said(capsys, "export", folder, tmp_path / "model.zip")
    shared = json.loads(said(capsys, "predict", tmp_path / "model.zip", tmp_path / "in.csv", "--json")[0])
    assert [one["probability"] for one in shared] == [one["probability"] for one in shown]
    _serves(folder, [shown[row]["probability"] for row in (0, 4)])
    _in_a_panel(folder, tmp_path, capsys, written)


def _serves(folder: Path, expected: list[float]) -> None:
    engine = Engine(open_run(folder), None, ServiceConfig())
    asked = {"smiles": ["CCO", "CCO", "CCO"], "features": [{"dose": 2.5}, {}, {"dose": -40, "pH": 7}]}
    with TestClient(make_app(engine), base_url="http://localhost") as client:
        first, without, last = client.post("/predict", json=asked).json()["records"]
        assert [first["probability"], last["probability"]] == pytest.approx(expected, abs=2e-6)
        assert without["reason"] == f"{WITHOUT}: send it in `features`"
        (alone,) = client.post("/predict", json={"smiles": "CCO"}).json()["records"]
        assert alone["reason"] == without["reason"]
        (huge,) = client.post("/predict", json={"smiles": "CCO", "features": {"dose": 1e300}}).json()["records"]
        assert huge["reason"] == "1e+300 as 'dose', which is too large for a number of 32 bits"  # and it was sent
        refused = client.post("/predict", json={"smiles": ["CCO", "CC"], "features": {"dose": 1}})
        assert refused.status_code == 422
        assert "each of the 2 rows, not for 1" in refused.json()["detail"]
        card = client.get("/model").json()
        assert card["features"] == ["dose"]
        assert any("rdkit, dose" in limit for limit in card["limits"])
        example = client.get("/openapi.json").json()["paths"]["/predict"]["post"]["requestBody"]["content"]
        given = example["application/json"]["examples"]["one"]["value"]
        assert client.post("/predict", json=given).json()["records"][0]["status"] == "ok"
    both = make_panel({"own": engine, "bbbp": Engine(open_run("bbbp"), None, ServiceConfig())}, ServiceConfig())
    with TestClient(both, base_url="http://localhost") as client:
        record = client.post("/predict", json={"smiles": "CCO", "features": {"dose": 2.5}}).json()["records"][0]
    assert record["models"]["own"]["probability"] == pytest.approx(expected[0], abs=2e-6)
    assert record["models"]["bbbp"]["status"] == "ok"


def _in_a_panel(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture, alone: list[dict[str, str]]) -> None:
    said(capsys, "predict", f"{folder},bbbp", tmp_path / "in.csv", "-o", tmp_path / "panel.csv")
    together = _records(tmp_path / "panel.csv")
    assert [one["run_probability"] for one in together] == [one["probability"] for one in alone]
    assert together[1]["status"] == "ok"  # the other model needs no dose
    assert together[1]["run_reason"] == WITHOUT


def test_chunks_carry_their_columns_to_every_kind_of_reader(tmp_path: Path) -> None:
    data = graphfnp.load(_table(tmp_path), features="dose")
    classifier = graphfnp.make_classifier("vanilla", data.graphs.schema, {"backbone.width": 8})
    config = graphfnp.TrainingConfig(epochs=1)
    model = graphfnp.train(classifier, data.graphs, data.graphs, config).model
    frame = pd.DataFrame({"dose": [None, 1.5, -3.0] * 800, "smiles": ["CCO"] * 2400})
    frame.to_csv(tmp_path / "in.csv", index=False)
    frame.to_parquet(tmp_path / "in.parquet", index=False)
    found = []
    for name, workers in (("in.csv", 0), ("in.csv", 1), ("in.parquet", 0)):
        counts = score_file(model, tmp_path / name, tmp_path / "out.parquet", execution=Execution(workers=workers))
        assert (counts.rows, counts.failed) == (2400, 800)
        found.append(pd.read_parquet(tmp_path / "out.parquet")["p(1)"])
    assert found[0].equals(found[1])
    assert found[0].equals(found[2])
    assert found[0][1] != found[0][2]
    chunk = Chunk(3, 6144, ("CCO", ""), {1: "text that is not UTF-8"}, {"dose": ("1.5", "")})
    assert _to_chunk(_to_table(chunk)) == chunk  # as it goes to workers of Ray


def test_the_estimator_takes_a_table_of_molecules_and_features(tmp_path: Path) -> None:
    frame = pd.read_csv(_table(tmp_path))
    model = graphfnp.GraphFNPClassifier("vanilla", width=8, epochs=2, features=["rdkit", "dose"])
    X = frame[["dose", "smiles"]]
    found = model.fit(X, frame["label"]).predict_proba(X)
    assert torch.isfinite(torch.from_numpy(found)).all()
    model.save(tmp_path / "estimator")
    assert graphfnp.GraphFNPClassifier.load(tmp_path / "estimator").predict_proba(X) == pytest.approx(found, abs=1e-5)
    assert model.predict_proba(X.assign(dose=50.0)) != pytest.approx(found, abs=1e-5)
    told = model.predict_uncertainty(X.assign(dose=None).head(2))
    assert told["reason"].tolist() == [WITHOUT, WITHOUT]
    with pytest.raises(InvalidGraphs, match="DataFrame"):
        model.predict(["CCO"])


def _table(folder: Path, more: list[str] | None = None) -> Path:
    """Sixty molecules with a dose; and rows of one's own."""
    lines = [f"{'C' * (1 + n // 3)}{'ONS'[n % 3]},{n + 1},{n % 2}" for n in range(60)]
    path = folder / "doses.csv"
    path.write_text("\n".join(["smiles,dose,label", *lines, *(more or [])]) + "\n")
    return path


def _others(folder: Path) -> Path:
    lines = [f"{'C' * (1 + n // 2)}{'FP'[n % 2]},{n},{n % 2}" for n in range(40)]
    (folder / "others.csv").write_text("\n".join(["smiles,dose,label", *lines]) + "\n")
    return folder / "others.csv"


def _records(path: Path) -> list[dict[str, str]]:
    with open(path, newline="") as file:
        return list(csv.DictReader(file))
