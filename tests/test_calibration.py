"""Calibration: scalars that made the labels are found again, and stay harmless where labels cannot tell."""

import json
from math import log

import pytest
import torch

from graphfnp.calibration import FAMILIES, Calibration, fit_calibration, logit_noise
from graphfnp.calibration.scalars import BEND
from graphfnp.errors import InvalidConfig
from graphfnp.metrics.scores import negative_log_likelihood

ALL = ("temperature", "gate", "fallback")


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def drawn_from(probabilities: torch.Tensor, seed: int = 0) -> torch.Tensor:
    return torch.multinomial(probabilities, 1, generator=seeded(seed)).squeeze(1)


def integrated(logits: torch.Tensor, variance: torch.Tensor) -> torch.Tensor:
    """E softmax(f + sqrt(v) eps) over many plain independent draws, one graph after another."""
    eps = torch.randn(40_000, logits.shape[1], generator=seeded(9))
    return torch.stack([(f + v.sqrt() * eps).softmax(-1).mean(0) for f, v in zip(logits, variance, strict=True)])


def loss(calibration: Calibration, logits, y, distance=None, class_weight=None) -> float:
    return float(negative_log_likelihood(calibration.apply(logits, distance).mean(0), y, class_weight))


def smoothed_loss(calibration: Calibration, logits, y, distance=None) -> float:
    """The fitted loss: cross-entropy against Platt's target (n + 1) / (n + 2) for a class of n labels."""
    chosen = calibration.apply(logits, distance).mean(0).gather(1, y[:, None])[:, 0].double()
    target = 1 - 1 / (torch.bincount(y, minlength=logits.shape[-1])[y] + 2).double()
    return float(-(target * chosen.log() + (1 - target) * (1 - chosen).clamp(min=1e-38).log()).mean())


# ---------------------------------------------------------------- fitting


@pytest.mark.parametrize("num_classes", [2, 4])
@pytest.mark.parametrize("temperature", [0.5, 2.5])
def test_temperature_that_made_the_labels_is_found(num_classes, temperature):
    logits = 4 * torch.randn(1, 20_000, num_classes, generator=seeded())
    y = drawn_from((logits[0] / temperature).softmax(-1))
    assert fit_calibration(logits, y).temperature == pytest.approx(temperature, rel=0.04)


@pytest.mark.parametrize("num_draws", [1, 32])
def test_gate_that_made_the_labels_of_far_graphs_is_found(num_draws):
    logits = 3 * torch.randn(10_000, 2, generator=seeded())
    distance = torch.rand(10_000, generator=seeded(1)).square()
    noisy = logits + (20 * distance).sqrt()[:, None] * torch.randn(10_000, 2, generator=seeded(2))
    share = FAMILIES["gate"].member(20.0).fallback_share(distance)[:, None]  # the least doubt of far graphs
    y = drawn_from((1 - share) * noisy.softmax(-1) + share / 2)
    found = fit_calibration(logits.expand(num_draws, -1, -1), y, distance, candidates=ALL)
    assert found.temperature == 1
    assert found.gate == pytest.approx(20, rel=0.15)


def test_overconfidence_that_ignores_distance_is_mended_by_temperature():
    logits = 4 * torch.randn(1, 3000, 2, generator=seeded())
    y = drawn_from((logits[0] / 2.5).softmax(-1))
    found = fit_calibration(logits, y, torch.rand(3000, generator=seeded(1)), candidates=ALL)
    assert (found.gate, found.temperature) == (0, pytest.approx(2.5, rel=0.1))


def test_class_weights_change_what_is_fitted():
    logits = 3 * torch.randn(1, 4000, 2, generator=seeded())
    y = drawn_from((logits[0] / torch.tensor([1.0, 4.0])).softmax(-1))
    weight = torch.tensor([1.9, 0.1])
    plain, weighted = fit_calibration(logits, y), fit_calibration(logits, y, class_weight=weight)
    assert loss(weighted, logits, y, None, weight) < loss(plain, logits, y, None, weight) - 1e-4
    assert loss(plain, logits, y) < loss(weighted, logits, y) - 1e-4


