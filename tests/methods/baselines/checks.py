"""What tests of several baselines share."""

from typing import Any

import torch
from torch import Tensor

from graphfnp.graphs.packed import PackedGraphs
from graphfnp.methods.registry import make_classifier
from tiny_graphs import small


def new(method: str, graphs: PackedGraphs, **settings: Any) -> Any:
    return make_classifier(method, graphs.schema, small(method, **settings))


def close(given: Tensor, expected: Any, tolerance: float = 1e-5) -> None:
    expected = torch.as_tensor(expected, dtype=given.dtype)
    torch.testing.assert_close(given, expected, atol=tolerance, rtol=0)


def random_logits(rows: int = 7) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    return 3 * torch.randn(rows, 3, generator=generator), torch.randint(3, (rows,), generator=generator)
