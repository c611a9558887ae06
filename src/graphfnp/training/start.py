"""Start from a model: the weights of its backbone, under a new head and new rationales."""

from dataclasses import asdict
from typing import Any

import torch

from graphfnp.errors import InvalidConfig
from graphfnp.methods.contract import GraphClassifier
from graphfnp.networks.backbone import BackboneConfig
from graphfnp.prediction.predict import TrainedModel

BACKBONE = "backbone."


def backbone_settings(model: TrainedModel) -> dict[str, Any]:
    """Overrides that give a new classifier the backbone of this model."""
    return {f"{BACKBONE}{name}": value for name, value in asdict(_config(model)).items()}


def start_from(classifier: GraphClassifier, model: TrainedModel, freeze: int = 0) -> GraphClassifier:
    """The classifier, every backbone in it with the weights of the model's; ``freeze`` layers, and the features that
    they read, keep them. Running statistics of norms follow the new graphs in any case.
    """
    given = _of_backbones(model.classifier.state_dict())
    tensors = classifier.state_dict()
    part_of = {name: _suffix(name) for name in tensors if _suffix(name)}
    wrong = [name for name, part in part_of.items() if part not in given or given[part].shape != tensors[name].shape]
    if not part_of or wrong:
        name = wrong[0] if wrong else "no backbone"
        other = given.get(part_of.get(name, ""))
        raise InvalidConfig(
            f"a start from a model whose backbone does not fit, e.g. {name} of shape "
            f"{'none' if other is None else tuple(other.shape)}",
            f"shape {tuple(tensors[name].shape)}" if wrong else "a method with a backbone",
            "use graphs with the same features, and leave the settings of the backbone to the model",
        )
    layers = _config(model).layers
    if not 0 <= freeze <= layers:
        raise InvalidConfig(f"{freeze} frozen layers", f"0 to {layers}", "freeze fewer")
    with torch.no_grad():
        for name, part in part_of.items():
            tensors[name].copy_(given[part])
    frozen = (
        ("input.", *(f"{kind}.{layer}." for layer in range(freeze) for kind in ("layers", "norms"))) if freeze else ()
    )
    for name, parameter in classifier.named_parameters():
        if _suffix(name).startswith(frozen):
            parameter.requires_grad_(False)
    return classifier


def _config(model: TrainedModel) -> BackboneConfig:
    config = getattr(getattr(model.classifier, "config", None), "backbone", None)
    if not isinstance(config, BackboneConfig):
        raise InvalidConfig(
            f"a start from a {type(model.classifier).__name__}", "a model with a backbone", "choose one"
        )
    return config


def _suffix(name: str) -> str:
    """The name within its backbone; empty if it is in none, or belongs to descriptors, which are each model's own."""
    suffix = f".{name}".partition(f".{BACKBONE}")[2]
    return "" if suffix.startswith("descriptors.") else suffix


def _of_backbones(tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The first of several, as in an ensemble."""
    parts: dict[str, torch.Tensor] = {}
    for name, tensor in tensors.items():
        if part := _suffix(name):
            parts.setdefault(part, tensor)
    return parts
