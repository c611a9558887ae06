"""p(C | z^D, z^R): which rationales a graph is correlated with (Eq. 4)."""

import math

import torch
from torch import Tensor, nn

from graphfnp.networks.distributions import hard_bernoulli, log_one_minus_exp, relaxed_bernoulli

RELAXATION_TEMPERATURE = 0.3


class StochasticCorrelation(nn.Module):
    """C_ij ~ Bern(kappa_ij), kappa_ij = exp(-|z_i - z_j|^2 / (2 d l)), with a learned bandwidth l and d dimensions."""

    def __init__(self, bandwidth: float = 1.0) -> None:
        super().__init__()
        self.log_bandwidth = nn.Parameter(torch.tensor(math.log(bandwidth)))

    def log_probability(self, graph_embedding: Tensor, rationale_embedding: Tensor) -> Tensor:
        """log kappa [..., graphs, rationales] from [..., graphs, dims] and [..., rationales, dims]."""
        dims = graph_embedding.shape[-1]
        squares = graph_embedding.square().sum(-1, keepdim=True) + rationale_embedding.square().sum(-1).unsqueeze(-2)
        if graph_embedding.ndim == 2 and rationale_embedding.ndim == 3:  # one product, where @ would repeat the graphs
            products = nn.functional.linear(graph_embedding, rationale_embedding.flatten(0, 1))
            products = products.view(len(graph_embedding), *rationale_embedding.shape[:2]).transpose(0, 1)
        else:
            products = graph_embedding @ rationale_embedding.mT
        distance = (squares - 2 * products).clamp(min=0)
        return -0.5 / dims * torch.exp(-self.log_bandwidth) * distance

    def forward(self, log_probability: Tensor, uniform: Tensor) -> Tensor:
        """C: relaxed while training, hard 0/1 otherwise."""
        if self.training:
            return relaxed_bernoulli(log_probability, uniform, RELAXATION_TEMPERATURE)
        return hard_bernoulli(log_probability, uniform)


def log_no_link(log_kappa: Tensor) -> Tensor:
    """log P(C_i = 0) = sum_j log(1 - kappa_ij), [..., graphs]: how likely no rationale reaches the graph."""
    return log_one_minus_exp(log_kappa).sum(-1)