@pytest.mark.parametrize("seed", range(8))
def test_fit_is_never_worse_than_none_and_as_good_as_a_fine_grid(seed):
    generator = seeded(seed)
    num_classes = 2 + seed % 3
    logits = torch.randn(1, 60, num_classes, generator=generator) * (1 + seed) + torch.randn(
        9, 60, num_classes, generator=generator
    )
    y = drawn_from((logits.mean(0) / (1 + seed % 4)).softmax(-1), seed)
    distance = torch.rand(60, generator=generator)
    found = smoothed_loss(fit_calibration(logits, y, distance, candidates=ALL), logits, y, distance)
    assert found <= smoothed_loss(Calibration(), logits, y) + 1e-5
    for family in (FAMILIES[name] for name in ALL):
        for value in torch.logspace(*torch.tensor([family.low, family.high]).log10().tolist(), 200).tolist():
            assert found <= smoothed_loss(family.member(value), logits, y, distance) + 1e-4


def test_twenty_right_answers_do_not_make_a_model_certain():
    right = torch.tensor([[4.0, 0.0], [0.0, 4.0]]).repeat(10, 1)
    y = torch.tensor([0, 1]).repeat(10)
    fitted = fit_calibration(right[None], y)
    assert fitted.apply(right[None])[0, 0, 0] == pytest.approx(11 / 12, abs=1e-3)


def test_temperature_stays_in_bounds_where_all_answers_are_wrong():
    wrong = torch.tensor([[4.0, 0.0], [0.0, 4.0]]).repeat(10, 1)
    assert fit_calibration(wrong[None], torch.tensor([1, 0]).repeat(10)).temperature == pytest.approx(10, rel=0.01)


def test_candidates_can_be_withheld():
    logits = 4 * torch.randn(1, 500, 2, generator=seeded())
    y = drawn_from((logits[0] / 2.5).softmax(-1))
    assert fit_calibration(logits, y, torch.rand(500), candidates=("gate",)).temperature == 1
    assert fit_calibration(logits, y, candidates=("gate",)) == Calibration()
    assert fit_calibration(logits, y, candidates=()) == Calibration()
    with pytest.raises(InvalidConfig, match="temperature, gate"):
        fit_calibration(logits, y, candidates=("isotonic",))


@pytest.mark.parametrize(
    ("num_graphs", "label"), [(0, 0), (9, None), (50, 1), (50, -1)], ids=["empty", "few", "one class", "unlabelled"]
)
def test_labels_that_cannot_tell_give_the_identity(num_graphs, label):
    logits = torch.randn(3, num_graphs, 2, generator=seeded())
    y = torch.arange(num_graphs) % 2 if label is None else torch.full((num_graphs,), label)
    assert fit_calibration(logits, y, torch.rand(num_graphs)) == Calibration()


def test_logits_that_are_not_finite_give_the_identity():
    logits = torch.full((2, 20, 2), float("nan"))
    assert fit_calibration(logits, torch.arange(20) % 2) == Calibration()


# ---------------------------------------------------------------- applying


def test_identity_is_the_softmax():
    logits = torch.randn(3, 5, 4, generator=seeded())
    assert torch.equal(Calibration().apply(logits), logits.softmax(-1))
    assert torch.allclose(Calibration(temperature=2.0).apply(logits), (logits / 2).softmax(-1))


def test_graph_at_distance_zero_is_left_alone_and_a_far_one_is_pulled_to_even_odds():
    logits = torch.tensor([4.0, 0.0]).expand(64, 3, 2)
    found = Calibration(gate=30.0).apply(logits, torch.tensor([0.0, 0.3, 1.0])).mean(0)[:, 0]
    assert float(found[0]) == pytest.approx(float(torch.tensor(4.0).sigmoid()))
    assert 0.5 < float(found[2]) < float(found[1]) < float(found[0])


