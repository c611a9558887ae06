"""Centres of clusters, where anchors, inducing points and rationales begin."""

import torch
from torch import Tensor


def k_means(points: Tensor, clusters: int, seed: int, restarts: int = 10, weight: Tensor | None = None) -> Tensor:
    """[clusters, dims]: centres of the best of ``restarts`` runs; fewer where there are fewer different points."""
    from sklearn.cluster import KMeans

    clusters = min(clusters, len(points.unique(dim=0)))
    importance = None if weight is None else weight.double().cpu().numpy()
    found = KMeans(clusters, n_init=restarts, random_state=seed).fit(points.double().cpu().numpy(), None, importance)
    return torch.as_tensor(found.cluster_centers_).to(points)
