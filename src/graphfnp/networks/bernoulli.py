"""Bernoulli variables given by their log-probability: relaxed for training, hard for prediction."""

import torch
from torch import Tensor


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
