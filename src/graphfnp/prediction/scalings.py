"""Scalings of logits, one class each: a temperature, a slope and an offset for each class, isotonic curves."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

ROUNDS = 60
SMALLEST_PROBABILITY = 1e-9
SLOPE = 1e-3  # of the steps of an isotonic curve


def rake(draws: Tensor, target: Tensor) -> Tensor:
    """Draws p_s[k] a_s b[k] [S, N, K] that sum to 1 over k and whose mean over s is the target [N, K].

    Iterative proportional fitting: of all draws with this mean, those nearest to the given ones in relative entropy.
    """
    moved, target = draws.double().clamp(min=SMALLEST_PROBABILITY), target.double().clamp(min=SMALLEST_PROBABILITY)
    for _ in range(ROUNDS):
        moved = moved * (target / moved.mean(0))
        moved = moved / moved.sum(-1, keepdim=True)
    return moved.to(draws)


def reweighed(probabilities: Tensor, log_ratio: Sequence[float] | Tensor) -> Tensor:
    """p'[k] = p[k] r[k] / sum_j p[j] r[j]: Bayes' rule, when class k has become r[k] times as frequent."""
    return (probabilities.log() + torch.as_tensor(log_ratio).to(probabilities)).softmax(-1)


@dataclass(frozen=True)
class Temperature:
    """p_s = softmax(f_s / T + b)"""

    temperature: float = 1.0
    offset: tuple[float, ...] = ()  # b, of each class; (): none
    learns_mix: ClassVar[bool] = False  # would a fit learn the label mix of the held-out labels?
    bounds: ClassVar[tuple[float, float]] = (0.2, 10.0)

    @classmethod
    def fit(cls, logits: Tensor, y: Tensor, weight: Tensor) -> "Temperature":
        return Temperature(fit_temperature(logits, y, weight, *cls.bounds))

    def apply(self, logits: Tensor) -> Tensor:
        scaled = logits / self.temperature
        return (scaled + logits.new_tensor(self.offset) if self.offset else scaled).softmax(-1)

    def to_json(self) -> dict:
        return {"temperature": self.temperature, **({"offset": self.offset} if self.offset else {})}


class SoftTemperature(Temperature):
    """A temperature that can only add doubt, the default.

    A validation part easier than what comes later (BBBP) would have a free temperature sharpen; without an upper bound
    that of a part unlike the training part (BACE) diverges.
    """

    bounds = (1.0, 10.0)


class Unscaled(Temperature):
    """p_s = softmax(f_s), whatever the labels say."""

    @classmethod
    def fit(cls, logits: Tensor, y: Tensor, weight: Tensor) -> Temperature:
        return Temperature()


def fit_temperature(logits: Tensor, y: Tensor, weight: Tensor, low: float, high: float) -> float:
    """The T in [low, high] of lowest -sum_i w_i [t_i log p_i + (1 - t_i) log(1 - p_i)], p = mean_s softmax(f_s / T)[y].

    ``logits`` [S, N, K], ``y`` [N], ``weight`` [N]. Platt's targets t = (n + 1) / (n + 2) for a class of n labels:
    labels that are all predicted right must not drive the confidence to 1, since so few of them cannot show it.
    """
    # Only the label's probability counts, 1 / (1 + sum_k exp(f_k - f_y)): several times quicker than a softmax.
    margins = _against_label(logits.detach(), y)
    weight = weight.double()
    target = 1 - 1 / (torch.bincount(y, minlength=logits.shape[-1]).double() + 2)[y]
    least = torch.finfo(torch.float32).tiny

    def loss(temperature: float) -> float:
        chosen = (1 + (margins / temperature).exp().sum(-1)).reciprocal().mean(0).double().clamp(min=least)
        rest = (1 - chosen).clamp(min=least)
        return float(-(weight @ (target * chosen.log() + (1 - target) * rest.log())) / weight.sum())

    return _minimum(loss, low, high)


def _against_label(scores: Tensor, y: Tensor) -> Tensor:
    """[S, N, K - 1]: score of every other class minus that of the label, for scores [S, N, K]."""
    classes = (y[:, None] + torch.arange(scores.shape[-1])) % scores.shape[-1]  # [N, K], the label first
    turned = scores.gather(-1, classes.expand_as(scores))
    return turned[..., 1:] - turned[..., :1]


def _minimum(loss: Callable[[float], float], low: float, high: float) -> float:
    """Where in [low, high] the loss is least: a coarse look on a log scale, then Brent's search around the best."""
    from scipy.optimize import minimize_scalar  # slow to import, and only fitting needs it

    def at(place: float) -> float:
        return loss(float(np.exp(place)))

    grid = np.linspace(np.log(low), np.log(high), 9)
    best = int(np.argmin([at(place) for place in grid]))
    around = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    refined = minimize_scalar(at, bounds=around, method="bounded", options={"xatol": 1e-3})
    return float(np.exp(min(grid[best], refined.x, key=at)))


