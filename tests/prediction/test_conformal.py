"""Conformal sets: each class is covered as promised, by hand for few graphs and over many simulated ones."""

import json
from math import sqrt

import pytest
import torch

from graphfnp.errors import InvalidConfig
from graphfnp.prediction.calibration import Calibration
from graphfnp.prediction.conformal import Conformal, fit_conformal


def simulated(count: int, num_classes: int, generator: torch.Generator, digits: int | None = None):
    """Labels of very unequal frequency and probabilities that are overconfident, differently for each class."""
    frequency = torch.tensor([2.0**-k for k in range(num_classes)])
    y = torch.multinomial(frequency, count, replacement=True, generator=generator)
    hint = (1.0 + y)[:, None] * torch.nn.functional.one_hot(y, num_classes)
    logits = 3 * (hint / num_classes + torch.randn(count, num_classes, generator=generator))
    probabilities = logits.double().softmax(-1)
    return probabilities if digits is None else probabilities.round(decimals=digits), y


@pytest.mark.parametrize("level", [0.8, 0.9])
@pytest.mark.parametrize(("num_classes", "digits"), [(2, None), (3, None), (3, 1)], ids=["two", "three", "ties"])
def test_every_class_is_covered_as_promised(num_classes, digits, level):
    generator = torch.Generator().manual_seed(0)
    hits, tried, least = torch.zeros(num_classes), torch.zeros(num_classes), torch.zeros(num_classes)
    for _ in range(300):
        conformal = fit_conformal(*simulated(150, num_classes, generator, digits))
        probabilities, y = simulated(100, num_classes, generator, digits)
        covered = conformal.sets(probabilities, level).gather(1, y[:, None])[:, 0]
        count = torch.bincount(y, minlength=num_classes)
        hits += torch.bincount(y, covered.float(), minlength=num_classes)
        tried += count
        least += count / torch.tensor([len(scores) + 1.0 for scores in conformal.scores])
    for k in range(num_classes):
        # Sets of one fit err together: the spread is that of about 300 fits on top of the graphs'.
        error = 4 * sqrt(level * (1 - level)) * sqrt(1 / float(tried[k]) + 1 / (300 * 30))
        coverage = float(hits[k] / tried[k])
        assert coverage >= level - error
        if digits is None:  # without ties no more than 1 / (n + 1) above
            assert coverage <= level + float(least[k] / tried[k]) + error


def test_threshold_is_the_score_of_the_right_rank():
    scores = tuple(k / 10 for k in range(1, 10))  # nine: the 9th for 90 %, the 8th for 80 %, the 5th for 50 %
    conformal = Conformal((scores, scores))
    assert conformal.thresholds(0.9).tolist() == [0.9, 0.9]
    assert conformal.thresholds(0.8).tolist() == [0.8, 0.8]
    assert conformal.thresholds(0.5).tolist() == [0.5, 0.5]
    sets = conformal.sets(torch.tensor([[0.5, 0.5], [0.49, 0.51], [0.1, 0.9]]).double(), 0.5)
    assert sets.tolist() == [[True, True], [False, True], [False, True]]


def test_class_with_too_few_graphs_is_in_every_set():
    conformal = fit_conformal(
        torch.tensor([[1.0, 0.0, 0.0]] * 9 + [[0.0, 1.0, 0.0]] * 8), torch.tensor([0] * 9 + [1] * 8)
    )
    sets = conformal.sets(torch.tensor([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]))
    assert sets.tolist() == [[True, True, True], [False, True, True]]
    facts = conformal.facts()
    assert facts["held_out_graphs"] == [9, 8, 0]
    assert facts["classes_in_every_set"] == [1, 2]
    assert "approximate" in facts["guarantee"]


def test_unlabelled_graphs_are_left_out_and_sets_grow_with_the_level():
    probabilities, y = simulated(200, 3, torch.Generator().manual_seed(1))
    hidden = torch.where(torch.arange(200) % 2 == 0, y, -1)
    conformal = fit_conformal(probabilities, hidden)
    assert conformal == fit_conformal(probabilities[::2], y[::2])
    small, large = conformal.sets(probabilities, 0.6), conformal.sets(probabilities, 0.9)
    assert bool((large | ~small).all())
    assert large.sum() > small.sum()


def test_conformal_survives_json_and_refuses_no_level():
    conformal = fit_conformal(*simulated(50, 2, torch.Generator().manual_seed(2)), held_back=True)
    assert Conformal.from_json(json.loads(json.dumps(conformal.to_json()))) == conformal
    assert "holds" in conformal.guarantee
    with pytest.raises(InvalidConfig, match=r"0\.9 for 90"):
        conformal.thresholds(90)


@pytest.mark.parametrize("share", [0.1, 0.29, 0.71, 0.9])
def test_a_model_that_says_the_same_of_all_rules_nothing_out_for_any_label_mix(share):
    y, logits = torch.arange(60) % 2, torch.tensor([0.3, -0.2]).expand(4, 60, 2)
    usual = Calibration(prior=(0.5, 0.5))
    conformal, moved = fit_conformal(usual.apply(logits).mean(0), y), usual.with_prior((share, 1 - share))
    assert conformal.sets(moved.before_log_prior(moved.apply(logits)).mean(0)).all()
