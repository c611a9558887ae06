"""Checkpoints without pickle: tensors in safetensors, all else as JSON."""

import hashlib
from collections.abc import Iterator, Mapping
from math import isfinite, prod
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from graphfnp.errors import InvalidConfig, InvalidRun, listed
from graphfnp.files import read_json, read_tensors
from graphfnp.graphs.packed import Schema
from graphfnp.methods.contract import GraphClassifier
from graphfnp.methods.registry import CLASSIFIERS
from graphfnp.prediction.calibration import Calibration
from graphfnp.prediction.conformal import Conformal
from graphfnp.prediction.decision import Decision
from graphfnp.prediction.domain import Domain
from graphfnp.prediction.predict import TrainedModel
from graphfnp.prediction.provenance import Provenance
from graphfnp.prediction.saving import DOMAIN, FORMAT, HELD_OUT, MODEL_RECORD, MODEL_TENSORS, settle_held_out
from graphfnp.settings import from_json

LARGEST = 2**20  # number among the settings of a model
ROOM = 2**22  # elements that any model may take
FACTORIES = {
    torch.empty, torch.zeros, torch.ones, torch.full, torch.rand, torch.randn, torch.randint, torch.eye, torch.arange,
}  # fmt: skip
METRICS = "metrics.json"


def load_model(folder: Path | str, backbone: torch.nn.Module | None = None) -> TrainedModel:
    """The model of a run folder; ``backbone`` is needed again where it was a module of the user's own."""
    folder = Path(folder)
    if not (folder / MODEL_RECORD).is_file():
        raise InvalidRun(
            f"folder {folder} without {MODEL_RECORD}" if folder.is_dir() else f"{folder}, which is not a folder",
            "the folder of a finished run",
            "train first (graphfnp train ...), or continue an interrupted run with --resume",
        )
    record = read_json(folder / MODEL_RECORD)
    if not isinstance(record, dict) or record.get("format") != FORMAT or record.get("method") not in list(CLASSIFIERS):
        raise InvalidRun(
            f"{folder / MODEL_RECORD}, which is not a model record of format {FORMAT} with a known method",
            f"a record written by this version, of a method among {', '.join(CLASSIFIERS)}",
            "train the model again with this version, or install the package that has its method",
        )
    tensors, _ = _named_tensors(folder / MODEL_TENSORS, record.get("sha256"))
    try:
        if large := [number for number in _numbers(record["settings"]) if abs(number) > LARGEST]:
            raise ValueError(f"a setting of {large[0]}")
        with _BoundedTensors(tensors):
            classifier = rebuild(record, backbone)
        calibration = Calibration.from_json(record["calibration"])
        if "label_mix" not in record:
            calibration = _for_training_mix(calibration, folder, record)
        conformal = _load_conformal(folder, record) if record.get("conformal") else None
        domain = _load_domain(folder / DOMAIN, record["domain"]) if record.get("domain") else None
        provenance = Provenance.from_json(record["provenance"]) if record.get("provenance") else None
        decision = Decision.from_json(record["decision"]) if record.get("decision") else None
    except (LookupError, TypeError, ValueError, AttributeError, RuntimeError, MemoryError, ArithmeticError) as error:
        raise InvalidRun(
            f"{folder / MODEL_RECORD}: {type(error).__name__} {str(error)[:300]}",
            "a record as it was written",
            "copy both files again from where they came, or train again",
        ) from error
    classifier.make_room(tensors)
    _check_fit(tensors, classifier.state_dict())
    _check_finite(folder, {**tensors, **({} if domain is None else domain.tensors())}, record)
    classifier.load_state_dict(tensors)
    classifier.eval()
    return TrainedModel(classifier, calibration, conformal, domain, provenance, folder, decision)


def _for_training_mix(calibration: Calibration, folder: Path, record: Mapping[str, Any]) -> Calibration:
    """Records of earlier versions assume an even mix: the shares of the training part are among their measures."""
    if not calibration.prior or not (folder / METRICS).is_file() or "calibrated_on" in record.get("facts", {}):
        return calibration
    shares = read_json(folder / METRICS).get("label_shift", {}).get("shares", {}).get("train")
    return calibration.with_prior(shares) if shares else calibration


