"""When rationales are placed: once the encoder has learned something, and not later than that."""

import pytest

from graphfnp.methods import make_classifier
from tiny_graphs import TYPED, shapes, small


def first_complete_epoch(graphs, epochs: int, **settings) -> int:
    classifier = make_classifier("graphfnp", TYPED, small("graphfnp", **settings))
    for epoch in range(epochs):
        classifier.start_epoch(epoch, epochs, graphs)
        if classifier.is_complete:
            return epoch
    raise AssertionError("rationales were never placed")


@pytest.mark.parametrize(
    ("epochs", "settings", "expected"),
    [
        (30, {}, 4),  # 12 % of 30, rounded up
        (30, {"start_within": 24}, 2),  # twelve graphs, seen twice
        (30, {"start_within": 25}, 3),
        (2, {"start_after": 1.0}, 1),  # always in time for the last epoch
        (30, {"start_after": 0.0}, 0),
    ],
)
def test_rationales_start_at_a_part_of_the_epochs_or_at_so_many_graphs(epochs, settings, expected):
    assert first_complete_epoch(shapes(12), epochs, **settings) == expected


def test_rationales_stay_where_they_were_placed():
    graphs = shapes(12)
    classifier = make_classifier("graphfnp", TYPED, small("graphfnp", start_after=0.0))
    classifier.start_epoch(0, 30, graphs)
    placed = classifier.rationale_prior.anchors.detach().clone()
    assert placed.unique(dim=0).shape == placed.shape  # at different centroids
    classifier.start_epoch(1, 30, graphs)
    assert classifier.rationale_prior.anchors.equal(placed)
