"""Known answers of the focal loss."""

import pytest
import torch
from checks import close, new, random_logits

from graphfnp.graphs.packed import Batch, PackedGraphs
from graphfnp.methods.baselines.focal import focal_loss


def test_focal_loss_without_focus_is_cross_entropy(graphs: PackedGraphs, batch: Batch) -> None:
    logits, y = random_logits()
    close(focal_loss(logits, y, 0.0), torch.nn.functional.cross_entropy(logits, y, reduction="none"))
    focal, vanilla = new("focal", graphs, gamma=0.0), new("vanilla", graphs)
    weight = torch.tensor([0.5, 1.0, 1.5])
    for classifier in (focal, vanilla):
        classifier.class_weight.copy_(weight)
    losses = [classifier.loss(classifier.encode(batch))["data"].detach() for classifier in (focal, vanilla)]
    close(losses[0], losses[1])


def test_focal_loss_by_hand() -> None:
    logits = torch.tensor([[0.75, 0.25], [0.75, 0.25]]).log()
    expected = [0.25**2 * -torch.tensor(0.75).log(), 0.75**2 * -torch.tensor(0.25).log()]
    close(focal_loss(logits, torch.tensor([0, 1]), 2.0), torch.stack(expected))


@pytest.mark.parametrize("gamma", [0.5, 2.0])
def test_focal_loss_of_a_sure_prediction_has_a_finite_slope(gamma: float) -> None:
    logits = torch.tensor([[200.0, -200.0]], requires_grad=True)
    focal_loss(logits, torch.tensor([0]), gamma).sum().backward()
    assert logits.grad is not None
    assert logits.grad.isfinite().all()
