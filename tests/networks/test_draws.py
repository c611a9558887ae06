"""Noise of the draws: finite, even and the same for the same seed."""

import torch

from graphfnp.networks.distributions import normal_draws, uniform_draws


def test_normal_draws_are_finite_even_where_a_uniform_draw_is_zero():
    # More dimensions than Sobol serves: plain uniform numbers, 1.3 million of them, among which some are exactly 0.
    assert normal_draws(1024, 2560, 0, "x").isfinite().all()


def test_draws_come_in_mirrored_pairs():
    draws = normal_draws(32, 8, 0, "graph")
    torch.testing.assert_close(draws.mean(0), torch.zeros(8), atol=1e-5, rtol=0)


def test_quasi_draws_meet_a_small_probability_as_often_as_they_should():
    draws = uniform_draws(32, 100, 0, "correlation")
    assert torch.equal((draws < 1 / 16).sum(0), torch.full((100,), 2))


def test_two_streams_of_one_seed_are_not_correlated():
    first, second = (normal_draws(512, 4, 0, name) for name in ("graph", "local"))
    correlation = torch.corrcoef(torch.cat([first, second], dim=1).T)[:4, 4:]
    assert correlation.abs().max() < 0.2


def test_plain_draws_belong_to_the_seed():
    assert torch.equal(normal_draws(4, 3, 7, "graph", "plain"), normal_draws(4, 3, 7, "graph", "plain"))
    assert not torch.equal(normal_draws(4, 3, 7, "graph", "plain"), normal_draws(4, 3, 8, "graph", "plain"))
