"""The post-hoc scalars: a temperature, a gate or a fallback, fitted quickly enough to judge every epoch by."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from scipy.optimize import minimize_scalar
from torch import Tensor

from graphfnp.calibration.transformation import Calibration, fallback_weight, logit_noise
from graphfnp.errors import InvalidConfig, listed

FEWEST_GRAPHS = 10
BEND = 10  # of the least doubt d^10: .006 at d = .6, where usual graphs are, and .6 at .95
LEAST = 0.005  # of a fallback, but for none at all
NOWHERE = 0.99  # as far as this are all graphs where the kernel is dead, as in the literal method: that tells nothing


@dataclass(frozen=True)
class Family:
    """Calibrations with one free number between two bounds."""

    low: float
    high: float
    member: Callable[[float], Calibration]
    by_distance: bool = True


# Without bounds the temperature of a validation set unlike the training set (BACE) diverges.
FAMILIES = {
    "temperature": Family(0.2, 10.0, lambda value: Calibration(temperature=value), by_distance=False),
    # Never alone: validation graphs that are all near cannot say that far ones need no doubt.
    "gate": Family(0.01, 400.0, lambda value: Calibration(gate=value, fallback=LEAST, bend=BEND)),
    "fallback": Family(LEAST, 1.0, lambda value: Calibration(fallback=value, bend=BEND)),
}
AUTO = ("auto",)  # these of the two, by whether there is a distance that tells something
WITH_DISTANCE, WITHOUT = ("gate",), ("temperature",)


def fit_calibration(
    logits: Tensor,
    y: Tensor,
    distance: Tensor | None = None,
    class_weight: Tensor | None = None,
    candidates: Sequence[str] = AUTO,
) -> Calibration:
    """The candidate scalar of lowest, possibly class-weighted, NLL of logits [S, N, K] on labels [N].

    AUTO is the gate where there is a distance, and else the temperature. None at all is a candidate too, but not beside
    those that go by distance.
    Labels that cannot tell (fewer than ten, or of one class) and logits that are not finite give the identity.
    """
    if tuple(candidates) == AUTO:
        candidates = WITH_DISTANCE if distance is not None and float(distance.median()) <= NOWHERE else WITHOUT
    if unknown := sorted(set(candidates) - set(FAMILIES)):
        raise InvalidConfig(f"candidate {listed(unknown)}", f"some of {listed(FAMILIES)}", "correct the name")
    known = y >= 0
    logits, y, distance = logits[:, known].detach(), y[known], None if distance is None else distance[known].detach()
    if not fit_to_tell(logits, y):
        return Calibration()
    num_draws, _, num_classes = logits.shape
    # Only the label's probability counts, 1 / (1 + sum_k exp(f_k - f_y)), and calibration is linear in f and the noise:
    # it may act on the differences, which is several times quicker than a softmax for every value tried.
    margins = _against_label(logits, y)
    noise = None
    if num_draws > 1:
        noise = _against_label(logit_noise(num_draws, num_classes, seed=0).to(logits)[:, None].expand_as(logits), y)
    weight = torch.ones(len(y)).double() if class_weight is None else class_weight.double()[y]
    # Platt's targets (n + 1) / (n + 2) for a class of n labels: labels that are all predicted right must not
    # drive the confidence to 1, since so few of them cannot show it.
    target = 1 - 1 / (torch.bincount(y, minlength=num_classes).double() + 2)[y]
    least = torch.finfo(torch.float32).tiny

    def loss(calibration: Calibration) -> float:
        draws = (1 + calibration.calibrated_logits(margins, distance, noise).exp().sum(-1)).reciprocal()
        if calibration.fallback > 0 and distance is not None:
            share = calibration.fallback_share(distance)
            draws = draws.lerp(torch.tensor(1 / num_classes), fallback_weight(share, num_draws))
        chosen = draws.mean(0).double().clamp(min=least)
        rest = (1 - chosen).clamp(min=least)
        return float(-(weight @ (target * chosen.log() + (1 - target) * rest.log())) / weight.sum())

    families = [FAMILIES[name] for name in candidates]
    fitted = [
        one.member(_minimum(lambda value, one=one: loss(one.member(value)), one.low, one.high))  # type: ignore[misc]
        for one in families
        if distance is not None or not one.by_distance
    ]
    if not any(calibration.fallback for calibration in fitted):
        fitted.insert(0, Calibration())  # first, so that it wins a tie
    return min(fitted, key=loss)


def fit_to_tell(logits: Tensor, y: Tensor) -> bool:
    """Are the labels enough, of two classes or more, and the logits finite?"""
    return len(y) >= FEWEST_GRAPHS and len(y.unique()) >= 2 and bool(logits.isfinite().all())


def _against_label(scores: Tensor, y: Tensor) -> Tensor:
    """[S, N, K - 1]: score of every other class minus that of the label, for scores [S, N, K]."""
    classes = (y[:, None] + torch.arange(scores.shape[-1])) % scores.shape[-1]  # [N, K], the label first
    turned = scores.gather(-1, classes.expand_as(scores))
    return turned[..., 1:] - turned[..., :1]


def _minimum(loss: Callable[[float], float], low: float, high: float) -> float:
    """Where in [low, high] the loss is least: a coarse look on a log scale, then Brent's search around the best."""

    def at(place: float) -> float:
        return loss(float(np.exp(place)))

    grid = np.linspace(np.log(low), np.log(high), 9)
    best = int(np.argmin([at(place) for place in grid]))
    around = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    refined = minimize_scalar(at, bounds=around, method="bounded", options={"xatol": 1e-3})
    return float(np.exp(min(grid[best], refined.x, key=at)))
