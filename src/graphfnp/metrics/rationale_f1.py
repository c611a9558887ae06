"""Rationale F1 (RF1): can the rationales alone, as nearest neighbours, tell the classes of test graphs?"""

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from graphfnp.errors import InvalidConfig

BLOCK = 2**22  # similarities held at once


@dataclass(frozen=True, eq=False)
class RationaleScore:
    """RF1 with what it must be read beside: macro-F1, and the F1 of saying the same class of every graph."""

    f1: float  # of class 1 if there are two classes, else macro
    macro_f1: float
    constant_f1: float  # of always saying 1 if there are two classes, else of the commonest class (macro)
    label: Tensor  # [N]: the class the rationales give each labelled graph


def rationale_f1(
    graph_draws: Tensor, rationale_draws: Tensor, rationale_label: Tensor, y: Tensor, neighbours: int = 1
) -> RationaleScore:
    """RF1 of draws held in memory: graphs [S, N, dims] against rationales [S, R, dims]."""
    block = max(1, BLOCK // max(graph_draws.shape[1] * rationale_draws.shape[1], 1))
    chunks = zip(graph_draws.split(block), rationale_draws.split(block), strict=True)
    return rationale_f1_of_chunks(chunks, rationale_label, y, neighbours)


def rationale_f1_of_chunks(
    chunks: Iterable[tuple[Tensor, Tensor]], rationale_label: Tensor, y: Tensor, neighbours: int = 1
) -> RationaleScore:
    """RF1 of draws that come chunk by chunk, ([s, N, dims], [s, R, dims]), and are let go.

    In each draw the ``neighbours`` rationales of largest cosine vote with their labels; a graph gets the class of most
    votes over all draws (two classes: the mean label against 0.5). Ties go to the lower rationale and the lower class.
    """
    if not 1 <= neighbours <= len(rationale_label):
        raise InvalidConfig(
            f"{neighbours} neighbours of {len(rationale_label)} rationales",
            f"1 to {len(rationale_label)}",
            "ask for fewer neighbours or use more rationales per class",
        )
    num_classes = int(torch.cat([rationale_label, y]).max()) + 1
    votes = torch.zeros(len(y), num_classes, dtype=torch.long)
    class_of = torch.nn.functional.one_hot(rationale_label, num_classes)
    for graphs, rationales in chunks:
        votes += nearest_counts(graphs, rationales, neighbours) @ class_of
    known = y >= 0
    label, truth = votes.argmax(-1)[known], y[known]
    if num_classes > 2:
        macro = _f1(truth, label, num_classes, "macro")
        constant = torch.full_like(truth, int(truth.mode().values) if len(truth) else 0)
        return RationaleScore(macro, macro, _f1(truth, constant, num_classes, "macro"), label)
    return RationaleScore(
        _f1(truth, label, 2, "binary"),
        _f1(truth, label, 2, "macro"),
        _f1(truth, torch.ones_like(truth), 2, "binary"),
        label,
    )


def nearest_counts(graphs: Tensor, rationales: Tensor, neighbours: int) -> Tensor:
    """[N, R]: in how many draws each rationale is among a graph's nearest by cosine; [s, N, dims], [s, R, dims]."""
    # The length of a graph's own vector does not change which rationale is nearest to it: no need to copy and divide.
    similarity = graphs @ torch.nn.functional.normalize(rationales, dim=-1).mT
    counts = torch.zeros(similarity.shape[1:], dtype=torch.long)
    for _ in range(neighbours):
        nearest = similarity.argmax(-1, keepdim=True)
        counts += torch.zeros_like(similarity, dtype=torch.bool).scatter_(-1, nearest, True).sum(0)
        similarity.scatter_(-1, nearest, -torch.inf)
    return counts


def _f1(truth: Tensor, label: Tensor, num_classes: int, average: str) -> float:
    from sklearn.metrics import f1_score  # a second to import, and predictions need none of it

    # "labels" makes a class that neither occurs nor is predicted count as 0 instead of vanishing from the mean.
    labels = None if average == "binary" else range(num_classes)
    return float(f1_score(truth.numpy(), label.numpy(), labels=labels, average=average, zero_division=0.0))
