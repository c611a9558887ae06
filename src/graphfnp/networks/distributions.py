"""Bernoulli and Gaussian variables, and noise for Monte Carlo draws of them: plain, or variance-reduced."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import torch
from torch import Tensor

from graphfnp.randomness import derive_seed, stream


@dataclass(frozen=True, eq=False)
class Gaussian:
    """N(mean, diag(exp(2 log_std))); ``log_std`` broadcasts against ``mean``."""

    mean: Tensor
    log_std: Tensor

    def at(self, noise: Tensor) -> Tensor:
        """The draw that standard normal ``noise`` stands for: mean + std * noise."""
        return self.mean + self.log_std.exp() * noise

    def sample(self) -> Tensor:
        return self.at(torch.randn_like(self.mean))

    def detach(self) -> "Gaussian":
        return Gaussian(self.mean.detach(), self.log_std.detach())


def kl_divergence(q: Gaussian, p: Gaussian) -> Tensor:
    """KL(q || p) = sum_d [log sp - log sq + (sq^2 + (mq - mp)^2) / (2 sp^2) - 1/2] over the last dimension."""
    variance_ratio = (2 * (q.log_std - p.log_std)).exp()
    shift = ((q.mean - p.mean) * (-p.log_std).exp()).square()
    return (0.5 * (variance_ratio + shift - 1) + p.log_std - q.log_std).expand_as(q.mean).sum(-1)


def log_one_minus_exp(log_p: Tensor) -> Tensor:
    """log(1 - p) from log p <= 0, accurate at both ends."""
    log_p = log_p.clamp(max=-1e-6)
    return torch.where(log_p > -0.6931, torch.log(-torch.expm1(log_p)), torch.log1p(-log_p.exp()))


def relaxed_bernoulli(log_p: Tensor, uniform: Tensor, temperature: float) -> Tensor:
    """Concrete relaxation: sigmoid((logit p + logit u) / temperature), differentiable in p."""
    logit = log_p - log_one_minus_exp(log_p)
    return torch.sigmoid((logit + torch.logit(uniform, eps=1e-6)) / temperature)


def hard_bernoulli(log_p: Tensor, uniform: Tensor) -> Tensor:
    """1 where u < p."""
    return (uniform < log_p.exp()).to(log_p.dtype)


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
