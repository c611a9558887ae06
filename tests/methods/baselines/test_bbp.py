"""Known answers of Bayes by backprop, by hand or in closed form."""

import pytest
import torch

from graphfnp.methods.baselines.bbp import BBP, BBPConfig, divergence_from_prior, local_linear
from graphfnp.networks.backbone import BackboneConfig
from tiny_graphs import TYPED, shapes


def test_bbp_layer_recovers_bayesian_linear_regression() -> None:
    """Precision P = X^T X / noise^2 + I / prior^2, mean P^-1 X^T y / noise^2; best factorised variance 1 / P_ii."""
    torch.manual_seed(0)
    prior_std, noise, x = 0.5, 0.3, torch.randn(40, 3)
    y = x @ torch.tensor([0.6, -0.3, 0.0]) + noise * torch.randn(40)
    precision = x.T @ x / noise**2 + torch.eye(3) / prior_std**2
    expected = torch.linalg.solve(precision, x.T @ y) / noise**2
    mean, rho = torch.zeros(1, 3, requires_grad=True), torch.full((1, 3), -2.0, requires_grad=True)
    optimizer = torch.optim.Adam([mean, rho], lr=0.05)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.994)
    for _ in range(800):
        std = torch.nn.functional.softplus(rho)
        fit = (local_linear(x, mean, std)[:, 0] - y).square().sum() / (2 * noise**2)
        optimizer.zero_grad()
        (fit + divergence_from_prior(mean, std, prior_std)).backward()
        optimizer.step()
        schedule.step()
    assert (mean[0] - expected).abs().max() < 0.02
    ratio = torch.nn.functional.softplus(rho.detach())[0] * precision.diagonal().sqrt()
    assert ((ratio > 0.85) & (ratio < 1.15)).all()


def test_bbp_divergence_is_that_of_torch() -> None:
    mean, std = torch.tensor([0.3, -1.0]), torch.tensor([0.2, 0.05])
    own, prior = torch.distributions.Normal(mean, std), torch.distributions.Normal(0.0, 0.1)
    torch.testing.assert_close(
        divergence_from_prior(mean, std, 0.1), torch.distributions.kl_divergence(own, prior).sum()
    )


def test_bbp_layer_has_the_mean_and_variance_of_drawn_weights() -> None:
    torch.manual_seed(0)
    x, mean, std = torch.tensor([[1.0, -2.0]]), torch.tensor([[0.5, 0.25]]), torch.tensor([[0.1, 0.2]])
    outputs = local_linear(x.expand(20000, -1), mean, std)
    assert abs(float(outputs.mean())) < 0.01
    assert abs(float(outputs.var()) - (0.01 + 4 * 0.04)) < 0.01


@pytest.mark.parametrize("backbone", ["gcn", "gat", "ggnn", "pna"])
def test_bbp_is_random_in_every_matrix_of_the_network(backbone: str) -> None:
    config = BBPConfig(BackboneConfig(name=backbone, width=8, layers=1), head_width=8)  # type: ignore[arg-type]
    classifier, graphs = BBP(TYPED, config), shapes(9)
    batch = graphs.batch()
    torch.stack(list(classifier.loss(classifier.encode(batch)).values())).sum().backward()
    matrices = [parameter for parameter in classifier.network.parameters() if parameter.ndim > 1]
    assert len(matrices) == len(classifier.rho)
    assert all(rho.grad is not None and (rho.grad != 0).any() for rho in classifier.rho)
    draws = classifier.eval().draw_logits(classifier.encode(batch), 2)
    assert (draws[0] - draws[1]).abs().max() > 1e-3
