"""What training asks of the labels: graphs of two classes or more, how much each class weighs, and each row."""

import torch
from torch import Tensor

from graphfnp.errors import InvalidConfig, InvalidGraphs
from graphfnp.graphs.packed import PackedGraphs
from graphfnp.randomness import stream


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
    counts = dict(zip(graphs.schema.class_names, graphs.class_counts.tolist(), strict=True))
    if int((graphs.class_counts > 0).sum()) < 2:
        raise InvalidGraphs(
            f"training graphs by class: {', '.join(f'{name} {count}' for name, count in counts.items())}",
            "at least two classes with graphs",
            "check the label column and the split: training needs graphs of each class",
        )
    if len(validation) == 0:
        raise InvalidGraphs(
            f"{len(graphs)} training graphs, and none for validation",
            "labelled graphs in both parts: three or more in all",
            "add labelled graphs, or mark some as valid in a column called split",
        )
    unlabelled = [int((part.y < 0).sum()) for part in (graphs, validation)]
    if any(unlabelled):
        raise InvalidGraphs(
            f"unlabelled graphs: {unlabelled[0]} for training, {unlabelled[1]} for validation",
            "labelled graphs in both parts",
            "leave unlabelled graphs out of the split",
        )


def resampled(weight: torch.Tensor, seed: int = 0) -> torch.Tensor:
    """As many numbers as there are weights, number i about e_i = n w_i / sum(w) times: e_i rounded up or down."""
    if not weight.isfinite().all() or (weight < 0).any() or float(weight.sum()) <= 0:
        raise InvalidConfig("sample_weight", "finite weights, none below 0 and not all 0", "check the weights")
    expected = len(weight) * weight / weight.sum()
    times = (expected + 1e-9).floor()
    more = len(weight) - int(times.sum())
    if more:
        rest = (expected - times).clamp(min=0)
        times[torch.multinomial(rest, more, generator=stream(seed, "sample weights"))] += 1
    return torch.repeat_interleave(times.long())
