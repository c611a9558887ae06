"""Rows that weigh more than others: learned from more often."""

import torch

from graphfnp.errors import InvalidConfig
from graphfnp.randomness import stream


def resampled(weight: torch.Tensor, seed: int = 0) -> torch.Tensor:
    """As many numbers as there are weights, number i about e_i = n w_i / sum(w) times: e_i rounded up or down."""
    if not weight.isfinite().all() or (weight < 0).any() or float(weight.sum()) <= 0:
        raise InvalidConfig("sample_weight", "finite weights, none below 0 and not all 0", "check the weights")
    expected = len(weight) * weight / weight.sum()
    times = (expected + 1e-9).floor()
    more = len(weight) - int(times.sum())
    if more:
        rest = (expected - times).clamp(min=0)
        times[torch.multinomial(rest, more, generator=stream(seed, "sample weights"))] += 1
    return torch.repeat_interleave(times.long())
