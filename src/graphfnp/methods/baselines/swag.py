"""SWAG: a Gaussian around the mean of the weights that training passes through in its last part."""

import copy
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.optim.swa_utils import update_bn

from graphfnp.errors import InvalidConfig
from graphfnp.graphs.packed import PackedGraphs, Schema
from graphfnp.methods.baselines.vanilla import VanillaConfig, WholeNetwork
from graphfnp.methods.contract import Encoding
from graphfnp.networks.graph_network import WeightVector
from graphfnp.randomness import stream

DRAWS = 32  # each has norm statistics of its own, which cost a pass over the training graphs


@dataclass(frozen=True)
class SWAGConfig(VanillaConfig):
    """Rank 20 as in the original; weights are collected after the first step of each epoch in the second half."""

    rank: int = 20
    collect_from: float = 0.5  # part of the epochs before the first weights are collected
    scale: float = 1.0  # of the variance of the draws

    def __post_init__(self) -> None:
        if self.rank < 1:
            raise InvalidConfig(f"rank={self.rank}", "rank >= 1", "change it")


class SWAG(WholeNetwork):
    """theta_s = mean + sqrt(scale / 2) (sqrt(E theta^2 - mean^2) eps_1 + D eps_2 / sqrt(K - 1)) (Maddox et al. 2019).

    D holds the last K deviations of the weights from their running mean. The statistics of the norms are those of the
    training graphs under the weights of the draw, so the draws are fixed when training ends, and prediction goes round
    them.
    """

    config: SWAGConfig
    averages_weights = False  # SWAG has a mean of its own
    mean: Tensor
    square: Tensor
    deviations: Tensor
    statistics: Tensor
    num_collected: Tensor

    def __init__(self, schema: Schema, config: SWAGConfig | None = None, backbone: nn.Module | None = None) -> None:
        config = config or SWAGConfig()
        super().__init__(schema, config, backbone)
        self.weights = WeightVector(self.network, statistics=True)
        self.register_buffer("mean", torch.zeros(self.weights.size))
        self.register_buffer("square", torch.zeros(self.weights.num_parameters))
        self.register_buffer("deviations", torch.zeros(config.rank, self.weights.num_parameters))
        self.register_buffer("statistics", torch.zeros(DRAWS, self.weights.size - self.weights.num_parameters))
        self.register_buffer("num_collected", torch.tensor(0))
        self.is_due = False

    def draw_logits(self, encoded: Encoding, num_draws: int, seed: int = 0) -> Tensor:
        if not int(self.num_collected):
            return self.network(encoded.batch).expand(num_draws, -1, -1)
        draws = (self.draw_weights(number) for number in range(min(num_draws, DRAWS)))
        logits = torch.stack([self.weights.call(self.network, weights, encoded.batch) for weights in draws])
        return logits[torch.arange(num_draws) % len(logits)]

    def draw_weights(self, number: int) -> Tensor:
        """[size]: all weights of one draw, and its statistics of the norms."""
        generator, count = stream(0, "swag", number), self.weights.num_parameters
        rank = min(int(self.num_collected), self.config.rank)
        std = (self.square - self.mean[:count].square()).clamp(min=0).sqrt()
        weights = self.mean[:count] + (self.config.scale / 2) ** 0.5 * (
            std * torch.randn(count, generator=generator).to(std)
            + torch.randn(self.config.rank, generator=generator).to(std) @ self.deviations / max(rank - 1, 1) ** 0.5
        )
        return torch.cat([weights, self.statistics[number % DRAWS]])

    @torch.no_grad()
    def after_training(self, graphs: PackedGraphs) -> None:
        network = copy.deepcopy(self.network)
        for number in range(DRAWS if int(self.num_collected) else 0):
            self.weights.load(network, self.draw_weights(number))
            shuffled = graphs.batches(256, stream(0, "swag norms", number), node_budget=16384)
            update_bn((batch.to(self.mean.device) for batch in shuffled), network)
            self.statistics[number] = self.weights.of(network)[self.weights.num_parameters :]

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
        self.statistics.copy_(self.mean[count:].expand(DRAWS, -1))  # until training ends

    def make_room(self, tensors: dict[str, Tensor]) -> None:
        """Models of earlier versions have one set of statistics for all draws."""
        mean = tensors.get("mean")
        if "statistics" not in tensors and mean is not None and mean.shape == self.mean.shape:
            tensors["statistics"] = mean[self.weights.num_parameters :].repeat(DRAWS, 1)
