"""Predictions: draws of class probabilities, and the uncertainty they carry."""

from dataclasses import dataclass

import torch
from torch import Tensor

from graphfnp.errors import InvalidGraphs
from graphfnp.prediction.domain import Placement


def entropy(probabilities: Tensor) -> Tensor:
    """H(p) = -sum_k p_k log p_k over the last dimension, in nats."""
    return -torch.special.xlogy(probabilities, probabilities).sum(-1)


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predictions of a classifier for some graphs, as draws from its predictive distribution.

    total = H(mean_s p_s) = data + model, data = mean_s H(p_s), which more training data would not remove,
    model = mutual information of label and draw: the disagreement between the draws.
    """

    draws: Tensor  # [draws, graphs, classes], probabilities
    y: Tensor  # [graphs], UNLABELLED where unknown
    distance: Tensor | None = None  # [graphs] in [0, 1]: how far from all the classifier knows
    domain: Placement | None = None  # how like the training data each graph is
    correlation: Tensor | None = None  # [graphs, rationales]: how often each rationale is correlated with each graph
    density_ratio: Tensor | None = None  # [graphs]: against held-out graphs, where conformal sets are weighted

    def __post_init__(self) -> None:
        if self.draws.ndim != 3 or self.draws.shape[1] != len(self.y):
            raise InvalidGraphs(
                f"draws of shape {tuple(self.draws.shape)} for {len(self.y)} labels",
                "[draws, graphs, classes]",
                "reshape",
            )

    def __len__(self) -> int:
        return self.draws.shape[1]

    @property
    def probabilities(self) -> Tensor:
        """[graphs, classes], the mean over draws."""
        return self.draws.mean(0)

    @property
    def label(self) -> Tensor:
        return self.probabilities.argmax(-1)

    @property
    def confidence(self) -> Tensor:
        """Probability of the predicted class."""
        return self.probabilities.amax(-1)

    @property
    def total_uncertainty(self) -> Tensor:
        return entropy(self.probabilities)

    @property
    def data_uncertainty(self) -> Tensor:
        return entropy(self.draws).mean(0)

    @property
    def model_uncertainty(self) -> Tensor:
        return (self.total_uncertainty - self.data_uncertainty).clamp(min=0)

    def interval(self, level: float = 0.9) -> Tensor:
        """[graphs, classes, 2]: the central part of the draws that holds ``level`` of them, and their mean.

        A few uninformative draws could move the mean out of the central interval.
        """
        ordered, last = self.draws.sort(dim=0).values, len(self.draws) - 1  # torch.quantile refuses a million graphs
        ends = []
        for tail in ((1 - level) / 2, (1 + level) / 2):
            below = int(tail * last)
            ends.append(torch.lerp(ordered[below], ordered[min(below + 1, last)], tail * last - below))
        mean = self.probabilities
        return torch.stack([torch.minimum(ends[0], mean), torch.maximum(ends[1], mean)], dim=-1)

    def labelled(self) -> "Predictions":
        """Only the graphs whose label is known."""
        return self.select(self.y >= 0)

    def select(self, graphs: Tensor) -> "Predictions":
        """Only some of the graphs, by a mask or their numbers."""
        distance = None if self.distance is None else self.distance[graphs]
        domain = None if self.domain is None else self.domain.select(graphs)
        correlation = None if self.correlation is None else self.correlation[graphs]
        ratio = None if self.density_ratio is None else self.density_ratio[graphs]
        return Predictions(self.draws[:, graphs], self.y[graphs], distance, domain, correlation, ratio)
