"""Bayes by Backprop: every weight matrix of the network has a Gaussian of its own, learned by the evidence bound."""

from dataclasses import dataclass
from math import expm1, log

import torch
from torch import Tensor, nn
from torch.func import functional_call

from graphfnp.errors import InvalidConfig
from graphfnp.graphs.packed import Batch, PackedGraphs, Schema
from graphfnp.methods.baselines.vanilla import VanillaConfig, WholeNetwork
from graphfnp.methods.contract import Encoding, LossTerms
from graphfnp.networks.neighbourhood import mean_pool
from graphfnp.randomness import stream


@dataclass(frozen=True)
class BBPConfig(VanillaConfig):
    """Prior deviation .1; under the evidence bound itself (``kl_weight`` 1) a small dataset teaches nothing.

    Weights start with a deviation well below their own size: at .05, which is their size, the noise drowns them and
    30 epochs do not recover.
    """

    prior_std: float = 0.1
    initial_std: float = 0.01
    kl_weight: float = 0.01

    def __post_init__(self) -> None:
        if self.prior_std <= 0 or self.initial_std <= 0:
            raise InvalidConfig(
                f"prior_std={self.prior_std}, initial_std={self.initial_std}", "both > 0", "change these settings"
            )


class BBP(WholeNetwork):
    """-ELBO / N = E_q[mean loss] + kl_weight KL(q || p) / N, q = prod N(mean, softplus(rho)^2) (Blundell et al. 2015).

    Weights of the backbone are drawn once for a batch: all nodes of a graph must see the same weights, since noise of
    their own would average out in pooling. In the head a row is a graph, and noise is drawn for its outputs instead
    (local reparameterisation). Biases and norms are points. A draw of a prediction is one set of weights.
    """

    config: BBPConfig
    num_graphs: Tensor

    def __init__(self, schema: Schema, config: BBPConfig | None = None, backbone: nn.Module | None = None) -> None:
        config = config or BBPConfig()
        super().__init__(schema, config, backbone)
        means = {name: parameter for name, parameter in self.network.named_parameters() if parameter.ndim > 1}
        self.names = list(means)
        start = log(expm1(config.initial_std))
        self.rho = nn.ParameterList(torch.full_like(mean, start) for mean in means.values())
        self.register_buffer("num_graphs", torch.tensor(1.0))

    def encode(self, batch: Batch) -> Encoding:
        if not self.training:
            return super().encode(batch)
        weights = self._draw(None, "backbone.")
        return Encoding(batch, mean_pool(functional_call(self.network.backbone, weights, (batch,)), batch))

    def draw_logits(self, encoded: Encoding, num_draws: int, seed: int = 0) -> Tensor:
        draws = (self._draw(stream(seed, "bbp", draw)) for draw in range(num_draws))
        return torch.stack([functional_call(self.network, weights, (encoded.batch,)) for weights in draws])

    def loss(self, encoded: Encoding) -> LossTerms:
        h, spread = torch.relu(encoded.state), self._spread()
        for number, layer in enumerate(self.network.head):
            if isinstance(layer, nn.Linear):
                h = local_linear(h, layer.weight, spread[f"head.{number}.weight"], layer.bias)
            else:
                h = layer(h)
        divergence = sum(
            divergence_from_prior(self.network.get_parameter(name), std, self.config.prior_std)
            for name, std in spread.items()
        )
        return {
            "data": self.cross_entropy(h, encoded.batch.y, encoded.batch.weight),
            "divergence": self.config.kl_weight * divergence / self.num_graphs,
        }

    def start_epoch(self, epoch: int, epochs: int, graphs: PackedGraphs) -> None:
        self.num_graphs.fill_(len(graphs))

    def _spread(self) -> dict[str, Tensor]:
        """Standard deviation of every weight matrix."""
        return {name: nn.functional.softplus(rho) for name, rho in zip(self.names, self.rho, strict=True)}

    def _draw(self, generator: torch.Generator | None, prefix: str = "") -> dict[str, Tensor]:
        """One set of weight matrices of the part of the network that the prefix names."""
        drawn = {}
        for name, std in self._spread().items():
            if name.startswith(prefix):
                mean = self.network.get_parameter(name)
                drawn[name.removeprefix(prefix)] = mean + std * torch.randn(mean.shape, generator=generator).to(mean)
        return drawn


def local_linear(x: Tensor, mean: Tensor, std: Tensor, bias: Tensor | None = None) -> Tensor:
    """x W^T + b for W ~ N(mean, std^2) of its own in every row: N(x mean^T + b, x^2 (std^2)^T) (Kingma et al. 2015)."""
    variance = nn.functional.linear(x.square(), std.square())
    return nn.functional.linear(x, mean, bias) + (variance + 1e-12).sqrt() * torch.randn_like(variance)


def divergence_from_prior(mean: Tensor, std: Tensor, prior_std: float) -> Tensor:
    """KL(N(mean, std^2) || N(0, prior^2)) = sum log(prior / std) + (std^2 + mean^2) / (2 prior^2) - 1/2."""
    ratio = std / prior_std
    return (0.5 * (ratio.square() + (mean / prior_std).square() - 1) - ratio.log()).sum()
