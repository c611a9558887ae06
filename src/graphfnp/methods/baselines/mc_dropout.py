"""MC-Dropout: dropout stays on in prediction, and every draw is another dropping_units network (Gal and Ghahramani)."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from graphfnp.errors import InvalidConfig
from graphfnp.graphs.packed import Batch, Schema
from graphfnp.methods.baselines.vanilla import Vanilla, VanillaConfig
from graphfnp.methods.contract import Encoding, LossTerms
from graphfnp.networks.mlp import mlp
from graphfnp.randomness import stream


@dataclass(frozen=True)
class MCDropoutConfig(VanillaConfig):
    """Vanilla's settings, and the one dropout of backbone and head (``backbone.dropout`` is not looked at)."""

    dropout: float = 0.1

    def __post_init__(self) -> None:
        if not 0 < self.dropout < 1:
            raise InvalidConfig(f"dropout={self.dropout}", "a number in (0, 1): at 0 all draws agree", "change dropout")


class MCDropout(Vanilla):
    """Draw s: logits of the network whose channels are kept by m_s ~ Bernoulli(1 - p) and scaled by 1 / (1 - p).

    The mask is over channels, one for all nodes of a graph; in a draw the same for all graphs, in training another for
    each. Masks for each node would average out in the pooling.
    """

    config: MCDropoutConfig

    def __init__(
        self, schema: Schema, config: MCDropoutConfig | None = None, backbone: nn.Module | None = None
    ) -> None:
        config = config or MCDropoutConfig()
        super().__init__(schema, config, backbone)
        hidden = [config.head_width] * (config.head_layers - 1)
        widths = (self.backbone.out_width, *hidden, schema.num_classes)
        self.head = nn.Sequential(nn.Dropout(), *mlp(*widths, dropout=config.dropout))
        replace_dropout(self, config.dropout)

    def encode(self, batch: Batch) -> Encoding:
        if not self.training:
            return super().encode(batch)
        with dropping_units(self, lambda h: torch.rand(batch.num_graphs, h.shape[-1], device=h.device)[batch.batch]):
            return super().encode(batch)

    def draw_logits(self, encoded: Encoding, num_draws: int, seed: int = 0) -> Tensor:
        """Draws share the batch alone."""
        return torch.stack([self._draw(encoded.batch, stream(seed, "dropout", draw)) for draw in range(num_draws)])

    def loss(self, encoded: Encoding) -> LossTerms:
        with dropping_units(self, torch.rand_like):
            return super().loss(encoded)

    def _draw(self, batch: Batch, generator: torch.Generator) -> Tensor:
        with dropping_units(self, lambda h: torch.rand(h.shape[-1], generator=generator).to(h)):
            return self.head(torch.relu(super().encode(batch).state))


class ChannelDropout(nn.Module):
    """h [u >= p] / (1 - p) with u in (0, 1) from ``uniform(h)``; without ``uniform``, h itself."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p
        self.uniform: Callable[[Tensor], Tensor] | None = None

    def forward(self, h: Tensor) -> Tensor:
        return h if self.uniform is None else h * (self.uniform(h) >= self.p) / (1 - self.p)


@contextmanager
def dropping_units(network: nn.Module, uniform: Callable[[Tensor], Tensor]) -> Iterator[None]:
    """Inside the block the network drops channels as ``uniform`` says."""
    dropouts = [part for part in network.modules() if isinstance(part, ChannelDropout)]
    for dropout in dropouts:
        dropout.uniform = uniform
    try:
        yield
    finally:
        for dropout in dropouts:
            dropout.uniform = None


def replace_dropout(network: nn.Module, p: float) -> None:
    """Every dropout of nodes and channels becomes one of channels, also inside a module of the user's."""
    for name, part in network.named_children():
        if isinstance(part, nn.Dropout):
            setattr(network, name, ChannelDropout(p))
        else:
            replace_dropout(part, p)
