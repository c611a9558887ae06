"""Baselines with distributions over weights or functions, against answers known by hand or in closed form."""

import sys

import numpy as np
import pytest
import torch

from graphfnp.errors import InvalidConfig
from graphfnp.methods.baselines.bbp import BBP, BBPConfig, divergence_from_prior, local_linear
from graphfnp.methods.baselines.graph_gp import GraphGP, GraphGPConfig
from graphfnp.methods.baselines.laplace import curvature, inverse_root
from graphfnp.methods.baselines.sgld import SGLD, Langevin, SGLDConfig
from graphfnp.methods.baselines.swag import SWAG, SWAGConfig
from graphfnp.networks.backbone import BackboneConfig
from graphfnp.randomness import stream
from tiny_graphs import TYPED, shapes

TINY = BackboneConfig(width=8, layers=1)


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


def test_sgld_draws_go_round_the_snapshots_from_the_newest() -> None:
    batch, config = shapes(5).batch(), SGLDConfig(TINY, head_width=8, snapshots=3)
    classifier = SGLD(TYPED, config).eval()
    with torch.no_grad():
        walked = []
        for _ in range(4):  # one more than is kept
            classifier.network.head[-1].bias += 1
            classifier.is_due = True
            classifier.after_step()
            walked.append(classifier.network(batch))
        draws = classifier.draw_logits(batch, 5)
    torch.testing.assert_close(draws, torch.stack([walked[k] for k in (3, 2, 1, 3, 2)]))


def test_swag_moments_are_those_of_the_recorded_weights() -> None:
    classifier = SWAG(TYPED, SWAGConfig(TINY, head_width=8, rank=3))
    size, count = classifier.weights.size, classifier.weights.num_parameters
    path = torch.randn(7, size, generator=stream(0, "path")) + torch.arange(size) % 5
    for weights in path:
        classifier.collect(weights)
    recorded = path.double().numpy()
    means = recorded.cumsum(0) / np.arange(1, 8)[:, None]
    np.testing.assert_allclose(classifier.mean, recorded.mean(0), atol=1e-5)
    np.testing.assert_allclose(classifier.square, (recorded**2).mean(0)[:count], rtol=1e-5)
    np.testing.assert_allclose(classifier.deviations, (recorded - means)[[6, 4, 5], :count], atol=1e-5)
    draws = torch.stack([classifier.draw_weights(stream(0, "draw", k)) for k in range(3000)])
    variance = (recorded.var(0)[:count] + classifier.deviations.square().sum(0).numpy() / 2) / 2
    assert abs(float((draws.var(0)[:count].numpy() / variance).mean()) - 1) < 0.02
    assert torch.equal(draws[0, count:], draws[1, count:])  # statistics of the norms


def test_swag_of_weights_that_stand_still_is_the_network() -> None:
    batch, classifier = shapes(5).batch(), SWAG(TYPED, SWAGConfig(TINY, head_width=8)).eval()
    classifier.collect(classifier.weights.of(classifier.network))
    with torch.no_grad():
        expected = classifier.network(batch).expand(2, -1, -1)
        torch.testing.assert_close(classifier.draw_logits(batch, 2), expected, atol=1e-5, rtol=1e-4)


def test_laplace_covariance_of_two_classes_is_that_of_logistic_regression() -> None:
    """The difference of two logits is one logistic regression whose prior has twice the variance."""
    phi = torch.tensor([[1.0, 1.0], [-2.0, 1.0], [0.5, 1.0]], dtype=torch.double)
    p, weight, precision = torch.tensor([0.8, 0.3, 0.6]).double(), torch.tensor([1.0, 2.0, 0.5]).double(), 0.7
    total = curvature(phi, torch.stack([1 - p, p], dim=1), weight)
    root = inverse_root(total, torch.zeros(2, 2), precision)
    difference = torch.cat([-torch.eye(2), torch.eye(2)], dim=1).double()
    hessian = (phi * (weight * p * (1 - p)).unsqueeze(1)).T @ phi
    expected = torch.linalg.inv(hessian + precision / 2 * torch.eye(2))
    torch.testing.assert_close(difference @ root @ root.T @ difference.T, expected)


