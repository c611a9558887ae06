"""Vector and isotonic scaling: distortions that made the labels are found, and few labels change little."""

import json

import numpy as np
import pytest
import torch

from graphfnp.errors import InvalidRun
from graphfnp.metrics.scores import auprc, auroc, negative_log_likelihood
from graphfnp.prediction.calibration import KINDS, Calibration, fit_calibration
from graphfnp.prediction.scalings import Curve, IsotonicScaling, Temperature, VectorScaling, through_curves


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def drawn_from(probabilities: torch.Tensor, seed: int = 0) -> torch.Tensor:
    return torch.multinomial(probabilities, 1, generator=seeded(seed)).squeeze(1)


def nll(calibration: Calibration, logits: torch.Tensor, y: torch.Tensor) -> float:
    return float(negative_log_likelihood(calibration.apply(logits).mean(0), y))


def test_slopes_and_offsets_that_made_the_labels_are_found():
    scale, offset = torch.tensor([0.5, 1.0, 1.5]), torch.tensor([1.0, 0.0, -1.0])
    logits = 2 * torch.randn(1, 30_000, 3, generator=seeded())
    y = drawn_from((scale * logits[0] + offset).softmax(-1))
    found = fit_calibration("vector", logits, y)
    assert found.scaling.scale == pytest.approx(scale.tolist(), rel=0.1)
    assert (
        torch.tensor(found.scaling.offset).sub(offset).diff().abs().max() < 0.1
    )  # a shift of all offsets changes nothing
    assert nll(found, logits, y) < nll(fit_calibration("temperature", logits, y), logits, y) - 0.05


def test_few_labels_move_the_slopes_little():
    logits = torch.tensor([[4.0, 0.0], [0.0, 4.0]]).repeat(5, 1)[None]
    found = fit_calibration("vector", logits, torch.tensor([0, 1]).repeat(5))
    assert all(0.5 < slope < 2 for slope in found.scaling.scale)
    assert found.scaling.offset == pytest.approx((0.0, 0.0), abs=1e-4)


def test_mean_over_draws_is_what_vector_scaling_fits():
    centre = torch.randn(1, 3000, 2, generator=seeded())
    logits = centre + 3 * torch.randn(16, 3000, 2, generator=seeded(1))
    y = drawn_from((2 * logits).softmax(-1).mean(0))
    assert fit_calibration("vector", logits, y).scaling.scale == pytest.approx((2.0, 2.0), rel=0.4)


@pytest.mark.parametrize("num_classes", [2, 3])
def test_distortion_that_no_slope_mends_is_mended_by_curves(num_classes):
    logits = 3 * torch.randn(1, 6000, num_classes, generator=seeded())
    claimed = logits[0].softmax(-1)
    true = 0.2 / num_classes + 0.8 * claimed  # a fifth of the labels are noise, however sure the claim
    y = drawn_from(true)
    found = fit_calibration("isotonic", logits, y)
    assert float((found.apply(logits)[0] - true).abs().mean()) < 0.03
    assert nll(found, logits, y) < nll(fit_calibration("temperature", logits, y), logits, y)
    for curve in found.scaling.curves:
        assert list(curve.observed) == sorted(curve.observed)
        assert 0 < min(curve.observed) <= max(curve.observed) < 1


def test_two_curves_of_two_classes_are_one_another_upside_down():
    logits = torch.randn(1, 200, 2, generator=seeded())
    probabilities = logits[0].softmax(-1)
    first, second = fit_calibration("isotonic", logits, drawn_from(probabilities)).scaling.curves
    claimed = probabilities[:, 0].double().numpy()
    total = np.interp(claimed, first.claimed, first.observed) + np.interp(1 - claimed, second.claimed, second.observed)
    assert total == pytest.approx(np.ones(200), abs=1e-4)


def test_curve_by_hand_is_straight_between_its_points_and_level_outside():
    curve = Curve((0.2, 0.6), (0.1, 0.5))
    probabilities = torch.tensor([[0.1, 0.9], [0.4, 0.6], [0.9, 0.1]])
    found = through_curves((curve, curve), probabilities)
    assert found.tolist() == [pytest.approx(row) for row in ([1 / 6, 5 / 6], [0.375, 0.625], [5 / 6, 1 / 6])]


