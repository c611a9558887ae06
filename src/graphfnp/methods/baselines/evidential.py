"""Evidential: the head counts evidence for each class, the parameters of a Dirichlet (Sensoy et al.)."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from graphfnp.errors import InvalidConfig
from graphfnp.graphs.packed import PackedGraphs, Schema
from graphfnp.methods.baselines.vanilla import Vanilla, VanillaConfig
from graphfnp.methods.contract import Encoding, LossTerms
from graphfnp.networks.distributions import normal_draws


@dataclass(frozen=True)
class EvidentialConfig(VanillaConfig):
    """Vanilla's settings, and the pull of misleading evidence towards none."""

    annealing_epochs: int = 10  # until the pull has its full weight: at once, it would keep evidence from growing
    prior_weight: float = 1.0

    def __post_init__(self) -> None:
        if self.annealing_epochs < 1 or self.prior_weight < 0:
            raise InvalidConfig(
                f"annealing_epochs={self.annealing_epochs}, prior_weight={self.prior_weight}",
                "annealing_epochs >= 1, prior_weight >= 0",
                "change these settings",
            )


class Evidential(Vanilla):
    """p ~ Dirichlet(alpha), alpha = 1 + softplus(f(G)); mean alpha_k / S and vacuity K / S with S = sum_k alpha_k.

    loss = w_y [psi(S) - psi(alpha_y)] (the expected cross-entropy) + t w_y KL(Dir(alpha') || Dir(1)), where alpha' is
    alpha but 1 for the graph's own class, and t grows from 0 over the first epochs.
    """

    config: EvidentialConfig

    def __init__(
        self, schema: Schema, config: EvidentialConfig | None = None, backbone: nn.Module | None = None
    ) -> None:
        super().__init__(schema, config or EvidentialConfig(), backbone)
        self.annealing = 0.0

    def alpha(self, encoded: Encoding) -> Tensor:
        """[graphs, classes], above 1"""
        return 1 + nn.functional.softplus(self.head(encoded.state.relu()))

    def draw_logits(self, encoded: Encoding, num_draws: int, seed: int = 0) -> Tensor:
        """log g_k with g_k ~ Gamma(alpha_k): their softmax is Dirichlet; a single draw is the mean, log alpha."""
        alpha = self.alpha(encoded)
        if num_draws == 1:
            return alpha.log().unsqueeze(0)
        noise = normal_draws(num_draws, self.schema.num_classes, seed, "dirichlet")
        return log_gamma_draws(alpha, noise.to(alpha).unsqueeze(1))

    def loss(self, encoded: Encoding) -> LossTerms:
        batch, alpha = encoded.batch, self.alpha(encoded)
        weight = self.loss_weight(batch.y, batch.weight)
        own = nn.functional.one_hot(batch.y, self.schema.num_classes).bool()
        misleading = alpha.masked_fill(own, 1.0)
        return {
            "data": (weight * (alpha.sum(-1).digamma() - alpha[own].digamma())).mean(),
            "prior": self.annealing * (weight * kl_to_uniform(misleading)).mean(),
        }

    def start_epoch(self, epoch: int, epochs: int, graphs: PackedGraphs) -> None:
        self.annealing = self.config.prior_weight * min(1.0, epoch / self.config.annealing_epochs)

    def distance(self, encoded: Encoding) -> Tensor:
        """Vacuity: 1 without any evidence."""
        return self.schema.num_classes / self.alpha(encoded).sum(-1)


def log_gamma_draws(alpha: Tensor, noise: Tensor) -> Tensor:
    """log of the Gamma(alpha) quantile at standard normal ``noise``: g = alpha (1 - 1/(9 alpha) + z/(3 sqrt(alpha)))^3.

    Wilson and Hilferty's cube: for alpha >= 1 mean and variance are within .5 %, and it has a gradient in alpha.
    """
    root = 1 - 1 / (9 * alpha) + noise / (3 * alpha.sqrt())
    return alpha.log() + 3 * root.clamp(min=1e-2).log()


def kl_to_uniform(alpha: Tensor) -> Tensor:
    """KL(Dir(alpha) || Dir(1)) = log G(S) / (G(K) prod_k G(alpha_k)) + sum_k (alpha_k - 1)(psi(alpha_k) - psi(S)),

    G the gamma function, psi the derivative of its logarithm.
    """
    total, classes = alpha.sum(-1), torch.tensor(float(alpha.shape[-1]))
    shift = ((alpha - 1) * (alpha.digamma() - total.digamma().unsqueeze(-1))).sum(-1)
    return total.lgamma() - classes.lgamma() - alpha.lgamma().sum(-1) + shift
