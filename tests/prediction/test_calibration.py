"""Calibration: the temperature that made the labels is found within its bounds; harmless where labels cannot tell."""

import json
from math import log

import pytest
import torch

from graphfnp.errors import InvalidConfig, InvalidRun
from graphfnp.metrics.scores import negative_log_likelihood
from graphfnp.prediction.calibration import Calibration, fit_calibration
from graphfnp.prediction.scalings import Temperature


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def drawn_from(probabilities: torch.Tensor, seed: int = 0) -> torch.Tensor:
    return torch.multinomial(probabilities, 1, generator=seeded(seed)).squeeze(1)


def free(logits, y, class_weight=None) -> Calibration:
    return fit_calibration("temperature", logits, y, class_weight)


def loss(calibration: Calibration, logits, y, class_weight=None) -> float:
    return float(negative_log_likelihood(calibration.apply(logits).mean(0), y, class_weight))


def smoothed_loss(calibration: Calibration, logits, y) -> float:
    """The fitted loss: cross-entropy against Platt's target (n + 1) / (n + 2) for a class of n labels."""
    chosen = calibration.apply(logits).mean(0).gather(1, y[:, None])[:, 0].double()
    target = 1 - 1 / (torch.bincount(y, minlength=logits.shape[-1])[y] + 2).double()
    return float(-(target * chosen.log() + (1 - target) * (1 - chosen).clamp(min=1e-38).log()).mean())


# ---------------------------------------------------------------- fitting


@pytest.mark.parametrize("num_classes", [2, 4])
@pytest.mark.parametrize("temperature", [0.5, 2.5])
def test_temperature_that_made_the_labels_is_found(num_classes, temperature):
    logits = 4 * torch.randn(1, 20_000, num_classes, generator=seeded())
    y = drawn_from((logits[0] / temperature).softmax(-1))
    assert free(logits, y).scaling.temperature == pytest.approx(temperature, rel=0.04)


def test_soft_adds_doubt_where_labels_ask_for_it_and_never_takes_any_away():
    logits = 4 * torch.randn(1, 20_000, 2, generator=seeded())
    too_sure, too_shy = (drawn_from((logits[0] / temperature).softmax(-1)) for temperature in (2.5, 0.5))
    assert fit_calibration("soft", logits, too_sure).scaling.temperature == pytest.approx(2.5, rel=0.04)
    assert fit_calibration("soft", logits, too_shy) == Calibration()


def test_class_weights_change_what_is_fitted():
    logits = 3 * torch.randn(1, 4000, 2, generator=seeded())
    y = drawn_from((logits[0] / torch.tensor([1.0, 4.0])).softmax(-1))
    weight = torch.tensor([1.9, 0.1])
    plain, weighted = free(logits, y), free(logits, y, weight)
    assert loss(weighted, logits, y, weight) < loss(plain, logits, y, weight) - 1e-4
    assert loss(plain, logits, y) < loss(weighted, logits, y) - 1e-4


@pytest.mark.parametrize("seed", range(8))
def test_fit_is_never_worse_than_none_and_as_good_as_a_fine_grid(seed):
    generator = seeded(seed)
    num_classes = 2 + seed % 3
    logits = torch.randn(1, 60, num_classes, generator=generator) * (1 + seed) + torch.randn(
        9, 60, num_classes, generator=generator
    )
    y = drawn_from((logits.mean(0) / (1 + seed % 4)).softmax(-1), seed)
    found = smoothed_loss(free(logits, y), logits, y)
    assert found <= smoothed_loss(Calibration(), logits, y) + 1e-5
    for value in torch.logspace(-0.69, 1, 200).tolist():
        assert found <= smoothed_loss(Calibration(Temperature(value)), logits, y) + 1e-4


def test_twenty_right_answers_do_not_make_a_model_certain():
    right = torch.tensor([[4.0, 0.0], [0.0, 4.0]]).repeat(10, 1)
    y = torch.tensor([0, 1]).repeat(10)
    assert free(right[None], y).apply(right[None])[0, 0, 0] == pytest.approx(11 / 12, abs=1e-3)


@pytest.mark.parametrize("kind", ["soft", "temperature"])
def test_temperature_stays_in_bounds_where_all_answers_are_wrong(kind):
    wrong, y = torch.tensor([[4.0, 0.0], [0.0, 4.0]]).repeat(10, 1), torch.tensor([1, 0]).repeat(10)
    assert fit_calibration(kind, wrong[None], y).scaling.temperature == pytest.approx(10, rel=0.01)


@pytest.mark.parametrize(
    ("num_graphs", "label"), [(0, 0), (9, None), (50, 1), (50, -1)], ids=["empty", "few", "one class", "unlabelled"]
)
def test_labels_that_cannot_tell_give_the_identity(num_graphs, label):
    logits = torch.randn(3, num_graphs, 2, generator=seeded())
    y = torch.arange(num_graphs) % 2 if label is None else torch.full((num_graphs,), label)
    assert free(logits, y) == Calibration()


def test_logits_that_are_not_finite_give_the_identity():
    logits = torch.full((2, 20, 2), float("nan"))
    assert free(logits, torch.arange(20) % 2) == Calibration()


# ---------------------------------------------------------------- applying


def test_identity_is_the_softmax():
    logits = torch.randn(3, 5, 4, generator=seeded())
    assert torch.equal(Calibration().apply(logits), logits.softmax(-1))
    assert torch.allclose(Calibration(Temperature(2.0)).apply(logits), (logits / 2).softmax(-1))


def test_log_prior_moves_odds_by_the_ratio_of_class_frequencies():
    logits = torch.tensor([[[0.0, 1.0]]])
    moved = Calibration(log_prior=(log(0.5 / 0.2), log(0.5 / 0.8))).apply(logits)[0, 0]
    assert float((moved[1] / moved[0]).log()) == pytest.approx(1 - log(4))


def test_calibration_survives_json():
    calibration = Calibration(Temperature(1.7), log_prior=(0.1, -0.2))
    assert Calibration.from_json(json.loads(json.dumps(calibration.to_json()))) == calibration
    assert Calibration.from_json({}) == Calibration()
    with pytest.raises(InvalidConfig, match="temprature"):
        Calibration.from_json({"temprature": 2.0})


def test_a_calibration_by_distance_of_an_earlier_version_is_refused_and_one_without_is_read():
    with pytest.raises(InvalidRun, match="by distance"):
        Calibration.from_json({"temperature": 1.0, "gate": 2.0, "fallback": 0.005})
    assert Calibration.from_json({"temperature": 1.5, "gate": 0.0, "fallback": 0.0}) == Calibration(Temperature(1.5))
