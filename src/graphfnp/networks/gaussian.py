"""Diagonal Gaussians as a value: mean and log standard deviation."""

from dataclasses import dataclass

import torch
from torch import Tensor


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

    def __getitem__(self, rows: slice) -> "Gaussian":
        """Some rows; a deviation shared by all rows stays shared."""
        return Gaussian(self.mean[rows], self.log_std[rows] if self.log_std.ndim == self.mean.ndim else self.log_std)

    def detach(self) -> "Gaussian":
        return Gaussian(self.mean.detach(), self.log_std.detach())


def kl_divergence(q: Gaussian, p: Gaussian) -> Tensor:
    """KL(q || p) = sum_d [log sp - log sq + (sq^2 + (mq - mp)^2) / (2 sp^2) - 1/2] over the last dimension."""
    variance_ratio = (2 * (q.log_std - p.log_std)).exp()
    shift = ((q.mean - p.mean) * (-p.log_std).exp()).square()
    return (0.5 * (variance_ratio + shift - 1) + p.log_std - q.log_std).expand_as(q.mean).sum(-1)