def test_laplace_curvature_is_the_hessian_of_the_weighted_cross_entropy() -> None:
    phi = torch.randn(6, 3, generator=stream(0, "phi"), dtype=torch.double)
    weight = torch.randn(4, 3, generator=stream(0, "weight"), dtype=torch.double)
    y, share = torch.tensor([0, 1, 2, 3, 0, 1]), torch.tensor([1.0, 2.0, 0.5, 1.0, 1.0, 2.0]).double()

    def loss(flat: torch.Tensor) -> torch.Tensor:
        losses = torch.nn.functional.cross_entropy(phi @ flat.view(4, 3).T, y, reduction="none")
        return (losses * share).sum()

    hessian = torch.autograd.functional.hessian(loss, weight.flatten())
    torch.testing.assert_close(curvature(phi, (phi @ weight.T).softmax(-1), share), hessian)


def test_laplace_chooses_the_prior_precision_of_highest_evidence() -> None:
    """P = 4 weights, H = 100 I, |mode|^2 = 1: 4 log d - 4 log(100 + d) - d is highest at d = 3.85."""
    root = inverse_root(100 * torch.eye(4).double(), torch.full((2, 2), 0.5))
    assert abs(1 / float(root.square().sum(1)[0]) - 103.85) < 0.5


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
    torch.stack(list(classifier.loss(batch, classifier.encode(batch)).values())).sum().backward()
    matrices = [parameter for parameter in classifier.network.parameters() if parameter.ndim > 1]
    assert len(matrices) == len(classifier.rho)
    assert all(rho.grad is not None and (rho.grad != 0).any() for rho in classifier.rho)
    draws = classifier.eval().draw_logits(batch, 2)
    assert (draws[0] - draws[1]).abs().max() > 1e-3


def placed_process() -> tuple[GraphGP, torch.Tensor]:
    pytest.importorskip("gpytorch")
    torch.manual_seed(0)
    classifier = GraphGP(TYPED, GraphGPConfig(TINY, head_width=8, feature_dim=2, inducing_points=8)).eval()
    features = torch.randn(40, 2)
    classifier.place(features)
    return classifier, features


def test_graph_gp_starts_at_the_linear_layer_of_its_warm_up() -> None:
    classifier, _ = placed_process()
    points = classifier.process.variational_strategy.inducing_points[0]
    with torch.no_grad():
        torch.testing.assert_close(classifier.posterior(points)[0], classifier.linear(points), atol=0.05, rtol=0)


def test_graph_gp_falls_back_to_its_prior_far_from_data() -> None:
    classifier, features = placed_process()
    targets = (features[:, 0] > 0).long()
    optimizer = torch.optim.Adam(classifier.process.parameters(), lr=0.05)
    classifier.num_graphs.fill_(40)
    batch = shapes(40).batch()
    batch.y.copy_(targets)
    for _ in range(60):
        optimizer.zero_grad()
        torch.stack(list(classifier.loss(batch, features).values())).sum().backward()
        optimizer.step()
    far = torch.full((1, 2), 60.0)
    with torch.no_grad():
        mean, variance = classifier.posterior(far)
        outputscale = classifier.process.covar_module.outputscale
        torch.testing.assert_close(mean, torch.zeros(1, 3), atol=1e-4, rtol=0)
        torch.testing.assert_close(variance, outputscale.expand(1, 3), rtol=1e-3, atol=0)
        assert float(classifier.distance(batch, far)) > 0.999
        near = classifier.distance(batch, features)
        assert near is not None
        assert float(near.mean()) < 0.7
        assert (classifier.posterior(features)[0].argmax(1) == targets).float().mean() > 0.9
        probabilities = classifier.draw_logits(batch, 256, encoded=far).softmax(-1).mean(0)
    torch.testing.assert_close(probabilities, torch.full((1, 3), 1 / 3), atol=0.03, rtol=0)


def test_graph_gp_without_gpytorch_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gpytorch", None)
    with pytest.raises(InvalidConfig, match=r"graphfnp\[gp\]"):
        GraphGP(TYPED, GraphGPConfig(TINY))
