"""How good sets of classes are: how often they hold the label, and how few classes they name."""

from typing import Any

from torch import Tensor


def conformal_scores(sets: Tensor, y: Tensor) -> dict[str, Any]:
    """Coverage overall and for each class, and sizes, of sets bool [N, K] and labels [N], -1 where unknown.

    Coverage is over labelled graphs, sizes are over all; None where there are none.
    """
    known = y >= 0
    covered = sets[known].gather(1, y[known, None])[:, 0].double()
    size = sets.sum(-1)

    def mean(values: Tensor) -> float | None:
        return float(values.double().mean()) if len(values) else None

    return {
        "coverage": mean(covered),
        "coverage_per_class": [mean(covered[y[known] == k]) for k in range(sets.shape[1])],
        "mean_size": mean(size),
        "singletons": mean(size == 1),
        "empty": mean(size == 0),
    }
