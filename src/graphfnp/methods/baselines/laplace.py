"""Laplace: a Gaussian over the weights of the last layer, from the curvature of the loss at the end of training."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from graphfnp.errors import InvalidConfig
from graphfnp.graphs.packed import PackedGraphs, Schema
from graphfnp.methods.baselines.vanilla import VanillaConfig, WholeNetwork
from graphfnp.methods.contract import Encoding
from graphfnp.networks.distributions import normal_draws

PRECISIONS = torch.logspace(-4, 4, 81, dtype=torch.double)


@dataclass(frozen=True)
class LaplaceConfig(VanillaConfig):
    """Vanilla training; the prior precision is the one of highest evidence."""

    prior_precision: float | None = None  # None: chosen by the evidence

    def __post_init__(self) -> None:
        if self.prior_precision is not None and self.prior_precision <= 0:
            raise InvalidConfig(f"prior_precision={self.prior_precision}", "none, or a number > 0", "change it")


class Laplace(WholeNetwork):
    """W_s = W + (H + delta I)^(-1/2) eps, H = sum_g w_g (diag p_g - p_g p_g^T) kron phi_g phi_g^T.

    Last-layer Laplace (Daxberger et al. 2021): phi is the input of the last layer with a 1 for the bias, w the class
    weight in the loss, delta the precision of the prior. Until training ends all draws are the same.
    """

    config: LaplaceConfig
    spread: Tensor

    def __init__(self, schema: Schema, config: LaplaceConfig | None = None, backbone: nn.Module | None = None) -> None:
        config = config or LaplaceConfig()
        super().__init__(schema, config, backbone)
        size = sum(parameter.numel() for parameter in self.network.head[-1].parameters())
        self.register_buffer("spread", torch.zeros(size, size))  # (H + delta I)^(-1/2), 0: not known yet

    def draw_logits(self, encoded: Encoding, num_draws: int, seed: int = 0) -> Tensor:
        phi = self._last_input(encoded)
        noise = normal_draws(num_draws, len(self.spread), seed, "laplace").to(phi) @ self.spread.T
        weight = self._last_weight() + noise.view(num_draws, self.schema.num_classes, -1)
        return torch.einsum("gi,ski->sgk", phi, weight)

    @torch.no_grad()
    def after_training(self, graphs: PackedGraphs) -> None:
        total = torch.zeros_like(self.spread, dtype=torch.double)
        for batch in graphs.batches(256, node_budget=16384):
            batch = batch.to(self.spread.device)
            phi = self._last_input(self.encode(batch))
            total += curvature(phi, (phi @ self._last_weight().T).softmax(-1), self.class_weight[batch.y])
        self.spread.copy_(inverse_root(total, self._last_weight(), self.config.prior_precision))

    def _last_input(self, encoded: Encoding) -> Tensor:
        """[graphs, width + 1]"""
        return nn.functional.pad(self.network.head[:-1](torch.relu(encoded.state)), (0, 1), value=1.0)

    def _last_weight(self) -> Tensor:
        """[classes, width + 1]: the bias is the last column."""
        last = self.network.head[-1]
        assert isinstance(last, nn.Linear)
        return torch.cat([last.weight, last.bias.unsqueeze(1)], dim=1)


def curvature(phi: Tensor, probabilities: Tensor, weight: Tensor) -> Tensor:
    """Gauss-Newton matrix of the summed cross-entropy by the class-major weights, [classes * dims, classes * dims]."""
    p, phi = probabilities.double(), phi.double()
    per_graph = (torch.diag_embed(p) - p.unsqueeze(2) * p.unsqueeze(1)) * weight[:, None, None]
    return torch.einsum("gab,gi,gj->aibj", per_graph, phi, phi).reshape(p.shape[1] * phi.shape[1], -1)


def inverse_root(total: Tensor, mode: Tensor, precision: float | None = None) -> Tensor:
    """R with R R^T = (H + delta I)^-1; delta of highest evidence unless given.

    2 log p(data | delta) = P log delta - log det(H + delta I) - delta |mode|^2 + const.
    """
    eigenvalues, vectors = torch.linalg.eigh(total)
    eigenvalues = eigenvalues.clamp(min=0)
    grid = PRECISIONS.to(total)
    log_determinant = (eigenvalues + grid.unsqueeze(1)).log().sum(1)
    evidence = len(total) * grid.log() - log_determinant - grid * mode.double().square().sum()
    delta = grid[evidence.argmax()] if precision is None else precision
    return vectors * (eigenvalues + delta).rsqrt()