def test_row_does_not_depend_on_the_rest_of_its_batch():
    logits, distance = torch.randn(16, 30, 3, generator=seeded()), torch.rand(30, generator=seeded(1))
    calibration = Calibration(temperature=1.3, gate=5.0)
    together = calibration.apply(logits, distance, seed=4)
    pick = torch.tensor([17, 3, 29])
    assert torch.equal(calibration.apply(logits[:, pick], distance[pick], seed=4), together[:, pick])
    assert not torch.equal(calibration.apply(logits, distance, seed=5), together)


@pytest.mark.parametrize(
    ("num_classes", "quadrature", "approximation"), [(2, 0.01, 0.02), (3, 0.025, 0.05), (5, 0.04, 0.1)]
)
def test_draws_and_closed_form_are_close_to_the_integral(num_classes, quadrature, approximation):
    logits, distance = 2 * torch.randn(60, num_classes, generator=seeded()), torch.rand(60, generator=seeded(1))
    calibration = Calibration(temperature=1.5, gate=8.0)
    expected = integrated(logits / 1.5, 8 * distance)
    draws = calibration.apply(logits.expand(64, -1, -1), distance)
    assert float((draws.mean(0) - expected).abs().max()) < quadrature
    assert float((calibration.closed_form(logits, distance) - expected).abs().max()) < approximation


def test_one_draw_is_integrated_in_closed_form():
    logits, distance = torch.randn(1, 6, 2, generator=seeded()), torch.rand(6, generator=seeded(1))
    calibration = Calibration(gate=8.0)
    assert torch.equal(calibration.apply(logits, distance)[0], calibration.closed_form(logits[0], distance))


def test_noise_is_independent_of_a_classifiers_own_quasi_random_draws():
    engine = torch.quasirandom.SobolEngine(1, scramble=True, seed=5)
    half = 3 * torch.special.ndtri(engine.draw(128)).squeeze(1)
    margin = 2 + torch.cat([half, -half])  # variance 9, in pairs
    logits = torch.stack([torch.zeros(256), margin], -1)[:, None]
    found = Calibration(gate=10.0).apply(logits, torch.ones(1)).mean(0)[0, 1]
    expected = (2 + (9 + 2 * 10) ** 0.5 * torch.randn(400_000, generator=seeded())).sigmoid().mean()
    assert float(found) == pytest.approx(float(expected), abs=0.02)


@pytest.mark.parametrize("num_classes", [2, 3, 6])
def test_differences_of_noise_have_variance_two_and_mean_zero(num_classes):
    noise = logit_noise(4096, num_classes, seed=0)
    difference = noise[:, 1] - noise[:, 0]
    assert float(difference.mean()) == pytest.approx(0, abs=1e-12)
    assert float(difference.square().mean()) == pytest.approx(2, rel=0.01)
    assert logit_noise(7, num_classes, seed=0).shape == (7, num_classes)


def test_log_prior_moves_odds_by_the_ratio_of_class_frequencies():
    logits = torch.tensor([[[0.0, 1.0]]])
    moved = Calibration(log_prior=(log(0.5 / 0.2), log(0.5 / 0.8))).apply(logits)[0, 0]
    assert float((moved[1] / moved[0]).log()) == pytest.approx(1 - log(4))


def test_gate_without_distances_is_refused():
    with pytest.raises(InvalidConfig, match="without distances"):
        Calibration(gate=1.0).apply(torch.zeros(2, 3, 2))


def test_calibration_survives_json():
    calibration = Calibration(temperature=1.7, gate=0.3, log_prior=(0.1, -0.2))
    assert Calibration.from_json(json.loads(json.dumps(calibration.to_json()))) == calibration
    assert Calibration.from_json({}) == Calibration()
    with pytest.raises(InvalidConfig, match="temprature"):
        Calibration.from_json({"temprature": 2.0})


