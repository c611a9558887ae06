"""p(z^R): the rationales, Gaussian embeddings with a class each (Eq. 2)."""

import torch
from sklearn.cluster import KMeans
from torch import Tensor, nn

from graphfnp.networks.gaussian import Gaussian
from graphfnp.networks.mlp import mlp


class RationalePrior(nn.Module):
    """z^R_j ~ N(MLP(s_j), exp(MLP(s_j))) over learnable anchors s; in the direct form s_j is the mean itself."""

    label: Tensor

    def __init__(
        self, num_classes: int, per_class: int, dims: int, projected: bool, anchor_std: float, initial_log_std: float
    ) -> None:
        super().__init__()
        self.projected = projected
        self.register_buffer("label", torch.arange(num_classes).repeat_interleave(per_class))
        self.anchors = nn.Parameter(torch.randn(num_classes * per_class, dims) * anchor_std)
        if projected:
            self.mean, self.log_variance = mlp(dims, dims, dims), mlp(dims, dims, dims)
        self.log_std = nn.Parameter(torch.tensor(initial_log_std))

    def forward(self) -> Gaussian:
        """[rationales, dims]"""
        if not self.projected:
            return Gaussian(self.anchors, self.log_std)
        return Gaussian(self.mean(self.anchors), 0.5 * self.log_variance(self.anchors) + self.log_std)

    @torch.no_grad()
    def start_at_centroids(self, embedding: Tensor, y: Tensor, seed: int = 0) -> None:
        """Direct form: put the anchors of each class at the k-means centroids of its graphs."""
        for label in self.label.unique().tolist():
            own, slots = embedding[y == label], torch.where(self.label == label)[0]
            if len(own) == 0:
                continue
            clusters = min(len(slots), len(own.unique(dim=0)))
            centres = KMeans(clusters, n_init=4, random_state=seed).fit(own.double().cpu().numpy()).cluster_centers_
            # Fewer distinct graphs than rationales: the centroids are used again.
            self.anchors[slots] = torch.as_tensor(centres).to(embedding)[torch.arange(len(slots)) % clusters]
