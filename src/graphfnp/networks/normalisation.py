"""Batch normalisation with the statistics it has gathered, for a part of the training data it should not follow."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import Tensor, nn


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
