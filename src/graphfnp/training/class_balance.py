"""What training asks of the labels: graphs of two classes or more, and how much each class weighs."""

import torch
from torch import Tensor

from graphfnp.errors import InvalidGraphs
from graphfnp.graphs.packed import PackedGraphs


def class_weights(graphs: PackedGraphs, balance: str) -> Tensor:
    """Mean-one weights: balanced gives class k the weight n / (K n_k), plain gives all 1."""
    counts = graphs.class_counts.float()
    if balance == "plain":
        return torch.ones_like(counts)
    present = counts > 0
    return torch.where(present, counts.sum() / (present.sum() * counts.clamp(min=1)), torch.ones_like(counts))


def weighted_shares(graphs: PackedGraphs, weight: Tensor) -> tuple[float, ...]:
    """The label mix that training with these weights assumes: even if balanced, that of the graphs if plain."""
    counts = graphs.class_counts.double() * weight.double()
    return tuple((counts / counts.sum()).tolist())


def check_labels(graphs: PackedGraphs, validation: PackedGraphs) -> None:
    """InvalidGraphs unless both parts are labelled and the training part has two classes."""
    names = graphs.schema.class_names
    if int((graphs.class_counts > 0).sum()) < 2:
        raise InvalidGraphs(
            f"training graphs of classes {dict(zip(names, graphs.class_counts.tolist(), strict=True))}",
            "at least two classes with graphs",
            "check the label column and the split: training needs graphs of each class",
        )
    if (graphs.y < 0).any() or (validation.y < 0).any() or len(validation) == 0:
        raise InvalidGraphs(
            f"{int((graphs.y < 0).sum())} unlabelled training graphs and {len(validation)} validation graphs "
            f"({int((validation.y < 0).sum())} unlabelled)",
            "labelled graphs in both parts",
            "leave unlabelled graphs out of the split",
        )
