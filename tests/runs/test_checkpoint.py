"""Checkpoints: what is written, and every way a folder can be no model."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch_geometric.nn import GraphSAGE

from graphfnp.errors import GraphFNPError, InvalidRun
from graphfnp.files import read_tensors, write_atomically, write_tensors
from graphfnp.methods.registry import make_classifier
from graphfnp.prediction.calibration import Calibration
from graphfnp.prediction.predict import TrainedModel, predict
from graphfnp.prediction.saving import MODEL_RECORD, MODEL_TENSORS, save_model
from graphfnp.prediction.scalings import Temperature
from graphfnp.runs.checkpoint import load_model
from graphfnp.runs.run import Run
from tiny_graphs import TYPED, shapes, small


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    classifier = make_classifier("graphfnp", TYPED, small("graphfnp"))
    save_model(TrainedModel(classifier, Calibration(Temperature(1.5))), tmp_path, "graphfnp")
    return tmp_path


def tamper(folder: Path, change: Callable[[dict], object]) -> None:
    record = json.loads((folder / MODEL_RECORD).read_text())
    change(record)
    (folder / MODEL_RECORD).write_text(json.dumps(record))


def test_a_model_is_two_files_none_of_them_a_pickle(folder: Path) -> None:
    assert sorted(path.name for path in folder.iterdir()) == [MODEL_RECORD, MODEL_TENSORS]
    json.loads((folder / MODEL_RECORD).read_text())
    read_tensors(folder / MODEL_TENSORS)


def test_a_run_folder_holds_only_readable_files(tiny_run: Run) -> None:
    for path in tiny_run.folder.rglob("*"):
        assert path.suffix in {".json", ".jsonl", ".safetensors"}, path
        assert path.read_bytes()[:2] not in (b"\x80\x04", b"\x80\x02", b"PK"), path  # pickles, and torch's zip of them


def test_calibration_and_settings_come_back(folder: Path) -> None:
    model = load_model(folder)
    assert model.calibration == Calibration(Temperature(1.5))
    assert model.classifier.config.backbone.width == 16
    assert model.classifier.schema == TYPED
    assert not model.classifier.training


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.999])
def test_a_truncated_checkpoint_is_refused(folder: Path, share: float) -> None:
    content = (folder / MODEL_TENSORS).read_bytes()
    (folder / MODEL_TENSORS).write_bytes(content[: int(share * len(content))])
    with pytest.raises(InvalidRun, match="truncated"):
        load_model(folder)


def test_missing_tensors_are_refused(folder: Path) -> None:
    (folder / MODEL_TENSORS).unlink()
    with pytest.raises(InvalidRun, match="complete safetensors file"):
        load_model(folder)


def test_a_flipped_bit_is_noticed(folder: Path) -> None:
    content = bytearray((folder / MODEL_TENSORS).read_bytes())
    content[-1] ^= 1
    (folder / MODEL_TENSORS).write_bytes(bytes(content))
    with pytest.raises(InvalidRun, match=r"not the file that model.json names"):
        load_model(folder)


def test_tensors_of_another_model_are_refused(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other")
    save_model(TrainedModel(make_classifier("graphfnp", TYPED, small("graphfnp"), seed=1)), other, "graphfnp")
    shutil.copy(other / MODEL_TENSORS, folder / MODEL_TENSORS)
    with pytest.raises(InvalidRun, match=r"not the file that model.json names"):
        load_model(folder)


@pytest.mark.parametrize(
    "content", ["", "{", "[1, 2]", "null", '{"format": 1}', '{"format": 1, "method": "vanilla"}'], ids=repr
)
def test_a_record_that_is_none_is_refused(folder: Path, content: str) -> None:
    (folder / MODEL_RECORD).write_text(content)
    with pytest.raises(InvalidRun):
        load_model(folder)


@pytest.mark.parametrize(
    "change",
    [
        lambda record: record.update(format=99),
        lambda record: record.update(method="oracle"),
        lambda record: record.update(method=["graphfnp"]),
        lambda record: record.update(sha256="0" * 64),
        lambda record: record.pop("sha256"),
        lambda record: record.pop("settings"),
        lambda record: record["settings"]["backbone"].update(width=32),
        lambda record: record["settings"]["backbone"].update(wide=32),
        lambda record: record["settings"]["backbone"].update(width="wide"),
        lambda record: record.pop("schema"),
        lambda record: record["schema"].pop("class_names"),
        lambda record: record["schema"].update(colour="red"),
        lambda record: record["schema"].update(class_names=["one", "two"]),
        lambda record: record.pop("calibration"),
        lambda record: record["calibration"].update(magic=1),
    ],
    ids=[
        "format", "method", "no name", "hash", "no hash", "no settings", "another width", "unknown setting",
        "no number", "no schema", "no classes", "unknown fact", "fewer classes", "no calibration",
        "unknown calibration",
    ],
)  # fmt: skip
def test_a_tampered_record_is_refused_with_what_to_do(folder: Path, change: Callable[[dict], object]) -> None:
    tamper(folder, change)
    with pytest.raises(GraphFNPError) as caught:
        load_model(folder)
    assert caught.value.to_do


def test_a_model_of_an_earlier_version_is_refused_as_that(folder: Path) -> None:
    tamper(folder, lambda record: record["settings"].update(label_head="additive"))
    with pytest.raises(InvalidRun, match="a model of another version: its setting 'label_head'"):
        load_model(folder)


def test_a_foreign_folder_and_no_folder_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("not a run")
    for kind in (load_model, Run):
        with pytest.raises(InvalidRun, match=r"model.json|config.json"):
            kind(tmp_path)
        with pytest.raises(InvalidRun, match="which is not a folder"):
            kind(tmp_path / "absent")


def test_a_run_whose_config_is_not_one_is_refused(tmp_path: Path) -> None:
    for content in ("[]", "{}", "3"):
        (tmp_path / "config.json").write_text(content)
        with pytest.raises(InvalidRun, match=r"config.json"):
            _ = Run(tmp_path).plan


def test_a_model_with_a_users_backbone_asks_for_it_again(tmp_path: Path) -> None:
    graphs = shapes(4)

    def backbone() -> GraphSAGE:
        torch.manual_seed(0)
        return GraphSAGE(12, 16, 2, 8)

    model = TrainedModel(make_classifier("vanilla", TYPED, small("vanilla"), backbone=backbone()))
    save_model(model, tmp_path, "vanilla")
    with pytest.raises(InvalidRun, match="backbone"):
        load_model(tmp_path)
    again = load_model(tmp_path, backbone())
    assert torch.equal(predict(again, graphs).draws, predict(model, graphs).draws)


def test_tensors_come_back_with_their_record_and_hash(tmp_path: Path) -> None:
    tensors = {"a": torch.arange(6.0).view(2, 3).T, "b": torch.tensor(7), "c": torch.tensor([True, False])}
    digest = write_tensors(tmp_path / "some.safetensors", tensors, {"best": float("inf"), "names": ["x"]})
    assert digest == write_tensors(tmp_path / "again.safetensors", tensors, {"best": float("inf"), "names": ["x"]})
    found, record = read_tensors(tmp_path / "some.safetensors")
    assert all(torch.equal(found[name], tensor) for name, tensor in tensors.items())
    assert record == {"best": float("inf"), "names": ["x"]}


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "file"
    write_atomically(target, b"old")

    def no_replace(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("graphfnp.files.os.replace", no_replace)
    with pytest.raises(OSError, match="disk full"):
        write_atomically(target, b"new")
    assert target.read_bytes() == b"old"
