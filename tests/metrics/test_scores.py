"""Scores against scikit-learn where the definitions agree, by hand elsewhere."""

import json
from math import log

import pytest
import sklearn.metrics as reference
import torch

from graphfnp.metrics.scores import (
    accuracy,
    all_scores,
    auprc,
    auroc,
    brier,
    brier_decomposition,
    negative_log_likelihood,
)
from graphfnp.prediction.predictions import Predictions


def some(num_classes: int, num_graphs: int = 300) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(num_classes)
    logits = 2 * torch.randn(num_graphs, num_classes, generator=generator)
    y = torch.multinomial((logits / 2).softmax(-1), 1, generator=generator).squeeze(1)
    return logits.double().softmax(-1), y


def test_binary_scores_are_those_of_scikit_learn():
    probabilities, y = some(2)
    positive = probabilities[:, 1]
    assert float(accuracy(probabilities, y)) == pytest.approx(reference.accuracy_score(y, positive > 0.5))
    assert auroc(probabilities, y) == pytest.approx(reference.roc_auc_score(y, positive))
    assert auprc(probabilities, y) == pytest.approx(reference.average_precision_score(y, positive))
    assert float(negative_log_likelihood(probabilities, y)) == pytest.approx(reference.log_loss(y, positive))
    assert float(brier(probabilities, y)) == pytest.approx(2 * reference.brier_score_loss(y, positive))


def test_scores_of_several_classes_are_those_of_scikit_learn():
    probabilities, y = some(4)
    assert auroc(probabilities, y) == pytest.approx(reference.roc_auc_score(y, probabilities, multi_class="ovr"))
    one_hot = torch.nn.functional.one_hot(y, 4)
    assert auprc(probabilities, y) == pytest.approx(reference.average_precision_score(one_hot, probabilities))
    assert float(negative_log_likelihood(probabilities, y)) == pytest.approx(reference.log_loss(y, probabilities))
    assert float(brier(probabilities, y)) == pytest.approx(float((probabilities - one_hot).square().sum() / 300))


def test_ranking_needs_two_classes_and_leaves_out_a_class_that_does_not_occur():
    probabilities, y = some(3)
    assert auroc(probabilities, torch.zeros_like(y)) is None
    assert auprc(probabilities, torch.zeros_like(y)) is None
    seen = y < 2
    expected = [reference.roc_auc_score(y[seen] == k, probabilities[seen, k]) for k in (0, 1)]
    assert auroc(probabilities[seen], y[seen]) == pytest.approx(sum(expected) / 2)


def test_class_weights_make_the_likelihood_a_weighted_mean():
    probabilities, y = some(2)
    weight = torch.tensor([0.4, 1.6])
    expected = reference.log_loss(y, probabilities[:, 1], sample_weight=weight[y])
    assert float(negative_log_likelihood(probabilities, y, weight)) == pytest.approx(expected)
    assert float(negative_log_likelihood(torch.full((300, 2), 0.5), y, weight)) == pytest.approx(log(2))


def test_certainty_that_is_wrong_costs_much_but_not_infinity():
    loss = float(negative_log_likelihood(torch.tensor([[1.0, 0.0]]), torch.tensor([1])))
    assert 80 < loss < 100


def test_brier_parts_worked_by_hand():
    # Claims .25 (1 of 4 true) and .75 (2 of 4 true); each class counts once, so every part is twice the binary one.
    positive = torch.tensor([0.25] * 4 + [0.75] * 4)
    parts = brier_decomposition(torch.stack([1 - positive, positive], 1), torch.tensor([1, 0, 0, 0, 1, 1, 0, 0]))
    assert parts.reliability == pytest.approx(2 * 0.5 * 0.25**2)
    assert parts.uncertainty == pytest.approx(2 * 0.375 * 0.625)
    assert parts.resolution == pytest.approx(2 * 0.125**2)


