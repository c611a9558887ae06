"""Offsets that a temperature is given: the mean probability of a rare class is its share again."""

import pytest
import torch

from graphfnp.prediction.calibration import Calibration, fit_calibration
from graphfnp.prediction.label_mix import label_shares
from graphfnp.prediction.offset import with_offset
from graphfnp.prediction.scalings import Temperature

EVEN = (0.5, 0.5)


def overfitted(num_graphs: int = 4000, rate: float = 0.07) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits of an even mix that know a third of the rare class, are far too sure, and lean to the frequent one."""
    random = torch.Generator().manual_seed(0)
    y = (torch.rand(num_graphs, generator=random) < rate).long()
    seen = (y == 1) & (torch.rand(num_graphs, generator=random) < 0.35)
    margin = torch.where(seen, 9.0, -5.0) + 4 * torch.randn(num_graphs, generator=random)
    return torch.stack([torch.zeros(num_graphs), margin], -1)[None], y


def test_mean_probability_of_a_rare_class_is_its_share_where_a_temperature_alone_misses_it() -> None:
    logits, y = overfitted()
    weight = 1 / (2 * torch.tensor(label_shares(y, 2)))
    plain = fit_calibration("soft", logits, y, weight, EVEN)
    mended = with_offset(plain, logits, y)
    mix, share = label_shares(y, 2), float((y == 1).double().mean())
    before, after = (float(one.with_prior(mix).apply(logits)[0, :, 1].mean()) for one in (plain, mended))
    assert plain.scaling.temperature > 2
    assert abs(before - share) > 0.02
    assert after == pytest.approx(share, abs=1e-3)


def test_offset_is_where_the_slope_of_the_penalty_balances_that_of_the_likelihood() -> None:
    logits, y = overfitted(200)
    mix = label_shares(y, 2)
    found = with_offset(Calibration(Temperature(3.0), EVEN), logits, y)
    mean = found.with_prior(mix).apply(logits)[0].double().mean(0)
    assert Calibration.from_json(found.to_json()) == found
    assert found.scaling.offset == pytest.approx((200 * (torch.tensor(mix) - mean)).tolist(), abs=1e-2)


def test_nothing_is_moved_without_a_temperature_a_prior_or_another_mix() -> None:
    logits, y = overfitted(200)
    unscaled, unknown, known = (
        Calibration(prior=EVEN),
        Calibration(Temperature(3.0)),
        Calibration(Temperature(3.0), EVEN),
    )
    for calibration, labels in ((unscaled, y), (unknown, y), (known, torch.arange(200) % 2)):
        assert with_offset(calibration, logits, labels) is calibration