def test_draws_follow_the_curves_in_the_mean():
    logits = torch.randn(1, 300, 3, generator=seeded()) + torch.randn(24, 300, 3, generator=seeded(1))
    found = fit_calibration("isotonic", logits, drawn_from(logits.mean(0).softmax(-1)))
    draws = found.apply(logits)
    assert torch.allclose(draws.mean(0), through_curves(found.scaling.curves, logits.softmax(-1).mean(0)), atol=1e-4)
    assert float(draws.std(0).mean()) > 0.05
    pick = torch.tensor([17, 3])
    assert torch.allclose(found.apply(logits[:, pick]), draws[:, pick], atol=1e-6)


def test_steps_of_isotonic_curves_keep_the_order_of_graphs():
    logits = 2 * torch.randn(1, 400, 2, generator=seeded()) + 0.5 * torch.randn(32, 400, 2, generator=seeded(1))
    raw = logits.softmax(-1).mean(0)
    y = drawn_from(logits.mean(0).softmax(-1))
    after = fit_calibration("isotonic", logits[:, :200], y[:200]).apply(logits).mean(0)
    assert len((after[:, 1] * 50).round().unique()) < 40  # there are steps
    for score in (auroc, auprc):
        assert score(after[200:], y[200:]) == pytest.approx(score(raw[200:], y[200:]), abs=1e-3)


@pytest.mark.parametrize("kind", ["vector", "isotonic"])
def test_label_mix_of_held_out_graphs_is_not_learned_where_the_models_own_is_known(kind):
    y = torch.multinomial(torch.tensor([0.9, 0.1]), 20_000, replacement=True, generator=seeded())
    x = 2 * y - 1 + torch.randn(20_000, generator=seeded(1))
    logits = torch.stack([-x, x], -1)[None]  # right for an even mix
    kept, learned = fit_calibration(kind, logits, y, prior=(0.5, 0.5)), fit_calibration(kind, logits, y)
    undecided = torch.zeros(1, 1, 2)
    assert float(kept.apply(undecided)[0, 0, 1]) == pytest.approx(0.5, abs=0.06)
    assert float(learned.apply(undecided)[0, 0, 1]) == pytest.approx(0.1, abs=0.04)
    assert kept.prior == (0.5, 0.5)
    assert learned.prior == pytest.approx((0.9, 0.1), abs=0.01)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_survives_json_and_labels_that_cannot_tell(kind):
    logits, y = 3 * torch.randn(4, 80, 3, generator=seeded()), torch.arange(80) % 3
    found = fit_calibration(kind, logits, y, prior=(0.2, 0.3, 0.5))
    assert Calibration.from_json(json.loads(json.dumps(found.to_json()))) == found
    assert torch.allclose(found.apply(logits).sum(-1), torch.ones(4, 80), atol=1e-5)
    assert (found == Calibration(prior=(0.2, 0.3, 0.5))) == (kind == "none")
    assert fit_calibration(kind, logits[:, :5], y[:5]) == Calibration()
    assert fit_calibration(kind, logits, torch.full_like(y, -1)) == Calibration()


def test_records_of_runs_load_as_they_were_written():
    curve = {"claimed": [0.2, 0.6], "observed": [0.1, 0.5]}
    of_record = {
        '{"temperature": 1.5}': Calibration(Temperature(1.5)),
        '{"temperature": 1.0, "scale": [0.5, 2.0], "offset": [0.1, -0.1], "prior": [0.5, 0.5]}': Calibration(
            VectorScaling((0.5, 2.0), (0.1, -0.1)), (0.5, 0.5)
        ),
        json.dumps({"temperature": 1.0, "isotonic": [curve, curve], "log_prior": [0.3, -0.3]}): Calibration(
            IsotonicScaling((Curve((0.2, 0.6), (0.1, 0.5)),) * 2), log_prior=(0.3, -0.3)
        ),
    }
    for record, expected in of_record.items():
        assert Calibration.from_json(json.loads(record)) == expected
        assert json.dumps(expected.to_json()) == record
    with pytest.raises(InvalidRun, match="temperature 2"):
        Calibration.from_json({"temperature": 2.0, "isotonic": [curve, curve]})
