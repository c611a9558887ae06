"""Thresholds by hand, and what they promise over many samples."""

import re

import numpy as np
import pytest
import torch

from graphfnp.errors import InvalidConfig, InvalidGraphs
from graphfnp.prediction.decision import Decision, Rule, fit_decision
from graphfnp.prediction.predictions import Predictions


def said(probability, y) -> Predictions:
    probability = torch.as_tensor(probability)
    return Predictions(torch.stack([1 - probability, probability], -1)[None], torch.as_tensor(y))


P, Y = [0.9, 0.8, 0.7, 0.6, 0.4, 0.2], [1, 1, 0, 1, 0, 0]


@pytest.mark.parametrize(
    ("rule", "threshold"),
    [
        (Rule(precision=0.99), 0.75),  # two of two; one more is wrong
        (Rule(precision=0.75), 0.5),  # three of four
        (Rule(precision=0.5), 0.1),  # three of six
        (Rule(cost_fp=1, cost_fn=1), 0.75),  # one missed, as good as one too many: the surer comes first
        (Rule(cost_fp=1, cost_fn=2), 0.5),  # one too many
        (Rule(cost_fp=9, cost_fn=1), 0.75),
    ],
)
def test_threshold_by_hand(rule, threshold):
    assert rule.threshold(np.array(P), np.array(Y)) == pytest.approx(threshold)
    found = fit_decision(said(P, Y), rule)
    assert found.interval[0] <= found.threshold <= found.interval[1]
    assert Decision.from_json(found.to_json()) == found


def test_graphs_of_one_probability_are_said_together():
    assert Rule(precision=0.9).threshold(np.array([0.8, 0.8, 0.3]), np.array([1, 0, 1])) is None


def test_probabilities_that_differ_by_rounding_alone_are_said_together():
    raked = np.array([0.73705530, 0.73705524, 0.73705518, 0.2])  # one level of an isotonic curve
    assert Rule(precision=0.9).threshold(raked, np.array([1, 0, 1, 0])) is None
    assert Rule(precision=0.6).threshold(raked, np.array([1, 0, 1, 0])) == pytest.approx((raked[2] + 0.2) / 2)


def test_class_that_silence_is_cheaper_than_is_never_said_even_at_1():
    found = fit_decision(said([1.0, 1.0, 1.0, 0.0], [0, 0, 0, 1]), Rule(cost_fp=9, cost_fn=1))
    assert re.match(r"yes is never said \([\d.]+ to 1.000 in 90% of resamplings\), for", found.told(("no", "yes")))
    assert found.scores(said([1.0, 0.5], [1, 0]))["said"] == 0


def test_scores_of_a_decision_by_hand():
    found = Decision(1, 0.5, (0.4, 0.6), "precision 75 %", 6, 0.5)
    assert found.says(said(P, Y).probabilities).tolist() == [1, 1, 1, 1, 0, 0]
    scores = found.scores(said(P, Y))
    assert (scores["said"], scores["precision"], scores["recall"]) == (4, 0.75, 1.0)
    assert (scores["false_positives"], scores["false_negatives"]) == (1, 0)
    low, high = scores["precision_interval"]
    assert 0.3 < low < 0.75 < high < 1
    other = Decision(0, 0.5, (0.4, 0.6), "precision 75 %", 6, 0.5)
    assert other.says(said(P, Y).probabilities).tolist() == [1, 1, 1, 1, 0, 0]


def test_resamplings_mostly_hold_the_threshold_of_very_many_graphs():
    random = np.random.default_rng(0)

    def drawn(count: int):
        p = random.uniform(size=count)
        return p, (random.uniform(size=count) < p).astype(int)

    rule = Rule(precision=0.8)  # of calibrated uniform p: mean above t is (1 + t) / 2, so t = 0.6
    held = [fit_decision(said(*drawn(200)), rule).interval for _ in range(20)]
    assert sum(low <= 0.6 <= high for low, high in held) >= 15


def test_what_cannot_be_kept_is_refused():
    with pytest.raises(InvalidGraphs, match="of the 3 surest 33% are right"):  # of three there are no ten
        fit_decision(said([0.9, 0.8, 0.2], [0, 0, 1]), Rule(precision=0.9))
    with pytest.raises(InvalidGraphs, match="both of two classes"):
        fit_decision(said([0.9, 0.8], [1, 1]), Rule(precision=0.9))
    for wrong in (
        {},
        {"precision": 1.5},
        {"cost_fp": 1.0},
        {"precision": 0.9, "cost_fn": 1.0},
        {"cost_fp": 0, "cost_fn": 1},
    ):
        with pytest.raises(InvalidConfig):
            Rule(**wrong)
