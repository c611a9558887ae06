"""Known answers of SGLD, by hand or in closed form."""

import torch

from graphfnp.methods.baselines.sgld import SGLD, Langevin, SGLDConfig
from graphfnp.networks.backbone import BackboneConfig
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
        draws = classifier.draw_logits(classifier.encode(batch), 5)
    torch.testing.assert_close(draws, torch.stack([walked[k] for k in (3, 2, 1, 3, 2)]))
