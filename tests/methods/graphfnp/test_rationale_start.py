"""When rationales are placed: once the encoder has learned something, and not later than that."""

import pytest

from graphfnp.methods.graphfnp import method as graphfnp
from graphfnp.methods.registry import make_classifier
from tiny_graphs import TYPED, shapes, small


def first_epoch_with_rationales(graphs, epochs: int) -> int:
    classifier = make_classifier("graphfnp", TYPED, small("graphfnp"))
    for epoch in range(epochs):
        classifier.start_epoch(epoch, epochs, graphs)
        if classifier.uses_rationales:
            return epoch
    raise AssertionError("rationales were never placed")


@pytest.mark.parametrize(
    ("epochs", "constants", "expected"),
    [
        (30, {}, 4),  # 12 % of 30, rounded up
        (30, {"START_WITHIN": 24}, 2),  # twelve graphs, seen twice
        (30, {"START_WITHIN": 25}, 3),
        (2, {"START_AFTER": 1.0}, 1),  # always in time for the last epoch
        (30, {"START_AFTER": 0.0}, 0),
    ],
)
def test_rationales_start_at_a_part_of_the_epochs_or_at_so_many_graphs(epochs, constants, expected, monkeypatch):
    for name, value in constants.items():
        monkeypatch.setattr(graphfnp, name, value)
    assert first_epoch_with_rationales(shapes(12), epochs) == expected


def test_rationales_stay_where_they_were_placed(monkeypatch):
    monkeypatch.setattr(graphfnp, "START_AFTER", 0.0)
    graphs = shapes(12)
    classifier = make_classifier("graphfnp", TYPED, small("graphfnp"))
    classifier.start_epoch(0, 30, graphs)
    placed = classifier.rationale_prior.anchors.detach().clone()
    assert placed.unique(dim=0).shape == placed.shape  # at different centroids
    classifier.start_epoch(1, 30, graphs)
    assert classifier.rationale_prior.anchors.equal(placed)
