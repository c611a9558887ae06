"""The losses of the E-step and the M-step as pure functions of log kappa, labels and logits (Eq. 10 and 11)."""

import math

import torch
from torch import Tensor

LINK_POWER = 16.0  # nearly the maximum over own rationales: a softer one draws them all to the middle
SEPARATION_POWER = 8.0
COVERAGE = 0.2  # every rationale near some graph, against every graph near some rationale


def own_class(y: Tensor, rationale_label: Tensor) -> Tensor:
    """[graphs, rationales]: does the rationale speak for the graph's class?"""
    return y.unsqueeze(-1) == rationale_label


def link_loss(log_kappa: Tensor, own: Tensor, weight: Tensor) -> Tensor:
    """-mean_i (1/p) log sum_{j own} kappa_ij^p - c mean_j max_{i own} log kappa_ij.

    Not in the paper, whose losses let rationales leave the data: it holds every graph near a rationale of its class and
    every rationale near a graph of its class.
    """
    soft = torch.logsumexp((LINK_POWER * log_kappa).masked_fill(~own, -math.inf), dim=-1) / LINK_POWER
    reached = log_kappa.masked_fill(~own, -math.inf).amax(0)
    present = torch.isfinite(reached)  # a class may be absent from a batch
    coverage = reached[present].mean() if present.any() else log_kappa.new_zeros(())
    return -(weight * soft).mean() - COVERAGE * coverage


def separation_loss(log_kappa: Tensor, own: Tensor, weight: Tensor) -> Tensor:
    """-mean_i log(sum_{j own} kappa_ij^p / sum_j kappa_ij^p): nearer to own rationales than to the others."""
    scores = SEPARATION_POWER * log_kappa
    own_mass = torch.logsumexp(scores.masked_fill(~own, -math.inf), dim=-1)
    return (weight * (torch.logsumexp(scores, dim=-1) - own_mass)).mean()
