"""Known answers of the evidential head."""

import pytest
import torch
from checks import close
from torch.distributions import Dirichlet, kl_divergence

from graphfnp.graphs.packed import Batch
from graphfnp.methods.baselines.evidential import Evidential, kl_to_uniform, log_gamma_draws
from graphfnp.methods.registry import make_classifier
from graphfnp.networks.distributions import normal_draws
from tiny_graphs import TYPED, shapes, small


def with_alpha(alpha: list[float]) -> Evidential:
    """A classifier that says this for every graph: softplus(log(exp(e) - 1)) = e."""
    classifier = make_classifier("evidential", TYPED, small("evidential")).eval()
    assert isinstance(classifier, Evidential)
    last = classifier.head[-1]
    last.weight.data.zero_()  # type: ignore[operator]
    last.bias.data.copy_((torch.tensor(alpha) - 1).expm1().log())  # type: ignore[operator]
    return classifier


def test_mean_and_vacuity_by_hand(batch: Batch) -> None:
    classifier = with_alpha([2.0, 3.0, 5.0])
    close(classifier.draw_logits(classifier.encode(batch), 1)[0, 0].softmax(-1).detach(), [0.2, 0.3, 0.5])
    close(classifier.distance(classifier.encode(batch)).detach(), torch.full((12,), 0.3))


@pytest.mark.parametrize("alpha", [[2.0, 3.0, 5.0], [1.01, 1.01, 1.01], [1.01, 1.01, 40.0]])
def test_draws_are_those_of_the_dirichlet(alpha: list[float], batch: Batch) -> None:
    draws = (it := with_alpha(alpha)).draw_logits(it.encode(batch), 4096)[:, 0].softmax(-1).detach()
    expected = Dirichlet(torch.tensor(alpha))
    close(draws.mean(0), expected.mean, 0.005)
    close(draws.std(0), expected.stddev, 0.01)


def test_few_draws_already_have_nearly_the_right_mean(batch: Batch) -> None:
    for alpha in ([1.01, 1.01, 1.01], [3.0, 1.5, 1.2]):
        draws = (it := with_alpha(alpha)).draw_logits(it.encode(batch), 32)[:, 0].softmax(-1).detach()
        close(draws.mean(0), torch.tensor(alpha) / sum(alpha), 0.03)


def test_gamma_quantiles_are_near_the_true_ones() -> None:
    alpha, noise = torch.tensor([1.0, 3.0, 20.0]), normal_draws(64, 1, 0, "gamma")
    share = torch.special.gammainc(alpha.expand(64, -1), log_gamma_draws(alpha, noise).exp())
    close(share, torch.special.ndtr(noise).expand(-1, 3), 0.015)


def test_divergence_from_the_uniform_dirichlet() -> None:
    alpha = torch.tensor([[1.0, 1.0, 1.0], [2.0, 3.0, 5.0], [1.0, 1.0, 30.0]])
    close(kl_to_uniform(alpha), kl_divergence(Dirichlet(alpha), Dirichlet(torch.ones_like(alpha))), 1e-4)


def test_evidential_loss_is_the_expected_cross_entropy_and_a_pull_on_misleading_evidence(batch: Batch) -> None:
    classifier = with_alpha([2.0, 3.0, 5.0])
    graph = batch.select(torch.tensor([2]))  # a star: class 2
    classifier.start_epoch(5, 60, shapes(3))
    terms = classifier.loss(classifier.encode(graph))
    # psi(10) - psi(5) = 1/5 + 1/6 + 1/7 + 1/8 + 1/9
    close(terms["data"].detach(), 1 / 5 + 1 / 6 + 1 / 7 + 1 / 8 + 1 / 9)
    pull = kl_divergence(Dirichlet(torch.tensor([2.0, 3.0, 1.0])), Dirichlet(torch.ones(3)))
    close(terms["prior"].detach(), 0.5 * pull)
    classifier.start_epoch(0, 60, shapes(3))
    assert classifier.loss(classifier.encode(graph))["prior"] == 0
