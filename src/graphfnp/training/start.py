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
    own = classifier.state_dict()
    wanted = {name: _suffix(name) for name in own if _suffix(name)}
    wrong = [name for name, part in wanted.items() if part not in given or given[part].shape != own[name].shape]
    if not wanted or wrong:
        name = wrong[0] if wrong else "no backbone"
        found = given.get(wanted.get(name, ""))
        raise InvalidConfig(
            f"a start from a model whose backbone does not fit, e.g. {name} of shape "
            f"{'none' if found is None else tuple(found.shape)}",
            f"shape {tuple(own[name].shape)}" if wrong else "a method with a backbone",
            "use graphs with the same features, and leave the settings of the backbone to the model",
        )
    layers = _config(model).layers
    if not 0 <= freeze <= layers:
        raise InvalidConfig(f"{freeze} frozen layers", f"0 to {layers}", "freeze fewer")
    with torch.no_grad():
        for name, part in wanted.items():
            own[name].copy_(given[part])
    kept = (
        ("input.", *(f"{kind}.{layer}." for layer in range(freeze) for kind in ("layers", "norms"))) if freeze else ()
    )
    for name, parameter in classifier.named_parameters():
        if _suffix(name).startswith(kept):
            parameter.requires_grad_(False)
    return classifier


def _config(model: TrainedModel) -> BackboneConfig:
    found = getattr(getattr(model.classifier, "config", None), "backbone", None)
    if not isinstance(found, BackboneConfig):
        raise InvalidConfig(
            f"a start from a {type(model.classifier).__name__}", "a model with a backbone", "choose one"
        )
    return found


def _suffix(name: str) -> str:
    """The name within its backbone; empty if it is in none, or belongs to descriptors, which are each model's own."""
    found = f".{name}".partition(f".{BACKBONE}")[2]
    return "" if found.startswith("descriptors.") else found


def _of_backbones(tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The first of several, as in an ensemble."""
    found: dict[str, torch.Tensor] = {}
    for name, tensor in tensors.items():
        if part := _suffix(name):
            found.setdefault(part, tensor)
    return found
