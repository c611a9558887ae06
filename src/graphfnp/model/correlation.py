"""p(C | z^D, z^R): which rationales a graph is correlated with (Eq. 3)."""

import math
from typing import Literal

import torch
from torch import Tensor, nn

from graphfnp.networks.bernoulli import hard_bernoulli, relaxed_bernoulli


class StochasticCorrelation(nn.Module):
    """C_ij ~ Bern(kappa_ij), kappa_ij = exp(-gamma |z_i - z_j|^2), gamma = 1 / (2 d l).

    l is learned by gradient, or follows the data: the running class-weighted mean squared distance from a graph to the
    nearest rationale of its class, per dimension. Then a typical graph has kappa = exp(-1/2) with its own rationale.

    The mean of few nodes is off by more than that of many, so that small graphs are far from everything. A running l
    knows by how much: the distance's regression on 1 / n over training graphs (:meth:`allowance`).
    """

    log_bandwidth: Tensor
    size_moments: Tensor

    def __init__(self, bandwidth: Literal["learned", "running"], initial: float | None, temperature: float) -> None:
        super().__init__()
        self.running, self.temperature = bandwidth == "running", temperature
        start = torch.tensor(math.log(1.0 if initial is None else initial))
        if self.running:
            self.register_buffer("log_bandwidth", start)
            # Running means of x, D, x^2 and x D, with x = 1 / n, D the squared distance that l is the mean of.
            self.register_buffer("size_moments", torch.tensor([0.0, 1.0, 0.0, 0.0]))
        else:
            self.log_bandwidth = nn.Parameter(start)

    @property
    def kernel_decay(self) -> Tensor:
        """gamma times the number of dimensions."""
        return 0.5 * torch.exp(-self.log_bandwidth)

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
        return -self.kernel_decay / dims * distance

    def forward(self, log_probability: Tensor, uniform: Tensor) -> Tensor:
        """C: relaxed while training, hard 0/1 otherwise."""
        if self.training:
            return relaxed_bernoulli(log_probability, uniform, self.temperature)
        return hard_bernoulli(log_probability, uniform)

    @torch.no_grad()
    def follow(
        self, log_probability: Tensor, own: Tensor, weight: Tensor, sizes: Tensor, momentum: float = 0.05
    ) -> None:
        """Move a running bandwidth towards the present distances; ``own`` marks rationales of the graph's class."""
        if not self.running:
            return
        nearest = log_probability.masked_fill(~own, -math.inf).amax(-1)
        reached = torch.isfinite(nearest)
        if reached.any():
            distance = (-nearest[reached] / self.kernel_decay).clamp(max=1e4)
            weight, x = weight[reached] / weight[reached].sum(), sizes[reached].clamp(min=1).to(distance).reciprocal()
            moments = torch.stack([x, distance, x.square(), x * distance]) @ weight
            self.log_bandwidth += momentum * (moments[1].clamp(min=1e-4).log() - self.log_bandwidth)
            self.size_moments.lerp_(moments, momentum)

    def allowance(self, sizes: Tensor) -> Tensor:
        """l(n) / l, at least 1: how many times farther than a typical graph one of n nodes is expected to be.

        l(n) = E D + b (1 / n - E 1 / n), b the slope of the regression of D on 1 / n, none below 0.
        """
        x = sizes.clamp(min=1).to(self.log_bandwidth).reciprocal()
        if not self.running:
            return torch.ones_like(x)
        mean_x, mean_d, mean_xx, mean_xd = self.size_moments
        spread, joint = mean_xx - mean_x.square(), (mean_xd - mean_x * mean_d).clamp(min=0)
        known = spread > 1e-4 * mean_x.square()  # among graphs of one size both are the noise of their last digits
        slope = torch.where(known, joint / spread.clamp(min=1e-12), 0.0)
        return (1 + slope * (x - mean_x) / mean_d.clamp(min=1e-4)).clamp(min=1)