def test_a_fallback_gives_its_share_of_the_draws_to_equal_probabilities():
    logits = torch.tensor([4.0, 0.0]).expand(10, 3, 2)
    found = Calibration(fallback=0.5).apply(logits, torch.tensor([0.0, 0.5, 1.0]))
    sure = float(torch.tensor([4.0, 0.0]).softmax(-1)[0])
    share = torch.tensor([0.0, 0.5 * (0.5 + 0.5 * 0.25), 1.0])
    torch.testing.assert_close(found.mean(0)[:, 0], (1 - share) * sure + share / 2)
    assert (found[:, 1, 0] == 0.5).sum() == 3  # of the ten draws of the second graph three know nothing, one in part
    assert (found[:, 2] == 0.5).all()
    torch.testing.assert_close(
        Calibration(fallback=0.5).closed_form(logits[0], torch.tensor([0.0, 0.5, 1.0])), found.mean(0)
    )


def test_a_usual_distance_costs_no_certainty_and_a_great_one_nearly_all():
    fitted = FAMILIES["gate"].member(0.01)
    usual, far = fitted.fallback_share(torch.tensor([0.4, 0.95])).tolist()
    assert usual < 0.01
    assert far > 0.55
    assert json.loads(json.dumps(fitted.to_json()))["bend"] == BEND


def test_a_calibration_stored_before_there_was_a_bend_says_what_it_said():
    old = Calibration.from_json({"gate": 2.0, "fallback": 0.005})
    share = float(old.fallback_share(torch.tensor([0.5]))[0])
    assert share == pytest.approx(0.005 * 0.5 + 0.995 * 0.5**3)


def test_a_fallback_does_not_depend_on_the_batch():
    generator = torch.Generator().manual_seed(0)
    logits, distance = torch.randn(16, 8, 3, generator=generator), torch.rand(8, generator=generator)
    whole = Calibration(fallback=0.7).apply(logits, distance, seed=3)
    parts = [
        Calibration(fallback=0.7).apply(logits[:, rows], distance[rows], seed=3) for rows in (slice(5), slice(5, 8))
    ]
    torch.testing.assert_close(whole, torch.cat(parts, dim=1))


def test_labels_that_far_graphs_get_wrong_at_random_choose_the_fallback_and_its_size():
    generator = torch.Generator().manual_seed(0)
    distance = (torch.arange(20_000) % 2).double() / 2  # every second graph is far from all known
    # However sure: a gate would shrink sizes of logits by a factor, which does not fit all of them.
    logits = torch.randn(20_000, generator=generator).sign() * (3 + 9 * torch.rand(20_000, generator=generator))
    share = 0.6 * distance + 0.4 * distance**BEND
    guessed = torch.rand(20_000, generator=generator) < share  # of the far ones 31 % follow no rule
    right = (torch.rand(20_000, generator=generator) < logits.sigmoid()).long()
    y = torch.where(guessed, torch.randint(2, (20_000,), generator=generator), right)
    fitted = fit_calibration(torch.stack([-logits / 2, logits / 2], dim=-1)[None], y, distance.float(), None, ALL)
    assert fitted.fallback == pytest.approx(0.6, abs=0.06)
    assert fitted.temperature == 1


def test_by_default_a_distance_means_the_gate_and_none_the_temperature():
    logits, y = torch.randn(1, 50, 2, generator=seeded(0)) * 5, torch.arange(50) % 2
    assert fit_calibration(logits, y).temperature > 1
    far = fit_calibration(logits, y, torch.full((50,), 0.7))
    assert far.temperature == 1
    assert far.gate > 10


def test_near_validation_graphs_that_are_all_right_do_not_make_far_graphs_sure():
    y = torch.arange(500) % 2
    logits = torch.stack([4.0 - 8 * y, 8.0 * y - 4], dim=-1)[None]
    fitted = fit_calibration(logits, y, torch.full((500,), 0.2))
    near, far = fitted.closed_form(logits[0, :2], torch.tensor([0.2, 0.95])).amax(-1).tolist()
    assert near > 0.98
    assert far < 0.75


def test_a_distance_that_is_the_same_for_all_graphs_is_no_reason_for_doubt():
    y = torch.arange(500) % 2
    logits = torch.stack([4.0 - 8 * y, 8.0 * y - 4], dim=-1)[None]
    fitted = fit_calibration(logits, y, torch.ones(500))
    assert fitted.fallback == 0
    assert fitted.apply(logits, torch.ones(500)).mean(0).argmax(-1).equal(y)
