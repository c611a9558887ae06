"""GSAT: stochastic attention to edges, paid for by the information it lets through (Miao et al.)."""

from dataclasses import dataclass
from math import log

import torch
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from graphfnp.errors import InvalidConfig
from graphfnp.graphs.edges import edge_pairs, pair_mean
from graphfnp.graphs.packed import Batch, PackedGraphs, Schema
from graphfnp.methods.baselines.vanilla import Vanilla, VanillaConfig
from graphfnp.methods.contract import Encoding, LossTerms
from graphfnp.networks.distributions import relaxed_bernoulli
from graphfnp.networks.mlp import mlp, running_statistics
from graphfnp.networks.neighbourhood import mean_pool


@dataclass(frozen=True)
class GSATConfig(VanillaConfig):
    """Vanilla's settings, and the prior r: from ``prior_start`` down by ``prior_step`` every ``prior_epochs``."""

    prior_start: float = 0.9
    prior_step: float = 0.1
    prior_epochs: int = 10
    prior_floor: float = 0.7
    information_weight: float = 1.0
    temperature: float = 1.0  # of the relaxed attention

    def __post_init__(self) -> None:
        if not 0 < self.prior_floor <= self.prior_start < 1 or self.prior_epochs < 1 or self.temperature <= 0:
            raise InvalidConfig(
                f"prior_floor={self.prior_floor}, prior_start={self.prior_start}, prior_epochs={self.prior_epochs}, "
                f"temperature={self.temperature}",
                "0 < prior_floor <= prior_start < 1, prior_epochs >= 1, temperature > 0",
                "change these settings",
            )


@dataclass(frozen=True, eq=False)
class Attended(Encoding):
    """A batch seen through its attention."""

    logit: Tensor  # [undirected edges]: log p / (1 - p)
    pair: Tensor  # [edges]: the undirected edge that each is a direction of


class GSAT(Vanilla):
    """logits = f(G with edge weights a_uv), a_uv ~ Bernoulli(p_uv), p_uv = sigmoid(MLP(h_u, h_v)), h from a first pass.

    loss = cross-entropy + beta mean_uv KL(Bernoulli(p_uv) || Bernoulli(r)). Attention is relaxed in training and its
    mean p in prediction; both directions of an edge have one p and one draw.
    """

    config: GSATConfig

    def __init__(self, schema: Schema, config: GSATConfig | None = None, backbone: nn.Module | None = None) -> None:
        super().__init__(schema, config := config or GSATConfig(), backbone)
        width = self.backbone.out_width
        self.attention, self.prior = mlp(2 * width, width, 1), config.prior_start

    def encode(self, batch: Batch) -> Attended:
        pair, count = edge_pairs(batch.edge_index, batch.num_nodes)
        logit = self._pair_logit(batch, pair, count)
        attention = logit.sigmoid()
        if self.training:
            attention = relaxed_bernoulli(logsigmoid(logit), torch.rand_like(logit), self.config.temperature)
        return Attended(batch, mean_pool(self.backbone(batch, attention[pair]), batch), logit, pair)

    def loss(self, encoded: Attended) -> LossTerms:  # type: ignore[override]
        batch, divergence = encoded.batch, bernoulli_kl(encoded.logit, self.prior)
        if batch.weight is None:
            information = divergence.sum() / max(len(divergence), 1)
        else:  # the mean over edges, each with the weight of its graph
            weight = torch.empty_like(divergence)
            weight[encoded.pair] = batch.weight[batch.batch[batch.edge_index[0]]]
            information = (weight * divergence).sum() / weight.sum().clamp(min=1e-9)
        return {**super().loss(encoded), "information": self.config.information_weight * information}

    def start_epoch(self, epoch: int, epochs: int, graphs: PackedGraphs) -> None:
        config = self.config
        lowered = config.prior_start - config.prior_step * (epoch // config.prior_epochs)
        self.prior = max(config.prior_floor, lowered)

    def edge_attention(self, batch: Batch) -> Tensor:
        """[edges] in (0, 1): how much of each edge the classifier looks at, its explanation of a graph."""
        pair, count = edge_pairs(batch.edge_index, batch.num_nodes)
        return self._pair_logit(batch, pair, count).sigmoid()[pair]

    def _pair_logit(self, batch: Batch, pair: Tensor, count: int) -> Tensor:
        # Batch statistics are the second pass's: prediction has one set, and it must fit what is classified.
        with running_statistics(self.backbone):
            states = self.backbone(batch)
        ends = states[batch.edge_index].movedim(0, 1).flatten(1)
        return pair_mean(self.attention(ends)[:, 0], pair, count)


def bernoulli_kl(logit: Tensor, r: float) -> Tensor:
    """KL(Bernoulli(p) || Bernoulli(r)) = p log p/r + (1 - p) log (1 - p)/(1 - r), with p = sigmoid(logit)."""
    p = logit.sigmoid()
    return p * (logsigmoid(logit) - log(r)) + (1 - p) * (logsigmoid(-logit) - log(1 - r))
