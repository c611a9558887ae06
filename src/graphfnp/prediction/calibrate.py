"""The verb ``calibrate``: what labelled graphs the model was not trained on teach about its probabilities."""

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import torch
from torch import Tensor

from graphfnp.errors import InvalidConfig, InvalidGraphs
from graphfnp.graphs.matching import matching
from graphfnp.graphs.packed import PackedGraphs
from graphfnp.prediction.calibration import KINDS, SCALINGS, Calibration, Kind, fit_calibration
from graphfnp.prediction.conformal import LEVEL, Conformal, fit_conformal
from graphfnp.prediction.label_mix import label_shares
from graphfnp.prediction.offset import with_offset
from graphfnp.prediction.predict import RawPredictions, TrainedModel, check_model, collect
from graphfnp.prediction.predictions import Predictions
from graphfnp.randomness import stream


def calibrate(
    model: TrainedModel, graphs: PackedGraphs, kind: Kind = "soft", conformal_share: float = 0.0, seed: int = 0
) -> TrainedModel:
    """The model with calibration and conformal sets fitted on these labelled graphs."""
    check_model(model)
    graphs = labelled(matching(graphs, model.classifier.schema))
    raw = collect(model.classifier, graphs, seed=seed)
    calibration, conformal = _fit_for_own_mix(model, raw, graphs.y, kind, conformal_share, seed)
    known = model.provenance and model.provenance.unmeasured("calibrated anew")
    return replace(model, calibration=calibration, conformal=conformal, provenance=known, decision=None)


def fit_held_out(
    raw: RawPredictions,
    y: Tensor,
    kind: Kind = "soft",
    conformal_share: float = 0.0,
    seed: int = 0,
    class_weight: Tensor | None = None,
    prior: Sequence[float] = (),
) -> tuple[Calibration, Conformal]:
    """Calibration of all but the share held back, and conformal sets of that share; of all labels if there is none."""
    back = held_back(y, conformal_share, seed)
    used = raw.select(~back)
    calibration = fit_calibration(kind, used.logits, y[~back], class_weight, prior)
    calibration = with_offset(calibration, used.logits, y[~back])
    judged = back if back.any() else torch.ones_like(back)
    probabilities = calibration.apply(raw.logits).mean(0)
    return calibration, fit_conformal(probabilities[judged], y[judged], bool(back.any()), raw.embedding[judged])


def held_back(y: Tensor, share: float, seed: int) -> Tensor:
    """bool [N]: a seeded share of the graphs of each class, for the conformal sets alone."""
    chosen = torch.zeros(len(y), dtype=torch.bool)
    for k in y[y >= 0].unique():
        members = torch.where(y == k)[0]
        order = torch.randperm(len(members), generator=stream(seed, "conformal", int(k)))
        chosen[members[order[: round(share * len(members))]]] = True
    return chosen


def cross_fitted(
    model: TrainedModel,
    graphs: PackedGraphs,
    kind: Kind = "soft",
    folds: int = 5,
    seed: int = 0,
    conformal_share: float = 0.0,
) -> tuple[Predictions, Predictions, Tensor]:
    """Predictions before and after, and conformal sets [N, K] after, of graphs that each fit has not seen.

    Every fold is predicted by what was fitted on the others: an honest forecast for a fit on all of them, which holds
    back the same share for conformal sets.
    """
    graphs = labelled(matching(graphs, model.classifier.schema))
    raw, y = collect(model.classifier, graphs, seed=seed), graphs.y
    before = model.calibration.apply(raw.logits)
    after, sets = torch.empty_like(before), torch.empty(before.shape[1:], dtype=torch.bool)
    fold = _folds(y, folds, seed)
    for number in range(folds):
        inside, outside = fold == number, fold != number
        calibration, conformal = _fit_for_own_mix(model, raw.select(outside), y[outside], kind, conformal_share, seed)
        after[:, inside] = calibration.apply(raw.select(inside).logits)
        sets[inside] = conformal.sets(calibration.before_log_prior(after[:, inside]).mean(0), LEVEL)
    return Predictions(before, y, raw.distance), Predictions(after, y, raw.distance), sets


def labelled(graphs: PackedGraphs) -> PackedGraphs:
    """The graphs with labels; InvalidGraphs unless they are of two classes or more."""
    known = graphs.select(torch.where(graphs.y >= 0)[0])
    if int((known.class_counts > 0).sum()) < 2:
        names = zip(graphs.schema.class_names, known.class_counts.tolist(), strict=True)
        raise InvalidGraphs(
            f"{len(known)} labelled graphs ({', '.join(f'{name} {count}' for name, count in names)})",
            "labelled graphs of two classes or more",
            "check the label column",
        )
    return known


def checked_kind(kind: str, conformal_share: float) -> Kind:
    """The kind, if it is one, and the share is a share."""
    if kind not in KINDS:
        raise InvalidConfig(f"calibration {kind!r}", f"one of {', '.join(KINDS)}", "choose one of these")
    if not 0 <= conformal_share < 1:
        raise InvalidConfig(f"a conformal share of {conformal_share:g}", "a share in [0, 1)", "try 0.5")
    return cast(Kind, kind)


def _fit_for_own_mix(
    model: TrainedModel, raw: RawPredictions, y: Tensor, kind: Kind, conformal_share: float, seed: int
) -> tuple[Calibration, Conformal]:
    """Fitted so that the probabilities are for the label mix of these graphs.

    Vector and isotonic scaling learn the mix along with the rest. A scalar cannot: it is fitted with classes weighed to
    the mix the logits assume, and Bayes' rule does the rest.
    """
    prior, shares = model.calibration.prior, label_shares(y, raw.logits.shape[-1])
    if SCALINGS[kind].learns_mix or not prior:
        calibration, conformal = fit_held_out(raw, y, kind, conformal_share, seed)
        if prior and not calibration.prior:  # too few labels for a fit, which would have learned the mix
            calibration = replace(calibration, prior=prior).with_prior(shares)
        return calibration, conformal
    weight = torch.tensor(prior).double() / torch.tensor(shares).double().clamp(min=1 / len(y))
    calibration, conformal = fit_held_out(raw, y, kind, conformal_share, seed, weight, prior)
    return calibration.with_prior(shares), conformal


def _folds(y: Tensor, folds: int, seed: int) -> Tensor:
    """[N]: the fold of each graph, every class spread evenly over the folds."""
    order = torch.randperm(len(y), generator=stream(seed, "folds"))
    order = order[torch.argsort(y[order], stable=True)]
    return torch.empty_like(y).scatter_(0, order, torch.arange(len(y)) % folds)