@pytest.mark.parametrize("num_classes", [2, 5])
def test_brier_parts_add_up(num_classes):
    probabilities, y = some(num_classes)
    parts = brier_decomposition(probabilities, y)
    assert parts.reliability - parts.resolution + parts.uncertainty == pytest.approx(float(brier(probabilities, y)))
    assert 0 < parts.resolution < parts.uncertainty


def test_all_scores_are_json_and_see_labelled_graphs_only():
    probabilities, y = some(2)
    scores = all_scores(Predictions(probabilities[None], y))
    assert json.loads(json.dumps(scores, allow_nan=False)) == scores
    assert set(scores) == {
        "accuracy", "accuracy_of_majority", "auroc", "auprc", "ece", "ece_interval", "ece_floor", "ece_adaptive",
        "ece_at_mix", "ece_positive_class", "ece_positive_class_floor", "nll", "brier",
        "brier_reliability", "brier_resolution", "brier_uncertainty", "aurc", "num_graphs",
    }  # fmt: skip
    padded = Predictions(torch.cat([probabilities, probabilities[:7]])[None], torch.cat([y, torch.full((7,), -1)]))
    assert all_scores(padded) == scores
    assert scores["num_graphs"] == 300


def test_ece_at_the_assumed_mix_counts_each_class_as_often_as_that_mix_has_it():
    """Eight of ten graphs are of class 1; weighed to an even mix they count as two, beside the two of class 0."""
    p = torch.tensor([[0.7, 0.3], [0.4, 0.6], *[[0.1, 0.9]] * 8])
    y = torch.tensor([0, 0, *[1] * 8])
    scores = all_scores(Predictions(p[None], y), (0.5, 0.5))
    assert scores["ece"] == pytest.approx((0.3 + 0.6 + 8 * 0.1) / 10)
    assert scores["ece_at_mix"] == pytest.approx((0.3 + 0.6 + 2 * 0.1) / 4)
    assert all_scores(Predictions(p[None], y), (0.2, 0.8))["ece_at_mix"] == pytest.approx(scores["ece"])


def test_ece_at_a_mix_is_not_defined_where_a_class_of_it_has_no_graph():
    one_class = Predictions(torch.tensor([[[0.3, 0.7], [0.2, 0.8]]]), torch.tensor([1, 1]))
    assert all_scores(one_class, (0.5, 0.5))["ece_at_mix"] is None
    assert all_scores(one_class)["ece_at_mix"] is None
    assert all_scores(one_class, (0.0, 1.0))["ece_at_mix"] == pytest.approx(all_scores(one_class)["ece"])


def test_few_graphs_have_no_interval_of_their_calibration_error():
    probabilities, y = some(2)
    assert all_scores(Predictions(probabilities[None, :19], y[:19]))["ece_interval"] is None  # would be a point of one
    low, high = all_scores(Predictions(probabilities[None, :20], y[:20]))["ece_interval"]
    assert low < high


def test_all_scores_of_no_label_or_of_one_class_are_defined():
    probabilities, y = some(3)
    nothing = all_scores(Predictions(probabilities[None], torch.full_like(y, -1)))
    assert nothing.pop("num_graphs") == 0
    assert set(nothing.values()) == {None}
    one_class = all_scores(Predictions(probabilities[None], torch.ones_like(y)))
    assert one_class["auroc"] is one_class["auprc"] is one_class["ece_positive_class"] is None
    json.dumps(one_class, allow_nan=False)


def test_parts_of_the_brier_score_and_the_area_under_risk_and_coverage_are_among_all_scores():
    probabilities, y = some(3)
    scores = all_scores(Predictions(probabilities[None], y))
    parts = scores["brier_reliability"] - scores["brier_resolution"] + scores["brier_uncertainty"]
    assert parts == pytest.approx(scores["brier"])
    order = probabilities.amax(-1).argsort(descending=True)
    wrong = (probabilities.argmax(-1) != y)[order].double()
    assert scores["aurc"] == pytest.approx(float((wrong.cumsum(0) / torch.arange(1, len(y) + 1)).mean()))
