"""Raking: draws of probabilities moved so that their mean over draws is a given one."""

from collections.abc import Sequence

import torch
from torch import Tensor

ROUNDS = 60
SMALLEST_PROBABILITY = 1e-9


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