def _load_conformal(folder: Path, record: Mapping[str, Any]) -> Conformal:
    """Models of earlier versions have no embeddings of their held-out graphs."""
    digest = record.get("held_out")
    embedding = _named_tensors(settle_held_out(folder, digest), digest)[0]["embedding"] if digest else None
    conformal = Conformal.from_json(record["conformal"], embedding)
    if embedding is not None and (len(embedding) != sum(map(len, conformal.scores)) or not embedding.isfinite().all()):
        raise ValueError(f"{HELD_OUT} does not hold a finite embedding for each conformal score")
    return conformal


def _load_domain(path: Path, digest: str) -> Domain:
    tensors, record = _named_tensors(path, digest)
    return Domain.from_tensors(tensors, record["text"])


def _named_tensors(path: Path, digest: str | None) -> tuple[dict[str, Tensor], Any]:
    """The tensors of the very file that a model's record names."""
    tensors, record = read_tensors(path)
    if hashlib.sha256(path.read_bytes()).hexdigest() != digest:
        raise InvalidRun(
            f"{path}, which is not the file that {MODEL_RECORD} names",
            "tensors and record of one model",
            "copy all files again from where they came",
        )
    return tensors, record


class _BoundedTensors(TorchFunctionMode):
    """Refuses new tensors beyond a number of elements: a record may ask for any size, its file has what it has."""

    def __init__(self, tensors: Mapping[str, Tensor]) -> None:
        super().__init__()
        # Several times what ends in the model: constructors also compute.
        self.left = ROOM + 16 * sum(tensor.numel() for tensor in tensors.values())

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function in FACTORIES:
            self.left -= _asked_for(function, args, kwargs or {})
            if self.left < 0:
                raise ValueError("settings that ask for more than its file of tensors holds")
        return function(*args, **(kwargs or {}))


def _asked_for(factory: Any, args: Any, kwargs: Mapping[str, Any]) -> int:
    """Elements: the product of a shape, given as a tuple or as numbers."""
    given = [*args, *kwargs.values()]
    shape = next((one for one in given if isinstance(one, tuple | list)), None)
    sizes = [abs(int(n)) for n in (given if shape is None else shape) if isinstance(n, int) and not isinstance(n, bool)]
    return prod(sizes) ** (2 if factory is torch.eye and len(sizes) == 1 else 1)


def _check_finite(folder: Path, tensors: Mapping[str, Tensor], record: Mapping[str, Any]) -> None:
    wrong = [name for name, tensor in tensors.items() if tensor.is_floating_point() and tensor.isnan().any()]
    wrong += [name for name in ("calibration", "conformal") if not all(map(isfinite, _numbers(record.get(name))))]
    if wrong:
        raise InvalidRun(
            f"{folder} with NaN in {listed(wrong)}", "numbers in all weights, and a calibration of finite numbers",
            "train again, or copy all files again from where they came",
        )  # fmt: skip


def _numbers(value: Any) -> Iterator[float]:
    """All numbers of a JSON value."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _numbers(inner)


def _check_fit(given: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> None:
    shapes = [{name: tuple(tensor.shape) for name, tensor in tensors.items()} for tensors in (given, expected)]
    if wrong := sorted(name for name, _ in shapes[0].items() ^ shapes[1].items()):
        name = wrong[0]
        raise InvalidRun(
            f"{len(set(wrong))} tensors that do not fit the model, e.g. {name} of shape {shapes[0].get(name, 'none')}",
            f"the tensors of this model, e.g. {name} of shape {shapes[1].get(name, 'none')}",
            "pass the same backbone module the model was trained with, or train again",
        )


def rebuild(record: Mapping[str, Any], backbone: torch.nn.Module | None = None) -> GraphClassifier:
    """A classifier of the recorded method, settings and schema, its weights still untrained."""
    method = CLASSIFIERS[record["method"]]
    try:
        settings = from_json(type(method.config), record["settings"])
    except InvalidConfig as error:
        raise InvalidRun(
            f"a model of another version: its {error.given} is not known to this one",
            f"a {record['method']} model trained with this version",
            "train it again with the command in its config.json, or use the version that trained it",
        ) from error
    fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in record["schema"].items()}
    return method.classifier(Schema(**fields), settings, backbone)
