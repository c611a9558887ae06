"""Models to files, without pickle: tensors in safetensors, all else as JSON; runs/ reads them again."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from graphfnp.errors import InvalidConfig
from graphfnp.files import write_json, write_tensors
from graphfnp.methods.contract import GraphClassifier
from graphfnp.methods.registry import CLASSIFIERS
from graphfnp.prediction.domain import Domain
from graphfnp.prediction.label_mix import assumed_mix
from graphfnp.prediction.predict import TrainedModel
from graphfnp.settings import to_json

FORMAT = 1
MODEL_TENSORS, MODEL_RECORD, DOMAIN = "model.safetensors", "model.json", "domain.safetensors"
HELD_OUT = "held_out.safetensors"
HELD_OUT_NEXT = f"{HELD_OUT}.next"  # of a calibration in place, until the record names it
MODEL_FILES = (MODEL_RECORD, MODEL_TENSORS, DOMAIN, HELD_OUT)  # all of a model: what is removed, or shared, together


def save_model(
    model: TrainedModel, folder: Path | str, method: str | None = None, facts: Mapping[str, Any] | None = None
) -> None:
    """Tensors of the model, its domain and its held-out graphs, and model.json: all that prediction needs."""
    folder, method = Path(folder), method or method_of(model.classifier)
    if folder.exists() and not folder.is_dir():
        raise InvalidConfig(f"{folder}, which is a file", "a folder to write the model into", "name another")
    digest = write_tensors(folder / MODEL_TENSORS, model.classifier.state_dict())
    record = {
        "format": FORMAT,
        "method": method,
        "settings": to_json(model.classifier.config),
        "schema": model.classifier.schema.to_json(),
        "calibration": model.calibration.to_json(),
        "conformal": None if model.conformal is None else model.conformal.to_json(),
        "held_out": save_held_out(model, folder),
        "decision": None if model.decision is None else model.decision.to_json(),
        "domain": None if model.domain is None else _save_domain(model.domain, folder / DOMAIN),
        "label_mix": assumed_mix(model),
        "sha256": digest,
        "provenance": None if model.provenance is None else model.provenance.to_json(),
        "facts": dict(facts or {}),
    }
    write_json(folder / MODEL_RECORD, record)


def method_of(classifier: GraphClassifier) -> str:
    """The name under which the registry makes such a classifier."""
    own = type(classifier).__name__, type(getattr(classifier, "config", None)).__name__
    for name, method in CLASSIFIERS.items():
        if (method.classifier.__name__, type(method.config).__name__) == own:
            return name
    raise InvalidConfig(
        f"a {own[0]}, which is not a registered method", f"one of {', '.join(CLASSIFIERS)}", "name it: method=..."
    )


def save_held_out(model: TrainedModel, folder: Path, name: str = HELD_OUT) -> str | None:
    """The sha256 of the embeddings of the graphs that the conformal sets rest on; None where there are none."""
    if model.conformal is None or model.conformal.embedding is None:
        return None
    return write_tensors(folder / name, {"embedding": model.conformal.embedding})


def replace_record(record: Mapping[str, Any], folder: Path) -> None:
    """A record in place of the one before, with the held-out graphs it names: whenever this is killed, both fit."""
    write_json(folder / MODEL_RECORD, record)
    settle_held_out(folder, record.get("held_out"))


def settle_held_out(folder: Path, digest: str | None) -> Path:
    """Where the held-out graphs are that a record names; what a kill has left beside their place is put there."""
    place, left = folder / HELD_OUT, folder / HELD_OUT_NEXT
    try:
        if digest is None or hashlib.sha256(left.read_bytes()).hexdigest() != digest:
            return place
        left.replace(place)
    except FileNotFoundError:  # nothing was left, or another process has just put it there
        return place
    except OSError:  # a folder that may only be read
        return left
    return place


def _save_domain(domain: Domain, path: Path) -> str:
    return write_tensors(path, domain.tensors(), {"text": domain.text})
