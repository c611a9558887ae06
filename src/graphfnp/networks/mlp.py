"""Multi-layer perceptrons, and batch normalisation with the statistics it has gathered."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

from torch import Tensor, nn


def mlp(*widths: int, dropout: float = 0.0) -> nn.Sequential:
    """``mlp(64, 256, 2)`` is Linear(64, 256), ReLU, Linear(256, 2)."""
    layers: list[nn.Module] = []
    for position, (width_in, width_out) in enumerate(pairwise(widths)):
        if position:
            layers += [nn.ReLU(), nn.Dropout(dropout)] if dropout else [nn.ReLU()]
        layers.append(nn.Linear(width_in, width_out))
    return nn.Sequential(*layers)


def normalised(norm: nn.Module, h: Tensor) -> Tensor:
    """Apply ``norm``; a single row has no batch statistics, so in training too it gets the running ones."""
    if len(h) > 1:
        return norm(h)
    with running_statistics(norm):
        return norm(h)


@contextmanager
def running_statistics(module: nn.Module) -> Iterator[None]:
    """Inside the block the module's batch norms neither use nor update with the statistics of the batch."""
    norms = [part for part in module.modules() if isinstance(part, nn.BatchNorm1d) and part.training]
    for norm in norms:
        norm.eval()
    try:
        yield
    finally:
        for norm in norms:
            norm.train()
