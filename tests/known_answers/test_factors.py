"""Every factor of the generative process against numbers worked by hand or in closed form."""

import math

import pytest
import torch
from scipy.stats import qmc
from torch import distributions

from graphfnp.methods.graphfnp.correlation import StochasticCorrelation, log_no_link
from graphfnp.methods.graphfnp.label_head import AdditiveHead, ConcatenatedHead
from graphfnp.methods.graphfnp.local_rationale import LocalRationale
from graphfnp.methods.graphfnp.objectives import ONE_REASON, coverage_loss, evidence, link_loss, log_mixture, own_class
from graphfnp.methods.graphfnp.rationale_prior import RationalePrior
from graphfnp.methods.registry import make_classifier
from graphfnp.networks.distributions import (
    Gaussian,
    hard_bernoulli,
    kl_divergence,
    log_one_minus_exp,
    normal_draws,
    relaxed_bernoulli,
    uniform_draws,
)
from graphfnp.networks.neighbourhood import mean_pool
from tiny_graphs import NUMBERS, packed, shapes, small


def correlation_of(bandwidth: float) -> StochasticCorrelation:
    return StochasticCorrelation(bandwidth).eval()


def close(given: torch.Tensor, expected, tolerance: float = 1e-5) -> None:
    torch.testing.assert_close(given, torch.as_tensor(expected, dtype=given.dtype), atol=tolerance, rtol=tolerance)


# ---------------------------------------------------------------- Gaussian


def test_divergence_of_gaussians_is_that_of_torch_distributions() -> None:
    torch.manual_seed(0)
    q, p = Gaussian(torch.randn(5, 3), torch.randn(5, 3)), Gaussian(torch.randn(5, 3), torch.randn(5, 3))
    pair = [distributions.Normal(g.mean, g.log_std.exp()) for g in (q, p)]
    close(kl_divergence(q, p), distributions.kl_divergence(*pair).sum(-1))


def test_divergence_takes_a_deviation_shared_by_all() -> None:
    q, p = Gaussian(torch.ones(2, 3), torch.tensor(0.0)), Gaussian(torch.zeros(2, 3), torch.tensor(0.0))
    close(kl_divergence(q, p), [1.5, 1.5])
    close(kl_divergence(q, q), [0.0, 0.0])


def test_a_draw_is_mean_plus_deviation_times_noise() -> None:
    gaussian = Gaussian(torch.tensor([1.0, 2.0]), torch.tensor([math.log(2.0), math.log(0.5)]))
    close(gaussian.at(torch.tensor([1.0, -1.0])), [3.0, 1.5])


# ---------------------------------------------------------------- Bernoulli


def test_log_of_one_minus_p_is_accurate_at_both_ends() -> None:
    log_p = torch.tensor([-1e-3, -0.5, -math.log(2), -5.0, -40.0])
    expected = [math.log(-math.expm1(value)) for value in log_p.double().tolist()]
    torch.testing.assert_close(log_one_minus_exp(log_p), torch.tensor(expected), rtol=1e-4, atol=1e-9)


def test_relaxed_bernoulli_is_the_concrete_distribution() -> None:
    # logit(.8) = log 4, logit(.5) = 0: sigmoid(log 4) = .8 at temperature 1, sigmoid(2 log 4) = 16/17 at 1/2.
    log_p = torch.tensor(0.8).log()
    close(relaxed_bernoulli(log_p, torch.tensor(0.5), 1.0), 0.8)
    close(relaxed_bernoulli(log_p, torch.tensor(0.5), 0.5), 16 / 17)
    close(relaxed_bernoulli(log_p, torch.tensor(0.2), 1.0), 0.5)  # logit(.2) = -log 4


def test_relaxed_bernoulli_exceeds_a_half_as_often_as_p() -> None:
    uniform = (torch.arange(1000) + 0.5) / 1000
    for p in (0.1, 0.5, 0.97):
        assert (relaxed_bernoulli(torch.tensor(p).log(), uniform, 0.3) > 0.5).float().mean() == pytest.approx(
            p, abs=2e-3
        )
        assert hard_bernoulli(torch.tensor(p).log(), uniform).mean() == pytest.approx(p, abs=2e-3)


