"""Baselines with distributions over weights or functions, against answers known by hand or in closed form."""

import torch

from graphfnp.baselines.sgld import Langevin


def test_langevin_walk_has_the_variance_of_a_gaussian_posterior() -> None:
    """N observations of variance 1 under the prior N(0, s^2): posterior precision N + 1 / s^2, mean N x / precision."""
    count, observed, prior_variance, chains = 20, 0.7, 0.1, 400
    torch.manual_seed(0)
    weight = torch.nn.Parameter(torch.zeros(chains, 1))
    sampling = torch.tensor(False)
    walk = Langevin([weight], 0.05, torch.tensor(float(count)), sampling, prior_scale=prior_variance, sampling_rate=1.0)
    seen = []
    for step in range(600):
        sampling.fill_(step >= 50)
        walk.zero_grad()
        (0.5 * (weight - observed).square()).sum().backward()
        walk.step()
        if step >= 300 and step % 10 == 0:
            seen.append(weight.detach().clone())
    precision = count + 1 / prior_variance
    draws = torch.stack(seen)
    assert abs(float(draws.mean()) - count * observed / precision) < 0.01
    assert abs(float(draws.var()) * precision - 1) < 0.1
