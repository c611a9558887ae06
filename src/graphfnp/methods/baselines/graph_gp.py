"""Graph-GP: a variational Gaussian process for each class on the features of a graph network (GPyTorch)."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from graphfnp.errors import InvalidConfig
from graphfnp.graphs.packed import Batch, PackedGraphs, Schema
from graphfnp.methods.baselines.vanilla import VanillaConfig
from graphfnp.methods.contract import Encoding, GraphClassifier, LossTerms
from graphfnp.networks.backbone import make_backbone
from graphfnp.networks.distributions import normal_draws
from graphfnp.networks.k_means import k_means
from graphfnp.networks.mean_state import mean_state
from graphfnp.networks.mlp import mlp, normalised


@dataclass(frozen=True)
class GraphGPConfig(VanillaConfig):
    """A three-layer head of which the last layer is the process."""

    feature_dim: int = 16
    inducing_points: int = 64
    warm_up: int = 5  # epochs with a linear last layer, before inducing points are placed
    training_draws: int = 8

    def __post_init__(self) -> None:
        if min(self.feature_dim, self.inducing_points, self.training_draws) < 1:
            raise InvalidConfig(
                f"feature_dim={self.feature_dim}, inducing_points={self.inducing_points}, "
                f"training_draws={self.training_draws}",
                "at least 1 each",
                "change these settings",
            )


class GraphGP(GraphClassifier[Encoding]):
    """f_k ~ GP(0, a exp(-|phi - phi'|^2 / 2 l^2)), loss = -ELBO / N = E_q[mean loss] + KL(q(u) || p(u)) / N.

    phi = norm(MLP(relu(mean_v GNN(G)_v))). After the warm-up the inducing points are the k-means centroids of the
    training features, with the values that the linear layer gives them. A draw is mean(phi) + std(phi) eps with one eps
    for all graphs; far from all inducing points it is the prior, the same for every class.
    """

    num_graphs: Tensor
    is_placed: Tensor

    def __init__(self, schema: Schema, config: GraphGPConfig | None = None, backbone: nn.Module | None = None) -> None:
        super().__init__(schema)
        self.config = config = config or GraphGPConfig()
        self.backbone = make_backbone(schema, config.backbone, backbone)
        hidden = [config.head_width] * max(config.head_layers - 2, 0)
        self.head = mlp(self.backbone.out_width, *hidden, config.feature_dim)
        self.norm = nn.BatchNorm1d(config.feature_dim, affine=False)
        self.linear = nn.Linear(config.feature_dim, schema.num_classes)
        self.process = make_process(schema.num_classes, config.inducing_points, config.feature_dim)
        self.register_buffer("num_graphs", torch.tensor(1.0))
        self.register_buffer("is_placed", torch.tensor(False))

    def encode(self, batch: Batch) -> Encoding:
        return Encoding(batch, normalised(self.norm, self.head(torch.relu(mean_state(self.backbone, batch)))))

    def draw_logits(self, encoded: Encoding, num_draws: int, seed: int = 0) -> Tensor:
        if not self.is_placed:
            return self.linear(encoded.state).expand(num_draws, -1, -1)
        mean, variance = self.posterior(encoded.state)
        noise = normal_draws(num_draws, mean.shape[1], seed, "graph-gp").to(mean)
        return mean + variance.sqrt() * noise.unsqueeze(1)

    def loss(self, encoded: Encoding) -> LossTerms:
        if not self.is_placed:
            return {"data": self.cross_entropy(self.linear(encoded.state), encoded.batch.y, encoded.batch.weight)}
        mean, variance = self.posterior(encoded.state)
        draws = mean + variance.sqrt() * torch.randn(self.config.training_draws, *mean.shape, device=mean.device)
        divergence = self.process.variational_strategy.kl_divergence().sum()
        return {
            "data": self.cross_entropy(draws, encoded.batch.y, encoded.batch.weight),
            "divergence": divergence / self.num_graphs,
        }

    def start_epoch(self, epoch: int, epochs: int, graphs: PackedGraphs) -> None:
        self.num_graphs.fill_(len(graphs))
        if not self.is_placed and epoch >= min(self.config.warm_up, epochs // 4):
            was_training = self.training
            self.eval()
            with torch.no_grad():
                batches = graphs.batches(256, node_budget=16384)
                self.place(torch.cat([self.encode(batch.to(self.num_graphs.device)).state for batch in batches]))
            self.train(was_training)

    def distance(self, encoded: Encoding) -> Tensor | None:
        """Posterior over prior variance, the mean over classes."""
        if not self.is_placed:
            return None
        variance = self.posterior(encoded.state)[1]
        return (variance / self.process.covar_module.outputscale).mean(1).clamp(0, 1)

    def posterior(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and variance of q(f), [graphs, classes]."""
        # GPyTorch keeps factors of the last weights while not training; the averaged weights change without training.
        strategy = self.process.variational_strategy
        strategy._clear_cache()
        marginal = self.process(features.expand(self.schema.num_classes, -1, -1))
        strategy._clear_cache()
        return marginal.mean.T, marginal.variance.T.clamp(min=1e-8)

    @torch.no_grad()
    def place(self, features: Tensor) -> None:
        """Inducing points at the centroids of the features; whitened values L^-1 linear(centroid), K = L L^T."""

        strategy = self.process.variational_strategy
        centres = k_means(features, self.config.inducing_points, seed=0, restarts=1)
        points = centres[torch.arange(self.config.inducing_points) % len(centres)]
        if len(centres) < len(points):  # points in one place make K singular
            points = points + 0.1 * torch.randn_like(points)
        strategy.inducing_points.copy_(points)
        kernel = self.process.covar_module(points).to_dense()
        root = torch.linalg.cholesky((kernel + 1e-3 * torch.eye(len(kernel)).to(kernel)).double())
        values = torch.linalg.solve_triangular(root, self.linear(points).double(), upper=False)
        strategy._variational_distribution.variational_mean.copy_(values.T)
        self.is_placed.fill_(True)


def make_process(num_classes: int, num_points: int, dims: int) -> Any:
    """Independent variational processes of the classes with one kernel, at the prior; a VariationalProcess."""
    try:
        from graphfnp.networks.variational_process import VariationalProcess
    except ImportError as error:
        raise InvalidConfig(
            "method graph-gp without GPyTorch", "the optional packages of this method", "pip install 'graphfnp[gp]'"
        ) from error
    return VariationalProcess(num_classes, num_points, dims)
