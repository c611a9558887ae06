"""Known answers of the Gaussian process on graphs, by hand or in closed form."""

import sys

import pytest
import torch

from graphfnp.errors import InvalidConfig
from graphfnp.methods.baselines.graph_gp import GraphGP, GraphGPConfig
from graphfnp.methods.contract import Encoding
from graphfnp.networks.backbone import BackboneConfig
from tiny_graphs import TYPED, shapes

TINY = BackboneConfig(width=8, layers=1)


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
    seen = Encoding(batch, features)
    for _ in range(60):
        optimizer.zero_grad()
        torch.stack(list(classifier.loss(seen).values())).sum().backward()
        optimizer.step()
    far = torch.full((1, 2), 60.0)
    unseen = Encoding(batch, far)
    with torch.no_grad():
        mean, variance = classifier.posterior(far)
        outputscale = classifier.process.covar_module.outputscale
        torch.testing.assert_close(mean, torch.zeros(1, 3), atol=1e-4, rtol=0)
        torch.testing.assert_close(variance, outputscale.expand(1, 3), rtol=1e-3, atol=0)
        assert float(classifier.distance(unseen)) > 0.999
        near = classifier.distance(seen)
        assert near is not None
        assert float(near.mean()) < 0.7
        assert (classifier.posterior(features)[0].argmax(1) == targets).float().mean() > 0.9
        probabilities = classifier.draw_logits(unseen, 256).softmax(-1).mean(0)
    torch.testing.assert_close(probabilities, torch.full((1, 3), 1 / 3), atol=0.03, rtol=0)


def test_graph_gp_without_gpytorch_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gpytorch", None)
    monkeypatch.delitem(sys.modules, "graphfnp.networks.variational_process", raising=False)
    with pytest.raises(InvalidConfig, match=r"graphfnp\[gp\]"):
        GraphGP(TYPED, GraphGPConfig(TINY))
