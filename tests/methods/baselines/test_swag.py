"""Known answers of SWAG, by hand or in closed form."""

import numpy as np
import torch

from graphfnp.methods.baselines.swag import SWAG, SWAGConfig
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
    draws = torch.stack([classifier.draw_weights(stream(0, "draw", k)) for k in range(3000)])
    variance = (recorded.var(0)[:count] + classifier.deviations.square().sum(0).numpy() / 2) / 2
    assert abs(float((draws.var(0)[:count].numpy() / variance).mean()) - 1) < 0.02
    assert torch.equal(draws[0, count:], draws[1, count:])  # statistics of the norms


def test_swag_of_weights_that_stand_still_is_the_network() -> None:
    batch, classifier = shapes(5).batch(), SWAG(TYPED, SWAGConfig(TINY, head_width=8)).eval()
    classifier.collect(classifier.weights.of(classifier.network))
    with torch.no_grad():
        expected = classifier.network(batch).expand(2, -1, -1)
        torch.testing.assert_close(classifier.draw_logits(classifier.encode(batch), 2), expected, atol=1e-5, rtol=1e-4)
