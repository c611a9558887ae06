"""The losses of the E-step and the M-step as pure functions of log kappa, labels and logits (Eq. 10 and 11)."""

import math

import torch
from torch import Tensor
from torch.nn.functional import normalize

LINK_POWER = 16.0  # nearly the maximum over own rationales: a softer one draws them all to the middle
SEPARATION_POWER = 8.0
ANGLE_SHARPNESS = 10.0
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
    return _own_share_loss(SEPARATION_POWER * log_kappa, own, weight)


def angle_loss(graphs: Tensor, rationales: Tensor, own: Tensor, weight: Tensor) -> Tensor:
    """-mean_i log(sum_{j own} exp(a cos_ij) / sum_j exp(a cos_ij)), cos_ij the cosine of z_i and z_j.

    Rationale F1 asks for the class of the rationale nearest in angle, so the E-step does too.
    """
    cosine = normalize(graphs, dim=-1) @ normalize(rationales, dim=-1).mT
    return _own_share_loss(ANGLE_SHARPNESS * cosine, own, weight)


def _own_share_loss(scores: Tensor, own: Tensor, weight: Tensor) -> Tensor:
    """-mean_i w_i log of the share that a graph's own rationales have in the softmax of its scores."""
    own_mass = torch.logsumexp(scores.masked_fill(~own, -math.inf), dim=-1)
    return (weight * (torch.logsumexp(scores, dim=-1) - own_mass)).mean()
