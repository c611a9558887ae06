"""SWAG: a Gaussian around the mean of the weights that training passes through in its last part."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from graphfnp.graphs.packed import PackedGraphs, Schema
from graphfnp.methods.baselines.vanilla import VanillaConfig, WholeNetwork
from graphfnp.methods.contract import Encoding
from graphfnp.networks.graph_network import WeightVector
from graphfnp.randomness import stream


@dataclass(frozen=True)
class SWAGConfig(VanillaConfig):
    """Rank 20 as in the original; weights are collected once an epoch in the second half of training."""

    rank: int = 20
    collect_from: float = 0.5  # part of the epochs before the first weights are collected
    scale: float = 1.0  # of the variance of the draws


class SWAG(WholeNetwork):
    """theta_s = mean + sqrt(scale / 2) (sqrt(E theta^2 - mean^2) eps_1 + D eps_2 / sqrt(K - 1)) (Maddox et al. 2019).

    D holds the last K deviations of the weights from their running mean. The statistics of the norms are averaged
    along with the weights and are the same in every draw.
    """

    config: SWAGConfig
    averages_weights = False  # SWAG has a mean of its own
    mean: Tensor
    square: Tensor
    deviations: Tensor
    num_collected: Tensor

    def __init__(self, schema: Schema, config: SWAGConfig | None = None, backbone: nn.Module | None = None) -> None:
        config = config or SWAGConfig()
        super().__init__(schema, config, backbone)
        self.weights = WeightVector(self.network, statistics=True)
        self.register_buffer("mean", torch.zeros(self.weights.size))
        self.register_buffer("square", torch.zeros(self.weights.num_parameters))
        self.register_buffer("deviations", torch.zeros(config.rank, self.weights.num_parameters))
        self.register_buffer("num_collected", torch.tensor(0))
        self.is_due = False

    def draw_logits(self, encoded: Encoding, num_draws: int, seed: int = 0) -> Tensor:
        if not int(self.num_collected):
            return self.network(encoded.batch).expand(num_draws, -1, -1)
        draws = (self.draw_weights(stream(seed, "swag", draw)) for draw in range(num_draws))
        return torch.stack([self.weights.call(self.network, weights, encoded.batch) for weights in draws])

    def draw_weights(self, generator: torch.Generator) -> Tensor:
        """[size]: one draw of all weights, and the mean statistics of the norms."""
        count, own = self.weights.num_parameters, self.mean.clone()
        rank = min(int(self.num_collected), self.config.rank)
        std = (self.square - self.mean[:count].square()).clamp(min=0).sqrt()
        own[:count] += (self.config.scale / 2) ** 0.5 * (
            std * torch.randn(count, generator=generator).to(std)
            + torch.randn(self.config.rank, generator=generator).to(std) @ self.deviations / max(rank - 1, 1) ** 0.5
        )
        return own

    def start_epoch(self, epoch: int, epochs: int, graphs: PackedGraphs) -> None:
        self.is_due = epoch + 1 > self.config.collect_from * epochs

    def after_step(self) -> None:
        if self.is_due:
            self.collect(self.weights.of(self.network))
            self.is_due = False

    def collect(self, weights: Tensor) -> None:
        """Take one more vector of weights into the running moments and the deviations."""
        count, seen = self.weights.num_parameters, int(self.num_collected)
        self.mean.lerp_(weights, 1 / (seen + 1))
        self.square.lerp_(weights[:count].square(), 1 / (seen + 1))
        self.deviations[seen % self.config.rank] = (weights - self.mean)[:count]
        self.num_collected += 1
