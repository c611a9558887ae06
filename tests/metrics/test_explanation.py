"""Measures of explanations, worked by hand."""

from math import isnan

import pytest
import torch

from graphfnp.metrics.explanation import (
    edge_roc_auc,
    label_fidelity,
    precision_at_k,
    probability_fidelity,
    sparsity,
    stability,
)

GRAPH = torch.tensor([0, 0, 0, 1, 1])
TRUTH = torch.tensor([True, False, False, True, True])


def test_edge_auc_is_the_share_of_well_ordered_pairs() -> None:
    score = torch.tensor([0.9, 0.8, 0.1, 0.7, 0.8])
    # pairs (true, other): .9 beats both; .7 loses to .8 and beats .1; .8 ties with .8 and beats .1
    assert edge_roc_auc(score, TRUTH) == pytest.approx((2 + 1 + 1.5) / 6)


def test_without_two_kinds_of_edges_there_is_no_auc() -> None:
    assert isnan(edge_roc_auc(torch.ones(2), torch.tensor([True, True])))


def test_precision_counts_true_edges_among_the_best_of_each_graph() -> None:
    score = torch.tensor([0.5, 0.9, 0.1, 0.3, 0.2])
    assert precision_at_k(score, TRUTH, GRAPH, 1) == pytest.approx((0 + 1) / 2)
    assert precision_at_k(score, TRUTH, GRAPH, 2) == pytest.approx((0.5 + 1) / 2)
    assert precision_at_k(score, TRUTH, GRAPH, 3) == pytest.approx((1 / 3 + 1) / 2)  # graph 1 has two edges only
    assert precision_at_k(score, TRUTH, GRAPH) == pytest.approx((0 + 1) / 2)


def test_precision_takes_equals_at_random_whatever_their_order() -> None:
    score, graph = torch.tensor([1.0, 0.0, 0.0, 0.0, 1.0, 1.0]), torch.tensor([0, 0, 0, 0, 1, 1])
    truth = torch.tensor([False, False, True, True, True, False])
    for order in (torch.arange(6), torch.arange(6).flip(0)):
        found = precision_at_k(score[order], truth[order], graph[order])
        assert found == pytest.approx((1 / 3 + 1 / 2) / 2)  # one of two places is left for three; one place for two


def test_precision_leaves_out_graphs_without_a_reason() -> None:
    truth = torch.tensor([True, False, False, False, False])
    assert precision_at_k(torch.tensor([0.5, 0.1, 0.1, 0.3, 0.2]), truth, GRAPH, 1) == 1.0


def test_sparsity_is_averaged_over_graphs() -> None:
    kept = torch.tensor([True, False, False, True, False])
    assert sparsity(kept, GRAPH) == pytest.approx(1 - (1 / 3 + 1 / 2) / 2)


def test_both_conventions_of_fidelity() -> None:
    full = torch.tensor([[0.9, 0.1], [0.2, 0.8]])
    kept = torch.tensor([[0.7, 0.3], [0.6, 0.4]])
    removed = torch.tensor([[0.4, 0.6], [0.1, 0.9]])
    assert label_fidelity(full, kept, removed) == {"plus": 0.5, "minus": 0.5}
    found = probability_fidelity(full, kept, removed, torch.tensor([0, 1]))
    assert found["plus"] == pytest.approx(((0.9 - 0.4) + (0.8 - 0.9)) / 2)
    assert found["minus"] == pytest.approx(((0.9 - 0.7) + (0.8 - 0.4)) / 2)


def test_stability_is_the_overlap_between_seeds() -> None:
    kept = torch.tensor([[True, True, False, True, False], [True, False, True, True, False]])
    assert stability(kept, GRAPH) == pytest.approx((1 / 3 + 1) / 2)
    assert isnan(stability(kept[:1], GRAPH))
