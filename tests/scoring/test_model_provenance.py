"""How well a model's probabilities were measured to hold goes with the model, and is gone when they change."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from graphfnp.errors import InvalidRun
from graphfnp.prediction.calibrate import calibrate
from graphfnp.prediction.label_mix import moved_to_mix
from graphfnp.prediction.predict import predict
from graphfnp.prediction.provenance import Provenance, data_hash
from graphfnp.prediction.records import prediction_records
from graphfnp.prediction.saving import MODEL_RECORD
from graphfnp.runs.checkpoint import METRICS, load_model
from graphfnp.runs.run import Run
from graphfnp.scoring import score_file
from graphfnp.scoring.parts import Parts


def test_a_run_keeps_the_error_that_its_test_part_showed(molecule_run: Run) -> None:
    known, metrics = molecule_run.model.provenance, json.loads((molecule_run.folder / METRICS).read_text())
    assert known is not None
    assert known.ece == metrics["ece"]
    assert known.ece_interval == (metrics["ece_interval"] and tuple(metrics["ece_interval"]))
    assert (known.part, known.graphs) == ("test part", metrics["num_graphs"])
    assert known.data_sha256 == data_hash(molecule_run.dataset().graphs)
    assert known.measured.startswith("20")
    assert Provenance.from_json(json.loads(json.dumps(known.to_json()))) == known


def test_every_record_in_python_carries_it(molecule_run: Run) -> None:
    model, graphs = molecule_run.model, molecule_run.dataset().test
    records = prediction_records(model, predict(model, graphs), graphs, range(len(graphs)), ())
    assert model.provenance is not None
    mix = {"amine": 0.5, "other": 0.5}
    assert records[0]["calibration"] == {**model.provenance.to_json(), "label_mix": mix}
    weights = [rationale["weight"] for rationale in records[0]["rationales"]]
    assert len(weights) == 3
    assert weights == sorted(weights, reverse=True)
    assert {rationale["class"] for rationale in records[0]["rationales"]} <= {"amine", "other"}


def test_the_data_hash_sees_a_changed_label(molecule_run: Run) -> None:
    graphs = molecule_run.dataset().graphs
    assert data_hash(replace(graphs, y=1 - graphs.y)) != data_hash(graphs)


def test_a_run_of_an_earlier_version_has_none(molecule_run: Run, tmp_path: Path) -> None:
    shutil.copytree(molecule_run.folder, tmp_path / "old")
    record = json.loads((tmp_path / "old" / MODEL_RECORD).read_text())
    del record["provenance"]
    (tmp_path / "old" / MODEL_RECORD).write_text(json.dumps(record))
    model = load_model(tmp_path / "old")
    assert model.provenance is None
    assert model.id == molecule_run.model.id
    assert prediction_records(model, None, None, [], ()) == []


@pytest.mark.parametrize("change", ["mix", "calibration"])
def test_what_changes_the_probabilities_takes_the_error_away(change: str, molecule_run: Run) -> None:
    model, graphs = molecule_run.model, molecule_run.dataset().test
    moved = moved_to_mix(model, predict(model, graphs), (0.9, 0.1))[0] if change == "mix" else calibrate(model, graphs)
    assert moved.provenance is not None
    assert moved.provenance.ece is None
    assert moved.provenance.data_sha256 == model.provenance.data_sha256  # type: ignore[union-attr]
    assert moved.id != model.id


@pytest.mark.parametrize(
    "change",
    [
        lambda record: record["schema"]["class_names"].reverse(),
        lambda record: record["schema"]["node_types"].reverse(),
        lambda record: record["calibration"].update(prior=[0.9, 0.1]),
    ],
)
def test_the_id_covers_all_that_decides_a_record(molecule_run: Run, tmp_path: Path, change) -> None:
    """With class names swapped a resumed run would end with inverted rows."""
    shutil.copytree(molecule_run.folder, tmp_path / "changed")
    record = json.loads((tmp_path / "changed" / MODEL_RECORD).read_text())
    change(record)
    (tmp_path / "changed" / MODEL_RECORD).write_text(json.dumps(record))
    assert load_model(tmp_path / "changed").id != molecule_run.model.id


def test_a_resumed_run_refuses_a_model_with_other_names(molecule_run: Run, tmp_path: Path) -> None:
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("smiles\nCCO\nCCN\n")
    shutil.copytree(molecule_run.folder, tmp_path / "changed")
    record = json.loads((tmp_path / "changed" / MODEL_RECORD).read_text())
    record["schema"]["class_names"].reverse()
    (tmp_path / "changed" / MODEL_RECORD).write_text(json.dumps(record))
    parts = Parts(target)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(score_file, "write_record_file", _interrupted)
        with pytest.raises(KeyboardInterrupt):
            score_file.score_file(molecule_run.model, source, target)
    assert parts.folder.exists()
    with pytest.raises(InvalidRun, match="another model"):
        score_file.score_file(load_model(tmp_path / "changed"), source, target)


def _interrupted(*_) -> None:
    raise KeyboardInterrupt
