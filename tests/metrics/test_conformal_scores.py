"""Scores of sets by hand."""

import torch

from graphfnp.metrics.scores import conformal_scores


def test_coverage_and_sizes_by_hand():
    sets = torch.tensor([[1, 0, 0], [1, 1, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1]]).bool()
    found = conformal_scores(sets, torch.tensor([0, 0, 1, 0, -1]))
    assert found["coverage"] == 0.5
    assert found["coverage_per_class"] == [2 / 3, 0.0, None]
    assert found["mean_size"] == 7 / 5
    assert found["singletons"] == 2 / 5
    assert found["empty"] == 1 / 5


def test_no_label_gives_sizes_alone():
    found = conformal_scores(torch.ones(3, 2).bool(), torch.full((3,), -1))
    assert found["coverage"] is None
    assert found["mean_size"] == 2
    assert conformal_scores(torch.ones(0, 2).bool(), torch.zeros(0, dtype=torch.long))["mean_size"] is None
