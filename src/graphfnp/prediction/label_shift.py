"""Label shift: the label mixes of a dataset's parts, the mix a model assumes, and predictions for another mix."""

import shlex
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import torch

from graphfnp.datasets.dataset import PARTS, Dataset
from graphfnp.errors import InvalidGraphs
from graphfnp.prediction.label_mix import label_shares, mix_by_confusion, mix_by_em, mix_distance
from graphfnp.prediction.predict import TrainedModel, predict
from graphfnp.prediction.predictions import Predictions
from graphfnp.prediction.raking import reweighed

FEWEST_GRAPHS = 20  # whose label mix can be estimated


def label_shift(
    model: TrainedModel, dataset: Dataset, part: str, predictions: Predictions, seed: int = 0
) -> dict[str, Any]:
    """Class shares of each part, distances between them, and the mix of ``part`` estimated without its labels."""
    num_classes = dataset.graphs.num_classes
    shares = {
        name: label_shares(dataset.graphs.y[index], num_classes)
        for name in PARTS
        if len(index := getattr(dataset.split, name))
    }
    held_out = predictions if part == "validation" else predict(model, dataset.validation, seed=seed)
    mix = assumed_mix(model)
    as_fitted, as_fitted_held_out = (_as_fitted(model, one) for one in (predictions, held_out))
    return {
        "classes": list(dataset.graphs.schema.class_names),
        "shares": shares,
        "distance": {f"{a} to {b}": mix_distance(shares[a], shares[b]) for a, b in combinations(shares, 2)},
        "assumed": mix,
        "estimated": {
            "part": part,
            "em": None if mix is None else mix_by_em(as_fitted, _prior(model)),
            "bbse": mix_by_confusion(as_fitted_held_out, held_out.y, as_fitted),
        },
    }


def assumed_mix(model: TrainedModel) -> tuple[float, ...] | None:
    """The label mix a model's probabilities are made for; None for a model whose record does not say."""
    return replace(model.calibration, prior=_prior(model)).mix


def estimated_mix(model: TrainedModel, predictions: Predictions) -> tuple[float, ...]:
    """The label mix of unlabelled graphs by EM; InvalidGraphs where it cannot be told."""
    mix = assumed_mix(model)
    if mix is None or len(predictions) < FEWEST_GRAPHS:
        raise InvalidGraphs(
            f"{len(predictions)} graphs" + ("" if mix else " and a model that does not know its own label mix"),
            f"{FEWEST_GRAPHS} graphs or more, and a model that knows its mix",
            f"give the class shares yourself: --mix {shlex.quote(f'{model.classifier.schema.class_names[-1]}=0.3')}",
        )
    return mix_by_em(_as_fitted(model, predictions), _prior(model))


def for_mix(model: TrainedModel, mix: Sequence[float] | None) -> TrainedModel:
    """The model, its probabilities made for graphs of this label mix; None: as they are."""
    if mix is None:
        return model
    new = replace(model.calibration, prior=_prior(model)).with_prior(mix)
    if new.log_prior == model.calibration.log_prior:
        return model
    known = model.provenance and model.provenance.unmeasured("moved to another label mix")
    return replace(model, calibration=new, provenance=known)


def as_trained(model: TrainedModel) -> TrainedModel:
    """The model, its probabilities for the mix that training weighs the classes to: what tables are made of."""
    return replace(model, calibration=replace(model.calibration, log_prior=()))


def moved_to_mix(
    model: TrainedModel, predictions: Predictions, mix: tuple[float, ...]
) -> tuple[TrainedModel, Predictions]:
    """The model, and predictions it has made, for graphs of another label mix."""
    moved, draws = for_mix(model, mix), model.calibration.before_log_prior(predictions.draws)
    if moved.calibration.log_prior:
        draws = reweighed(draws, moved.calibration.log_prior)
    return moved, replace(predictions, draws=draws)


def _as_fitted(model: TrainedModel, predictions: Predictions) -> torch.Tensor:
    """Probabilities [N, K] for the mix that the calibration was fitted for: the mean over draws is right there."""
    return model.calibration.before_log_prior(predictions.draws).mean(0)


def _prior(model: TrainedModel) -> tuple[float, ...]:
    """As recorded; models of earlier versions do not record it, but class-balanced training assumes an even mix."""
    weight = model.classifier.class_weight
    is_balanced = bool((weight != 1).any())
    return model.calibration.prior or (tuple([1 / len(weight)] * len(weight)) if is_balanced else ())
