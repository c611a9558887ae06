"""p(z^D | G): a backbone, mean pooling, and a Gaussian embedding of each graph."""

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from graphfnp.graphs.packed import Batch
from graphfnp.methods.contract import Encoding
from graphfnp.networks.backbone import Backbone, ModuleBackbone
from graphfnp.networks.distributions import Gaussian
from graphfnp.networks.mean_state import mean_state
from graphfnp.networks.mlp import mlp, normalised

INITIAL_LOG_STD = -2.0  # of z, where it is the pooled state itself


@dataclass(frozen=True, eq=False)
class GraphEncoding(Encoding):
    """What all draws and both steps share; the state is h, [graphs, width]."""

    graph_embedding: Gaussian  # of z^D, [graphs, dims]
    cache: dict[Any, Any] = field(default_factory=dict)  # what is computed from it once, where nothing learns

    def detach(self) -> "GraphEncoding":
        """The encoder held fixed, as the E-step wants it."""
        return GraphEncoding(self.batch, self.state.detach(), self.graph_embedding.detach())


class DirectEncoder(nn.Module):
    """z^D ~ N(BN(h), s^2), h = mean_v GNN(G)_v, with one learned s."""

    def __init__(self, backbone: Backbone | ModuleBackbone) -> None:
        super().__init__()
        self.backbone, self.dims = backbone, backbone.out_width
        # Without scale and shift: distances between graphs stay the encoder's own.
        self.norm = nn.BatchNorm1d(self.dims, affine=False)
        self.log_std = nn.Parameter(torch.tensor(INITIAL_LOG_STD))

    def forward(self, batch: Batch) -> GraphEncoding:
        return self.of_state(batch, mean_state(self.backbone, batch))

    def of_state(self, batch: Batch, state: Tensor) -> GraphEncoding:
        return GraphEncoding(batch, state, Gaussian(normalised(self.norm, state), self.log_std))


class ProjectedEncoder(nn.Module):
    """z^D ~ N(MLP(h), exp(MLP(h))), h = mean_v GNN(G)_v, as printed."""

    def __init__(self, backbone: Backbone | ModuleBackbone, dims: int) -> None:
        super().__init__()
        self.backbone, self.dims = backbone, dims
        width = backbone.out_width
        self.mean, self.log_variance = mlp(width, width, dims), mlp(width, width, dims)

    def forward(self, batch: Batch) -> GraphEncoding:
        return self.of_state(batch, mean_state(self.backbone, batch))

    def of_state(self, batch: Batch, state: Tensor) -> GraphEncoding:
        return GraphEncoding(batch, state, Gaussian(self.mean(state), 0.5 * self.log_variance(state)))