def test_relaxed_bernoulli_has_finite_gradients_where_p_is_one_or_nearly_zero() -> None:
    log_p = torch.tensor([0.0, -1e-9, -80.0], requires_grad=True)
    relaxed_bernoulli(log_p, torch.full((3,), 0.3), 0.3).sum().backward()
    assert log_p.grad is not None
    assert log_p.grad.isfinite().all()


# ---------------------------------------------------------------- correlation


def test_kernel_by_hand() -> None:
    # Squared distances 0, 8 and 2 in two dimensions; kappa = exp(-d^2 / (2 * 2 * l)) with l = 1/2: exp(-d^2 / 2).
    graphs, rationales = torch.tensor([[1.0, 1.0]]), torch.tensor([[1.0, 1.0], [3.0, 3.0], [2.0, 0.0]])
    log_kappa = correlation_of(0.5).log_probability(graphs, rationales)
    close(log_kappa, [[0.0, -4.0, -1.0]])


def test_kernel_of_draws_is_the_kernel_of_each() -> None:
    torch.manual_seed(0)
    z, rationales, correlation = torch.randn(4, 5, 3), torch.randn(4, 2, 3), correlation_of(1.0)
    every = correlation.log_probability(z, rationales)
    for s in range(4):
        close(every[s], correlation.log_probability(z[s], rationales[s]).detach())


def test_correlation_is_soft_in_training_and_hard_in_prediction() -> None:
    correlation, log_kappa = correlation_of(1.0), torch.full((1, 50), math.log(0.4))
    uniform = torch.rand(1, 50, generator=torch.Generator().manual_seed(0))
    hard = correlation(log_kappa, uniform)
    assert set(hard.flatten().tolist()) == {0.0, 1.0}
    soft = correlation.train()(log_kappa, uniform)
    assert ((soft > 0) & (soft < 1)).all()
    assert torch.equal(soft > 0.5, correlation.eval()(log_kappa, 1 - uniform) > 0.5)  # logit u grows where 1 - u falls


def test_nothing_is_linked_as_often_as_all_links_fail() -> None:
    close(log_no_link(torch.tensor([[0.5, 0.2], [1e-9, 1e-9]]).log()).exp(), [0.5 * 0.8, 1.0])


# ---------------------------------------------------------------- local rationale


def test_local_rationale_is_the_average_over_linked_rationales() -> None:
    local = LocalRationale(3, 2)
    mean, log_variance = (
        torch.tensor([[1.0, 0.0], [3.0, 4.0], [9.0, 9.0]]),
        torch.tensor([[0.0, 2.0], [4.0, 0.0], [9.0, 9.0]]),
    )
    summary = local.summarise(torch.tensor([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]), (mean, log_variance))
    close(summary.mean, [[2.0, 2.0], [9.0, 9.0]], 1e-4)
    close(summary.log_std, [[1.0, 0.5], [4.5, 4.5]], 1e-4)  # half the averaged log-variance


def test_far_away_graph_has_no_correlated_rationale_and_a_standard_normal_summary() -> None:
    torch.manual_seed(0)
    correlation, local = correlation_of(0.1), LocalRationale(2, 3)
    far, rationales = torch.tensor([[1000.0, 1000.0]]), torch.randn(5, 2)
    log_kappa = correlation.log_probability(far, rationales)
    links = correlation(log_kappa, torch.rand(64, 1, 5).clamp(min=1e-6))
    assert links.sum() == 0
    summary = local.summarise(links, local.statistics(rationales))
    assert torch.equal(summary.mean, torch.zeros(64, 1, 3))
    assert torch.equal(summary.log_std, torch.zeros(64, 1, 3))


def test_a_rationale_that_links_only_itself_is_its_self_summary() -> None:
    torch.manual_seed(0)
    local, rationales = LocalRationale(3, 2), torch.randn(4, 3)
    alone = local.summarise(torch.eye(4), local.statistics(rationales))
    own = local.self_summary(rationales)
    close(alone.mean, own.mean.detach(), 1e-4)
    close(alone.log_std, own.log_std.detach(), 1e-4)


