"""Which graphs are worth a reader's eye: the most and the least certain ones."""

import torch

from graphfnp.prediction.predictions import Predictions


def least_certain(predictions: Predictions, count: int) -> list[int]:
    """The graphs of highest total uncertainty, highest first."""
    return predictions.total_uncertainty.argsort(descending=True, stable=True)[:count].tolist()


def most_certain(predictions: Predictions, count: int) -> list[int]:
    """The graphs of lowest total uncertainty, the predicted classes taking turns."""
    order, label = predictions.total_uncertainty.argsort(stable=True), predictions.label
    queues = [order[label[order] == k].tolist() for k in range(predictions.draws.shape[-1])]
    turns = [queue[turn] for turn in range(count) for queue in queues if turn < len(queue)]
    return turns[:count]


def both_ends(predictions: Predictions, count: int = 12) -> list[int]:
    """Up to ``count`` graphs: of each predicted class the most certain, then the least certain."""
    order, label = predictions.total_uncertainty.argsort(stable=True), predictions.label
    classes = torch.unique(label).tolist()[:count]
    share = max(1, count // len(classes)) if classes else 0
    chosen: list[int] = []
    for k in classes:
        members = order[label[order] == k].tolist()
        chosen += (
            members if len(members) <= share else members[: (share + 1) // 2] + members[len(members) - share // 2 :]
        )
    return chosen
