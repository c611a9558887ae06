"""Known answers of SWAG, by hand or in closed form."""

import numpy as np
import torch

from graphfnp.methods.baselines.swag import DRAWS, SWAG, SWAGConfig
from graphfnp.networks.backbone import BackboneConfig
from graphfnp.randomness import stream
from tiny_graphs import TYPED, shapes

TINY = BackboneConfig(width=8, layers=1)


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
    draws = torch.stack([classifier.draw_weights(number) for number in range(3000)])
    variance = (recorded.var(0)[:count] + classifier.deviations.square().sum(0).numpy() / 2) / 2
    assert abs(float((draws.var(0)[:count].numpy() / variance).mean()) - 1) < 0.02
    assert torch.equal(draws[0, count:], classifier.mean[count:])  # statistics of the norms, until training ends


def test_swag_of_weights_that_stand_still_is_the_network() -> None:
    batch, classifier = shapes(5).batch(), SWAG(TYPED, SWAGConfig(TINY, head_width=8)).eval()
    classifier.collect(classifier.weights.of(classifier.network))
    with torch.no_grad():
        expected = classifier.network(batch).expand(2, -1, -1)
        torch.testing.assert_close(classifier.draw_logits(classifier.encode(batch), 2), expected, atol=1e-5, rtol=1e-4)


def test_each_draw_of_swag_has_the_norm_statistics_of_the_training_graphs_under_its_weights() -> None:
    graphs, classifier = shapes(8), SWAG(TYPED, SWAGConfig(TINY, head_width=8, scale=4.0))
    weights = classifier.weights.of(classifier.network)
    for step in range(3):
        classifier.collect(weights + 0.1 * torch.randn(len(weights), generator=stream(step, "path")))
    classifier.eval().after_training(graphs)
    count, batch = classifier.weights.num_parameters, graphs.batch()
    for number in (0, 1):
        network = SWAG(TYPED, SWAGConfig(TINY, head_width=8)).network
        classifier.weights.load(network, classifier.draw_weights(number))
        norms = [part for part in network.modules() if isinstance(part, torch.nn.BatchNorm1d)]
        seen: list[torch.Tensor] = []
        norms[0].register_forward_pre_hook(lambda _, given: seen.append(given[0]))  # noqa: B023
        network.eval()(batch)
        torch.testing.assert_close(norms[0].running_mean, seen[0].mean(0), atol=1e-5, rtol=1e-4)
        torch.testing.assert_close(norms[0].running_var, seen[0].var(0), atol=1e-5, rtol=1e-4)
    assert not torch.equal(classifier.draw_weights(0)[count:], classifier.draw_weights(1)[count:])


def test_draws_of_swag_beyond_those_it_has_begin_anew() -> None:
    batch, classifier = shapes(5).batch(), SWAG(TYPED, SWAGConfig(TINY, head_width=8)).eval()
    for step in range(3):
        classifier.collect(torch.randn(classifier.weights.size, generator=stream(step, "path")).abs())
    with torch.no_grad():
        logits = classifier.draw_logits(classifier.encode(batch), DRAWS + 2)
    assert torch.equal(logits[:2], logits[DRAWS:])
    assert not torch.equal(logits[0], logits[1])


def test_a_swag_model_of_an_earlier_version_gives_every_draw_the_mean_statistics() -> None:
    classifier = SWAG(TYPED, SWAGConfig(TINY, head_width=8)).eval()
    classifier.collect(classifier.weights.of(classifier.network))
    tensors = classifier.state_dict()
    expected = tensors.pop("statistics")
    classifier.make_room(tensors)
    assert torch.equal(tensors["statistics"], expected)
