"""The losses of the E-step as pure functions of log kappa, labels and logits."""

import math

import torch
from torch import Tensor

from graphfnp.networks.distributions import log_one_minus_exp

ONE_REASON = 0.3  # weight of "one link of the graph's class, if any": without it rationales of a class become one

MOST_SMALLER = 8.0


def own_class(y: Tensor, rationale_label: Tensor) -> Tensor:
    """[graphs, rationales]: does the rationale speak for the graph's class?"""
    return y.unsqueeze(-1) == rationale_label


def evidence(logits: Tensor, y: Tensor, log_prior: Tensor) -> Tensor:
    """[graphs] in [0, 1]: how far above the prior pi the classifier is of the label, (p_y - pi_y) / (1 - pi_y)."""
    prior = log_prior.exp()[y]
    own = logits.softmax(-1).gather(-1, y.unsqueeze(-1)).squeeze(-1)
    return ((own - prior) / (1 - prior)).clamp(min=0)


def link_loss(log_kappa: Tensor, own: Tensor, target: Tensor) -> Tensor:
    """-log-likelihood of C, [graphs]: linked to its class with probability ``target``, and to no other class.

        - t log P(some own link) - (1 - t) log P(no own link) - sum_{other j} log(1 - kappa_j)
        - c t log P(one own link | some own link)

    with P(no own link) = prod_own (1 - kappa_j) and P(one own link) = P(no own link) sum_own kappa_j / (1 - kappa_j).
    """
    unlinked = log_one_minus_exp(log_kappa)
    log_none = (unlinked * own).sum(-1)
    log_some = log_one_minus_exp(log_none)
    odds = (log_kappa - unlinked).masked_fill(~own, -math.inf)
    log_one = log_none + torch.logsumexp(odds, dim=-1)
    other = (unlinked * ~own).sum(-1)
    reason = ONE_REASON * (log_some - log_one)
    return target * (reason - log_some) - (1 - target) * log_none - other


def small_first(sizes: Tensor, target: Tensor) -> Tensor:
    """[graphs] of mean one: 1 + t (n_max / n - 1), at most 8: small graphs that tell their class count more.

    A bare reason is rare among random parts, and it is what a rationale should answer to.
    """
    smaller = (sizes.max() / sizes.clamp(min=1)).clamp(max=MOST_SMALLER)
    weight = 1 + target * (smaller - 1)
    return weight / weight.mean()


def coverage_loss(log_kappa: Tensor, own: Tensor) -> Tensor:
    """-mean_j max_{own i} log kappa_ij: every rationale is near some graph of its class."""
    reached = log_kappa.masked_fill(~own, -math.inf).amax(0)
    present = torch.isfinite(reached)  # a class may be absent from a batch
    return -reached[present].mean() if present.any() else log_kappa.new_zeros(())


def log_mixture(logits: Tensor, log_unreached: Tensor, log_prior: Tensor) -> Tensor:
    """log[(1 - p0) softmax(f) + p0 pi], [..., classes]: with probability p0 nothing is linked: the prior answers."""
    linked = log_one_minus_exp(log_unreached).unsqueeze(-1) + logits.log_softmax(-1)
    return torch.logaddexp(linked, log_unreached.unsqueeze(-1) + log_prior)
