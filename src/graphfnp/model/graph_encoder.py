"""p(z^D | G): a backbone, mean pooling, and a Gaussian embedding of each graph."""

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from graphfnp.graphs import Batch
from graphfnp.networks.backbone import Backbone, ModuleBackbone
from graphfnp.networks.gaussian import Gaussian
from graphfnp.networks.mean_state import mean_state
from graphfnp.networks.mlp import mlp
from graphfnp.networks.normalisation import normalised


@dataclass(frozen=True, eq=False)
class Encoded:
    """What all draws and both steps share: computed once per batch."""

    graph_state: Tensor  # h, [graphs, width]
    graph_embedding: Gaussian  # of z^D, [graphs, dims]
    parts: Batch | None = None  # a random part of each graph, where training wants it
    parts_embedding: Gaussian | None = None
    kept: dict[Any, Any] = field(default_factory=dict)  # draws of it, where several questions are asked of the same

    def detach(self) -> "Encoded":
        """The encoder held fixed, as the E-step wants it."""
        return Encoded(self.graph_state.detach(), self.graph_embedding.detach())

    def with_parts(self, parts: Batch) -> "Encoded":
        """The first half are graphs, the second half their parts."""
        half = parts.num_graphs
        return Encoded(self.graph_state[:half], self.graph_embedding[:half], parts, self.graph_embedding[half:])


class GraphEncoder(nn.Module):
    """h = mean_v GNN(G)_v; z^D ~ N(MLP(h), exp(MLP(h))), or in the direct form N(BN(h), s^2) with one learned s."""

    def __init__(self, backbone: Backbone | ModuleBackbone, dims: int, projected: bool, initial_log_std: float) -> None:
        super().__init__()
        self.backbone, self.projected = backbone, projected
        width = backbone.out_width
        self.dims = dims if projected else width
        if projected:
            self.mean, self.log_variance = mlp(width, width, dims), mlp(width, width, dims)
        else:
            # Without scale and shift: distances between graphs stay the encoder's own.
            self.norm = nn.BatchNorm1d(width, affine=False)
        self.log_std = nn.Parameter(torch.tensor(initial_log_std))

    def forward(self, batch: Batch) -> Encoded:
        state = mean_state(self.backbone, batch)
        if self.projected:
            log_std = 0.5 * self.log_variance(state) + self.log_std
            return Encoded(state, Gaussian(self.mean(state), log_std))
        return Encoded(state, Gaussian(normalised(self.norm, state), self.log_std))
