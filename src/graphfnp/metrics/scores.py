"""Accuracy, AUROC, AUPRC, negative log-likelihood and Brier score of class probabilities, and all scores together."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import torch
from torch import Tensor

from graphfnp.metrics.calibration_error import (
    bin_means,
    calibrated_errors,
    calibration_floor,
    ece_interval,
    equal_width,
    expected_calibration_error,
)
from graphfnp.prediction.label_mix import label_shares
from graphfnp.prediction.predictions import Predictions

FEWEST_RESAMPLED = 20  # of fewer graphs a bootstrap interval misses the true error in every second case, or in all


@dataclass(frozen=True, eq=False)
class RiskCoverage:
    """Share of errors among the most certain graphs, for every number of graphs kept."""

    coverage: Tensor  # [N]: 1 / N ... 1
    risk: Tensor  # [N]
    area: float  # mean risk over all coverages (AURC): less is better


def risk_coverage(uncertainty: Tensor, error: Tensor) -> RiskCoverage:
    """risk(n / N) = mean error (0/1 or any loss, [N]) of the n graphs of least uncertainty.

    Equally uncertain graphs each count with their mean error: what a random order among them gives on average.
    """
    _, group = torch.unique(uncertainty, return_inverse=True)  # groups are numbered by rising uncertainty
    size = torch.bincount(group).double()
    mean = torch.bincount(group, weights=error.double()) / size
    kept = torch.arange(1, len(error) + 1, dtype=torch.double)
    risk = mean[group.sort().values].cumsum(0) / kept
    return RiskCoverage(kept / max(len(error), 1), risk, float(risk.mean()))


def accuracy(probabilities: Tensor, y: Tensor) -> Tensor:
    """Share of graphs whose most probable class is the label; [..., N, K], [..., N] -> [...]."""
    return (probabilities.argmax(-1) == y).double().mean(-1)


def negative_log_likelihood(probabilities: Tensor, y: Tensor, class_weight: Tensor | None = None) -> Tensor:
    """NLL = sum_i w_i (-log p_i[y_i]) / sum_i w_i in nats, w_i the weight of the label; [..., N, K], [..., N] -> [...].

    Dividing by the weights keeps log K the score of the uniform prediction, whatever the weights.
    """
    chosen = probabilities.double().gather(-1, y.unsqueeze(-1)).squeeze(-1)
    # A float32 softmax underflows to 0: the smallest normal number instead gives 87 nats, not infinity.
    losses = -chosen.clamp(min=torch.finfo(torch.float32).tiny).log()
    if class_weight is None:
        return losses.mean(-1)
    weight = class_weight.to(losses)[y]
    return (weight * losses).sum(-1) / weight.sum(-1)


def brier(probabilities: Tensor, y: Tensor) -> Tensor:
    """Brier = mean_i sum_k (p_ik - [y_i = k])^2, in [0, 2]; [..., N, K], [..., N] -> [...].

    The original sum over classes: with two classes it is twice the mean of (P(y = 1) - y)^2.
    """
    return (probabilities.double() - _one_hot(probabilities, y)).square().sum(-1).mean(-1)


@dataclass(frozen=True)
class BrierDecomposition:
    """brier = reliability - resolution + uncertainty."""

    reliability: float  # distance of the claims from the frequencies: less is better
    resolution: float  # how much the claims tell graphs apart: more is better
    uncertainty: float  # of the labels themselves


def brier_decomposition(probabilities: Tensor, y: Tensor, bins: int = 15) -> BrierDecomposition:
    """Murphy's three parts over equal-width bins of each class's probability, summed over classes.

    Forecasts that differ inside a bin add to Murphy's resolution (Stephenson et al. 2008), so the parts sum exactly.
    """
    claims, outcome = probabilities.T, _one_hot(probabilities, y).T
    found = bin_means(claims, outcome, equal_width(claims, bins), bins)
    reliability = float((found.share * (found.accuracy - found.confidence).square()).nansum())
    frequency = outcome.mean(-1)
    uncertainty = float((frequency * (1 - frequency)).sum())
    return BrierDecomposition(reliability, reliability + uncertainty - float(brier(probabilities, y)), uncertainty)


def auroc(probabilities: Tensor, y: Tensor) -> float | None:
    """Area under the ROC curve: of class 1 if there are two, else the mean over classes, each against the rest."""
    from sklearn.metrics import roc_auc_score  # a second to import, and predictions need none of it

    return _against_the_rest(roc_auc_score, probabilities, y)


def auprc(probabilities: Tensor, y: Tensor) -> float | None:
    """Average precision: of class 1 if there are two, else the mean over classes, each against the rest."""
    from sklearn.metrics import average_precision_score

    return _against_the_rest(average_precision_score, probabilities, y)


def all_scores(
    predictions: Predictions, mix: Sequence[float] | None = None
) -> dict[str, float | int | list[float] | None]:
    """Every score of the labelled graphs, ready for JSON; None where a score is not defined.

    ``mix``: the label mix that the probabilities assume.
    """
    known = predictions.labelled()
    probabilities, y = known.probabilities, known.y
    any_graph = len(y) > 0
    binary = any_graph and probabilities.shape[1] == 2
    error, by_chance = expected_calibration_error, calibrated_errors(probabilities)
    return {
        "accuracy": float(accuracy(probabilities, y)) if any_graph else None,
        "accuracy_of_majority": float(y.bincount().max()) / len(y) if any_graph else None,  # always the same answer
        "auroc": auroc(probabilities, y),
        "auprc": auprc(probabilities, y),
        "ece": float(error(probabilities, y)) if any_graph else None,
        "ece_interval": None if len(y) < FEWEST_RESAMPLED else list(ece_interval(probabilities, y, by_chance)),
        "ece_floor": float(by_chance.mean()) if any_graph else None,
        "ece_at_mix": _ece_at_mix(probabilities, y, mix),
        "ece_adaptive": float(error(probabilities, y, mode="adaptive")) if any_graph else None,
        "ece_positive_class": float(error(probabilities, y, mode="positive_class")) if binary else None,
        "ece_positive_class_floor": calibration_floor(probabilities, mode="positive_class") if binary else None,
        "nll": float(negative_log_likelihood(probabilities, y)) if any_graph else None,
        "brier": float(brier(probabilities, y)) if any_graph else None,
        **{f"brier_{name}": value for name, value in _brier_parts(probabilities, y).items()},
        "aurc": risk_coverage(1 - known.confidence, known.label != y).area if any_graph else None,
        "num_graphs": len(y),
    }


def _ece_at_mix(probabilities: Tensor, y: Tensor, mix: Sequence[float] | None) -> float | None:
    """ECE with graphs weighed so that their classes have the mix that the probabilities assume.

    On graphs of another mix the plain ECE has the difference of the mixes in it, beside what is wrong with the
    probabilities. None where a class of the mix has no graph.
    """
    own = label_shares(y, probabilities.shape[1])
    if mix is None or any(assumed > 0 and not share for assumed, share in zip(mix, own, strict=True)):
        return None
    weight = torch.tensor(tuple(mix)).double() / torch.tensor(own).double().clamp(min=1e-12)
    return float(expected_calibration_error(probabilities, y, weight=weight[y]))


def _brier_parts(probabilities: Tensor, y: Tensor) -> dict[str, float | None]:
    if not len(y):
        return dict.fromkeys((field.name for field in fields(BrierDecomposition)), None)
    return asdict(brier_decomposition(probabilities, y))


def _one_hot(probabilities: Tensor, y: Tensor) -> Tensor:
    return torch.nn.functional.one_hot(y, probabilities.shape[-1]).double()


def _against_the_rest(score: Callable[..., float], probabilities: Tensor, y: Tensor) -> float | None:
    """None if y holds one class only; classes that do not occur in y are left out of the mean."""
    present = y.unique().tolist()
    if len(present) < 2:
        return None
    classes = [1] if probabilities.shape[-1] == 2 else present
    return float(sum(score((y == k).numpy(), probabilities[:, k].numpy()) for k in classes) / len(classes))


def conformal_scores(sets: Tensor, y: Tensor) -> dict[str, Any]:
    """Coverage overall and for each class, and sizes, of sets bool [N, K] and labels [N], -1 where unknown.

    Coverage is over labelled graphs, sizes are over all; None where there are none.
    """
    known = y >= 0
    covered = sets[known].gather(1, y[known, None])[:, 0].double()
    size = sets.sum(-1)

    def mean(values: Tensor) -> float | None:
        return float(values.double().mean()) if len(values) else None

    return {
        "coverage": mean(covered),
        "coverage_per_class": [mean(covered[y[known] == k]) for k in range(sets.shape[1])],
        "mean_size": mean(size),
        "singletons": mean(size == 1),
        "empty": mean(size == 0),
    }