@dataclass(frozen=True)
class VectorScaling:
    """p_s = softmax(a f_s + b), a and b of each class"""

    scale: tuple[float, ...]
    offset: tuple[float, ...]
    learns_mix: ClassVar[bool] = True

    @classmethod
    def fit(cls, logits: Tensor, y: Tensor, weight: Tensor) -> "VectorScaling":
        return cls(*fit_vector(logits, y, weight))

    def apply(self, logits: Tensor) -> Tensor:
        return (logits * logits.new_tensor(self.scale) + logits.new_tensor(self.offset)).softmax(-1)

    def to_json(self) -> dict:
        return {"temperature": 1.0, "scale": self.scale, "offset": self.offset}


def fit_vector(logits: Tensor, y: Tensor, weight: Tensor) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Slopes exp(a) > 0 and offsets b that minimise sum_i w_i -log mean_s softmax(exp(a) f_s + b)[y_i] + |a, b|^2 / 2.

    ``logits`` [S, N, K], ``y`` [N], ``weight`` [N]. The penalty is a standard normal prior: few labels move little.
    """
    logits, weight = logits.double(), weight.double() / weight.double().mean()

    def loss(parameters: Tensor) -> Tensor:
        log_slope, offset = parameters
        log_draws = (log_slope.exp() * logits + offset).log_softmax(-1)
        chosen = log_draws.gather(-1, y.expand(len(logits), -1).unsqueeze(-1)).squeeze(-1)  # [S, N]
        return -(weight @ (chosen.logsumexp(0) - torch.tensor(len(logits)).log()))

    log_slope, offset = most_probable(loss, 2, logits.shape[-1])
    return tuple(log_slope.exp().tolist()), tuple(offset.tolist())


def most_probable(loss: Callable[[Tensor], Tensor], *shape: int) -> Tensor:
    """The parameters [shape] of least loss + |parameters|^2 / 2, a standard normal prior, by L-BFGS from 0."""
    parameters = torch.zeros(*shape, dtype=torch.double, requires_grad=True)
    optimizer = torch.optim.LBFGS([parameters], max_iter=200, line_search_fn="strong_wolfe")

    def with_prior() -> Tensor:
        optimizer.zero_grad()
        total = loss(parameters) + parameters.square().sum() / 2
        total.backward()
        return total

    optimizer.step(with_prior)
    return parameters.detach()


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
    ends at 0 or 1, which a single wrong label would make infinitely surprising. A little of the claim is added: on a
    level step all graphs would be ranked by rounding, so they keep the order they had.
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
        claimed = np.unique([0.0, *fitted.X_thresholds_, 1.0])
        observed = (1 - SLOPE) * fitted.predict(claimed) + SLOPE * claimed
        curves.append(Curve(tuple(claimed.tolist()), tuple(observed.tolist())))
    return tuple(curves)


def through_curves(curves: Sequence[Curve], probabilities: Tensor) -> Tensor:
    """Each class's probability through its own curve, then divided by their sum; [N, K] -> [N, K]."""
    columns = probabilities.double().numpy().T
    moved = [np.interp(column, curve.claimed, curve.observed) for curve, column in zip(curves, columns, strict=True)]
    found = torch.from_numpy(np.stack(moved, -1))
    return (found / found.sum(-1, keepdim=True)).to(probabilities)
