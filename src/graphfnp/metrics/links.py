"""What links are worth: do kappa and the class agree, are rationales different things?"""

from dataclasses import dataclass

import torch
from torch import Tensor


def link_precision(kappa: Tensor, y: Tensor, label: Tensor) -> Tensor:
    """[rationales]: m_own / (m_own + m_other), means of kappa [graphs, rationales] over the class and over the others.

    Both sides weigh alike, whatever the class balance: one half is chance, and what a rationale without links has.
    """
    own = y[:, None] == label
    known = (y >= 0)[:, None]
    kappa = kappa.double()
    inside = (kappa * (own & known)).sum(0) / (own & known).sum(0).clamp(min=1)
    outside = (kappa * (~own & known)).sum(0) / (~own & known).sum(0).clamp(min=1)
    return torch.where(inside + outside > 0, inside / (inside + outside), 0.5)


def nearest_accuracy(kappa: Tensor, y: Tensor, label: Tensor) -> float:
    """Share of labelled graphs whose most linked rationale speaks for their class."""
    known = y >= 0
    return float((label[kappa[known].argmax(-1)] == y[known]).double().mean())


def redundancy(kappa: Tensor) -> float:
    """Mean correlation of the columns of kappa with each other; 1: all rationales are the same thing."""
    columns = kappa.double()[:, kappa.std(0) > 1e-9]
    if columns.shape[1] < 2 or len(columns) < 2:
        return float("nan")
    table = torch.corrcoef(columns.T)
    return float(table[~torch.eye(len(table), dtype=torch.bool)].mean())


@dataclass(frozen=True)
class LinkScores:
    """Of one model on one set of graphs."""

    precision: Tensor  # [rationales]
    nearest_accuracy: float
    redundancy: float
    own: float  # mean kappa to rationales of the graph's class
    other: float


def link_scores(kappa: Tensor, y: Tensor, label: Tensor) -> LinkScores:
    """For kappa [graphs, rationales] of labelled graphs."""
    own = y[:, None] == label
    return LinkScores(
        link_precision(kappa, y, label), nearest_accuracy(kappa, y, label), redundancy(kappa),
        float(kappa[own].mean()), float(kappa[~own].mean()),
    )  # fmt: skip
