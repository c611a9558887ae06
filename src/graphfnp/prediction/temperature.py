"""Temperature scaling: one number that all logits are divided by, fitted within bounds."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True)
class Temperature:
    """p_s = softmax(f_s / T)"""

    temperature: float = 1.0
    learns_mix: ClassVar[bool] = False  # would a fit learn the label mix of the held-out labels?
    bounds: ClassVar[tuple[float, float]] = (0.2, 10.0)

    @classmethod
    def fit(cls, logits: Tensor, y: Tensor, weight: Tensor) -> "Temperature":
        return Temperature(fit_temperature(logits, y, weight, *cls.bounds))

    def apply(self, logits: Tensor) -> Tensor:
        return (logits / self.temperature).softmax(-1)

    def to_json(self) -> dict:
        return {"temperature": self.temperature}


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
