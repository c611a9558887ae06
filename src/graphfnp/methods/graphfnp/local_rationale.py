"""p(u | C, z^R) and q(u | G): what the correlated rationales say of a graph, in one vector (Eq. 5)."""

from torch import Tensor, nn

from graphfnp.networks.distributions import Gaussian
from graphfnp.networks.mlp import mlp

EPSILON = 1e-6


class LocalRationale(nn.Module):
    """u_i ~ N(avg_j MLP(z_j), exp(avg_j MLP(z_j))), the average over the rationales j with C_ij = 1.

    Where there is none both averages are 0: u ~ N(0, I), the uninformative prior of "far away" graphs.
    """

    def __init__(self, dims: int, local_dim: int) -> None:
        super().__init__()
        self.mean, self.log_variance = mlp(dims, dims, local_dim), mlp(dims, dims, local_dim)

    def statistics(self, rationale_embedding: Tensor) -> tuple[Tensor, Tensor]:
        """The two MLPs of each rationale, [..., rationales, local_dim] each."""
        return self.mean(rationale_embedding), self.log_variance(rationale_embedding)

    def summarise(self, correlation: Tensor, statistics: tuple[Tensor, Tensor]) -> Gaussian:
        """u^D: [..., graphs, local_dim] from C [..., graphs, rationales]."""
        share = correlation / (correlation.sum(-1, keepdim=True) + EPSILON)
        mean, log_variance = statistics
        return Gaussian(share @ mean, 0.5 * (share @ log_variance))

    def self_summary(self, rationale_embedding: Tensor) -> Gaussian:
        """u^R: every rationale summarises itself."""
        mean, log_variance = self.statistics(rationale_embedding)
        return Gaussian(mean, 0.5 * log_variance)


class LocalRationalePosterior(nn.Module):
    """q_phi(u | G) = N(MLP(h), exp(MLP(h))), used in training only."""

    def __init__(self, width: int, local_dim: int) -> None:
        super().__init__()
        self.mean, self.log_variance = mlp(width, width, local_dim), mlp(width, width, local_dim)

    def forward(self, graph_state: Tensor) -> Gaussian:
        return Gaussian(self.mean(graph_state), 0.5 * self.log_variance(graph_state))
