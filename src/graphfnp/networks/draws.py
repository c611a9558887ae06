"""Noise for Monte Carlo draws: plain, or variance-reduced (antithetic pairs over a scrambled Sobol sequence)."""

from functools import lru_cache
from typing import Literal

import torch
from torch import Tensor

from graphfnp.randomness import derive_seed, stream

SOBOL_DIMS = 512  # beyond, even coverage of each coordinate buys nothing and the sequence takes long to scramble

DrawKind = Literal["quasi", "plain"]


@lru_cache(maxsize=64)
def uniform_draws(num_draws: int, dims: int, seed: int, name: str, kind: DrawKind = "quasi") -> Tensor:
    """[draws, dims] in (0, 1). Quasi: a scrambled Sobol point u for each pair, and its mirror image 1 - u.

    The same for every graph, so that a draw is one function and a graph's result does not depend on its batch. Sobol
    fills each coordinate evenly: a link of probability 1/16 is drawn twice in 32 draws, not 0 to 6 times.
    """
    if kind == "plain":
        return torch.rand(num_draws, dims, generator=stream(seed, name))
    half = (num_draws + 1) // 2
    if dims <= SOBOL_DIMS:
        engine = torch.quasirandom.SobolEngine(dims, scramble=True, seed=derive_seed(seed, name))
        points = engine.draw(half)
    else:
        points = torch.rand(half, dims, generator=stream(seed, name))
    points = points.clamp(1e-6, 1 - 1e-6)  # 0 and 1 are infinite in normal draws
    # Each stream in an order of its own: two Sobol sequences walked side by side are not independent.
    order = torch.randperm(num_draws, generator=stream(seed, name, "order"))
    return torch.cat([points, 1 - points])[:num_draws][order]


@lru_cache(maxsize=64)
def normal_draws(num_draws: int, dims: int, seed: int, name: str, kind: DrawKind = "quasi") -> Tensor:
    """[draws, dims] standard normal, by the inverse distribution function of :func:`uniform_draws`."""
    if kind == "plain":
        return torch.randn(num_draws, dims, generator=stream(seed, name))
    return torch.special.ndtri(uniform_draws(num_draws, dims, seed, name).double()).float()