def test_far_away_graphs_are_at_distance_one_and_known_ones_near_zero() -> None:
    graphs = shapes(6, NUMBERS)
    classifier = make_classifier("graphfnp", NUMBERS, small("graphfnp")).eval()
    with torch.no_grad():
        embedding = classifier.embed(classifier.encode(graphs.batch()))
        classifier.rationale_prior.anchors[0] = embedding[0]
        distance = classifier.distance(classifier.encode(graphs.batch()))
        assert distance is not None
        close(distance[0], 0.0)
        classifier.rationale_prior.anchors += 1e3
        distance = classifier.distance(classifier.encode(graphs.batch()))
        assert distance is not None
        close(distance, [1.0] * 6)


# ---------------------------------------------------------------- label head


def test_concatenated_label_head_broadcasts_the_leading_dimensions() -> None:
    torch.manual_seed(0)
    head = ConcatenatedHead(3, 2, 4, width=5)
    z, u = torch.randn(6, 1, 3), torch.randn(6, 7, 2)
    plain = head.layers(torch.cat([z.expand(6, 7, 3), u], dim=-1))
    close(head(z, u), plain.detach(), 1e-5)


def test_additive_label_head_is_the_sum_of_its_parts() -> None:
    torch.manual_seed(0)
    head = AdditiveHead(3, 2, 4)
    z, u = torch.randn(6, 3), torch.randn(6, 2)
    close(head(z, u), (head(z, None) + u @ head.local_part.weight.T).detach())
    close(head(z, torch.zeros(6, 2)), head(z, None).detach())
    close(AdditiveHead(0, 2, 4)(z, None), torch.zeros(6, 4))


# ---------------------------------------------------------------- objectives


def test_link_loss_by_hand() -> None:
    # One graph of class 0; rationales of classes 0, 0 and 1 with kappa .5, .5 and .2.
    log_kappa = torch.tensor([[0.5, 0.5, 0.2]]).log()
    own = own_class(torch.tensor([0]), torch.tensor([0, 0, 1]))
    some, one, none, no_other = 0.75, 0.5, 0.25, 0.8
    linked = -math.log(some) - math.log(no_other) + ONE_REASON * math.log(some / one)
    close(link_loss(log_kappa, own, torch.tensor([1.0])), [linked])
    unlinked = -math.log(none) - math.log(no_other)
    close(link_loss(log_kappa, own, torch.tensor([0.0])), [unlinked])
    close(link_loss(log_kappa, own, torch.tensor([0.3])), [0.3 * linked + 0.7 * unlinked])


def test_link_loss_is_finite_with_gradients_at_both_ends() -> None:
    log_kappa = torch.tensor([[0.0, -300.0], [-300.0, 0.0]], requires_grad=True)
    own = own_class(torch.tensor([0, 0]), torch.tensor([0, 1]))
    link_loss(log_kappa, own, torch.tensor([1.0, 0.0])).sum().backward()
    assert log_kappa.grad is not None
    assert log_kappa.grad.isfinite().all()


def test_coverage_asks_for_the_nearest_graph_of_each_rationale_whose_class_is_there() -> None:
    log_kappa = torch.tensor([[-1.0, -7.0], [-3.0, -2.0]], requires_grad=True)
    loss = coverage_loss(log_kappa, own_class(torch.tensor([0, 0]), torch.tensor([0, 1])))
    close(loss.detach(), 1.0)
    loss.backward()
    assert log_kappa.grad is not None
    assert log_kappa.grad[:, 1].tolist() == [0, 0]


def test_evidence_is_how_far_above_the_prior_the_label_is() -> None:
    logits = torch.tensor([[0.9, 0.1], [0.5, 0.5], [0.2, 0.8]]).log()
    even = torch.tensor([0.5, 0.5]).log()
    close(evidence(logits, torch.tensor([0, 0, 0]), even), [0.8, 0.0, 0.0])
    close(evidence(logits, torch.tensor([1, 1, 1]), torch.tensor([0.2, 0.8]).log()), [0.0, 0.0, 0.0])


