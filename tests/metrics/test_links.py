"""Links of rationales: what they know of the class, and what is said where there are none."""

import math

import pytest
import torch

from graphfnp.experiments.summary import measures
from graphfnp.metrics.links import link_precision, nearest_accuracy, redundancy

Y, LABEL = torch.tensor([0, 0, 0, 1]), torch.tensor([0, 1])


def test_both_sides_weigh_alike_whatever_the_balance_of_classes() -> None:
    kappa = torch.tensor([[0.9, 0.1], [0.6, 0.1], [0.6, 0.1], [0.1, 0.3]])
    assert link_precision(kappa, Y, LABEL).tolist() == pytest.approx([0.7 / 0.8, 0.3 / 0.4])
    assert nearest_accuracy(kappa, Y, LABEL) == 1


def test_weak_links_count_like_strong_ones_and_a_rationale_without_any_is_at_chance() -> None:
    kappa = torch.tensor([[3e-30, 0.0]] * 3 + [[1e-30, 0.0]], dtype=torch.double)
    assert link_precision(kappa, Y, LABEL).tolist() == pytest.approx([0.75, 0.5])


def test_a_measure_of_nothing_is_left_out_of_means() -> None:
    assert math.isnan(redundancy(torch.zeros(4, 2)))
    cell = {"explanation": {"redundancy": redundancy(torch.zeros(4, 2)), "accuracy": 0.5}}
    assert measures([cell]) == {"accuracy": [0.5]}
