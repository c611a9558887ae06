"""Isotonic scaling: for each class a rising curve from claimed probability to observed frequency."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from graphfnp.prediction.raking import rake


@dataclass(frozen=True)
class Curve:
    """Straight lines between points, level beyond the outer ones."""

    claimed: tuple[float, ...]
    observed: tuple[float, ...]

    @classmethod
    def from_json(cls, record: Mapping) -> "Curve":
        return cls(tuple(record["claimed"]), tuple(record["observed"]))


@dataclass(frozen=True)
class IsotonicScaling:
    """The mean over draws goes through the curves, and the draws follow it."""

    curves: tuple[Curve, ...]  # one for each class
    learns_mix: ClassVar[bool] = True

    @classmethod
    def fit(cls, logits: Tensor, y: Tensor, weight: Tensor) -> "IsotonicScaling":
        return cls(fit_curves(logits.softmax(-1).mean(0), y, weight))

    def apply(self, logits: Tensor) -> Tensor:
        draws = logits.softmax(-1)
        return rake(draws, through_curves(self.curves, draws.mean(0)))

    def to_json(self) -> dict:
        return {"temperature": 1.0, "isotonic": tuple(asdict(curve) for curve in self.curves)}


def fit_curves(probabilities: Tensor, y: Tensor, weight: Tensor) -> tuple[Curve, ...]:
    """One curve for each class against the rest, of probabilities [N, K], labels [N] and their weights [N].

    Labels are Platt's targets, (n + 1) / (n + 2) and 1 / (n' + 2) for n graphs in and n' out of the class: no curve
    ends at 0 or 1, which a single wrong label would make infinitely surprising.
    """
    from sklearn.isotonic import IsotonicRegression  # a second to import, and only fitting needs it

    curves = []
    for k in range(probabilities.shape[-1]):
        inside = (y == k).double()
        count = inside.sum()
        target = torch.where(inside > 0, (count + 1) / (count + 2), 1 / (len(y) - count + 2))
        fitted = IsotonicRegression(out_of_bounds="clip").fit(
            probabilities[:, k].double().numpy(), target.numpy(), sample_weight=weight.double().numpy()
        )
        curves.append(Curve(tuple(fitted.X_thresholds_.tolist()), tuple(fitted.y_thresholds_.tolist())))
    return tuple(curves)


def through_curves(curves: Sequence[Curve], probabilities: Tensor) -> Tensor:
    """Each class's probability through its own curve, then divided by their sum; [N, K] -> [N, K]."""
    columns = probabilities.double().numpy().T
    moved = [np.interp(column, curve.claimed, curve.observed) for curve, column in zip(curves, columns, strict=True)]
    found = torch.from_numpy(np.stack(moved, -1))
    return (found / found.sum(-1, keepdim=True)).to(probabilities)