def test_a_graph_that_nothing_reaches_gets_the_prior() -> None:
    logits, prior = torch.tensor([[0.9, 0.1]]).log(), torch.tensor([0.3, 0.7]).log()
    close(log_mixture(logits, torch.tensor([0.25]).log(), prior).exp(), [[0.75 * 0.9 + 0.25 * 0.3, 0.25]])
    close(log_mixture(logits, torch.tensor([0.0]), prior).exp(), [[0.3, 0.7]], 1e-4)


# ---------------------------------------------------------------- rationale prior


def test_kmeans_start_puts_the_anchors_of_each_class_at_its_centroids() -> None:
    prior = RationalePrior(2, 2, 2)
    embedding = torch.tensor([[0.0, 0.0], [0.0, 2.0], [10.0, 0.0], [10.0, 2.0], [50.0, 1.0], [52.0, 1.0], [80.0, 9.0]])
    prior.start_at_centroids(embedding, torch.tensor([0, 0, 0, 0, 1, 1, 1]))
    assert prior.label.tolist() == [0, 0, 1, 1]
    assert sorted(prior.anchors[:2].tolist()) == [[0.0, 1.0], [10.0, 1.0]]
    assert sorted(prior.anchors[2:].tolist()) == [[51.0, 1.0], [80.0, 9.0]]


def test_kmeans_start_uses_centroids_again_where_graphs_are_few_and_skips_absent_classes() -> None:
    prior = RationalePrior(2, 3, 1)
    before = prior.anchors[3:].clone()
    prior.start_at_centroids(torch.tensor([[4.0], [4.0]]), torch.tensor([0, 0]))
    assert prior.anchors[:3].flatten().tolist() == [4.0, 4.0, 4.0]
    assert torch.equal(prior.anchors[3:], before)


# ---------------------------------------------------------------- draws


@pytest.mark.parametrize("num_draws", [2, 16, 32])
def test_quasi_draws_come_in_mirror_pairs_and_have_mean_zero(num_draws: int) -> None:
    noise = normal_draws(num_draws, 7, 0, "test")
    for row in noise:
        assert torch.isclose(noise, -row, atol=1e-4).all(1).any()
    close(noise.mean(0), torch.zeros(7), 1e-4)
    uniform = uniform_draws(num_draws, 7, 0, "test")
    close(uniform.mean(0), torch.full((7,), 0.5), 1e-5)


def test_quasi_draws_have_variance_one_and_fill_each_coordinate_evenly() -> None:
    uniform = uniform_draws(64, 5, 0, "test")
    assert (normal_draws(512, 5, 0, "test").var(0) - 1).abs().max() < 0.05
    counts = torch.stack([torch.histc(uniform[:, d], 16, 0, 1) for d in range(5)])
    assert (counts == 4).all()
    assert qmc.discrepancy(uniform.numpy()) < qmc.discrepancy(uniform_draws(64, 5, 0, "test", "plain").numpy())


@pytest.mark.parametrize("dims", [600])
def test_draws_of_very_many_dimensions_are_plain_but_still_mirrored(dims: int) -> None:
    noise = normal_draws(8, dims, 0, "test")
    close(noise.mean(0), torch.zeros(dims), 1e-4)


def test_draws_belong_to_their_seed_and_name() -> None:
    first = normal_draws(8, 3, 0, "graph")
    assert torch.equal(first, normal_draws(8, 3, 0, "graph"))
    assert not torch.equal(first, normal_draws(8, 3, 1, "graph"))
    assert not torch.equal(first, normal_draws(8, 3, 0, "local"))
    assert len(normal_draws(7, 3, 0, "graph")) == 7


def test_streams_of_different_names_are_uncorrelated() -> None:
    first, second = normal_draws(256, 20, 0, "graph"), normal_draws(256, 20, 0, "local")
    assert (first.T @ second / 256).abs().max() < 0.3  # 400 pairs of deviation 1/16


# ---------------------------------------------------------------- pooling


def test_pooling_is_the_mean_over_each_graphs_nodes() -> None:
    batch = packed([(2, [(0, 1)]), (1, []), (3, [(0, 1)])], [0, 1, 2], NUMBERS).batch()
    states = torch.arange(6.0).unsqueeze(1)
    close(mean_pool(states, batch), [[0.5], [2.0], [4.0]])
