"""Temperature scaling: one number that all logits are divided by, fitted within bounds."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

FEWEST_GRAPHS = 10


def fit_temperature(logits: Tensor, y: Tensor, low: float, high: float, class_weight: Tensor | None = None) -> float:
    """The T in [low, high] of lowest -sum_i w_i [t_i log p_i + (1 - t_i) log(1 - p_i)], p = mean_s softmax(f_s / T)[y].

    ``logits`` [S, N, K], ``y`` [N]. Platt's targets t = (n + 1) / (n + 2) for a class of n labels: labels that are all
    predicted right must not drive the confidence to 1, since so few of them cannot show it.
    """
    # Only the label's probability counts, 1 / (1 + sum_k exp(f_k - f_y)): several times quicker than a softmax.
    margins = _against_label(logits.detach(), y)
    weight = torch.ones(len(y)).double() if class_weight is None else class_weight.double()[y]
    target = 1 - 1 / (torch.bincount(y, minlength=logits.shape[-1]).double() + 2)[y]
    least = torch.finfo(torch.float32).tiny

    def loss(temperature: float) -> float:
        chosen = (1 + (margins / temperature).exp().sum(-1)).reciprocal().mean(0).double().clamp(min=least)
        rest = (1 - chosen).clamp(min=least)
        return float(-(weight @ (target * chosen.log() + (1 - target) * rest.log())) / weight.sum())

    return _minimum(loss, low, high)


def labels_suffice(logits: Tensor, y: Tensor) -> bool:
    """Are the labels enough, of two classes or more, and the logits finite?"""
    return len(y) >= FEWEST_GRAPHS and len(y.unique()) >= 2 and bool(logits.isfinite().all())


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
