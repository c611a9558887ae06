"""Vector scaling: a slope and an offset for each class, near the identity unless held-out labels say otherwise."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor


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
    parameters = torch.zeros(2, logits.shape[-1], dtype=torch.double, requires_grad=True)
    optimizer = torch.optim.LBFGS([parameters], max_iter=200, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimizer.zero_grad()
        log_slope, offset = parameters
        log_draws = (log_slope.exp() * logits + offset).log_softmax(-1)
        chosen = log_draws.gather(-1, y.expand(len(logits), -1).unsqueeze(-1)).squeeze(-1)  # [S, N]
        mean = chosen.logsumexp(0) - torch.tensor(len(logits)).log()
        total = -(weight @ mean) + parameters.square().sum() / 2
        total.backward()
        return total

    optimizer.step(loss)
    log_slope, offset = parameters.detach()
    return tuple(log_slope.exp().tolist()), tuple(offset.tolist())
