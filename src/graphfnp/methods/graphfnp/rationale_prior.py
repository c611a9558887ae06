"""p(z^R): the rationales, Gaussian embeddings with a class each (Eq. 3)."""

import torch
from torch import Tensor, nn

from graphfnp.networks.distributions import Gaussian
from graphfnp.networks.k_means import k_means
from graphfnp.networks.mlp import mlp

ANCHOR_STD, INITIAL_LOG_STD = 0.3, -2.0


class RationalePrior(nn.Module):
    """z^R_j ~ N(s_j, s^2) over learnable anchors s_j, with one learned s."""

    label: Tensor

    def __init__(self, num_classes: int, per_class: int, dims: int, anchor_std: float = ANCHOR_STD) -> None:
        super().__init__()
        self.register_buffer("label", torch.arange(num_classes).repeat_interleave(per_class))
        self.anchors = nn.Parameter(torch.randn(num_classes * per_class, dims) * anchor_std)
        self.log_std = nn.Parameter(torch.tensor(INITIAL_LOG_STD))

    def forward(self) -> Gaussian:
        """[rationales, dims]"""
        return Gaussian(self.anchors, self.log_std)

    @torch.no_grad()
    def start_at_centroids(self, embedding: Tensor, y: Tensor, weight: Tensor | None = None) -> None:
        """Put the anchors of each class at the (weighted) k-means centroids of its graphs."""
        for label in self.label.unique().tolist():
            own, slots = embedding[y == label], torch.where(self.label == label)[0]
            if len(own) == 0:
                continue
            centres = k_means(own, len(slots), 0, 4, None if weight is None else weight[y == label])
            # Fewer distinct graphs than rationales: the centroids are used again.
            self.anchors[slots] = centres[torch.arange(len(slots)) % len(centres)]


class ProjectedRationalePrior(RationalePrior):
    """z^R_j ~ N(MLP(s_j), exp(MLP(s_j))) over learnable anchors s_j, as printed."""

    def __init__(self, num_classes: int, per_class: int, dims: int) -> None:
        super().__init__(num_classes, per_class, dims, anchor_std=1.0)
        del self.log_std
        self.mean, self.log_variance = mlp(dims, dims, dims), mlp(dims, dims, dims)

    def forward(self) -> Gaussian:
        return Gaussian(self.mean(self.anchors), 0.5 * self.log_variance(self.anchors))
