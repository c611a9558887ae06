"""Batches and draws go where the model is: on a device that is pretended, since no GPU is at hand."""

import pytest
import torch
from pretended_device import ELSEWHERE, Elsewhere, TwoDevices, pretended_device, send, sent

from graphfnp.methods.registry import CLASSIFIERS, make_classifier
from graphfnp.prediction.predict import collect
from tiny_graphs import shapes, small

HERE = {"forest": "its trees are walked by numpy"}


def test_a_tensor_that_stayed_here_is_found() -> None:
    with pretended_device(), pytest.raises(TwoDevices, match=r"add\.Tensor"):
        Elsewhere(torch.ones(2)) + torch.ones(2)


def test_a_new_tensor_goes_where_it_is_asked_to() -> None:
    with pretended_device():
        ahead = Elsewhere(torch.ones(2))
        assert torch.arange(2, device=ahead.device).device == ELSEWHERE
        assert isinstance(torch.tensor([1.0, 2.0], device=ahead.device), Elsewhere)
        assert isinstance(ahead + torch.arange(2, device=ahead.device), Elsewhere)


@pytest.mark.parametrize("method", [name for name in CLASSIFIERS if name not in HERE])
@torch.no_grad()
def test_all_that_a_prediction_needs_is_computed_where_the_model_is(method: str) -> None:
    graphs = shapes(12)
    classifier = make_classifier(method, graphs.schema, small(method)).eval()
    expected = classifier.draw_logits(classifier.encode(graphs.batch()), 4)
    send(classifier)
    batch = sent(graphs.batch())
    with pretended_device():
        encoded = classifier.encode(batch)
        found = [
            classifier.draw_logits(encoded, 4), classifier.embed(encoded), classifier.distance(encoded),
            None if (model := classifier.rationale_model) is None else model.mean_correlation(encoded, 4),
        ]  # fmt: skip
    assert all(isinstance(one, Elsewhere) for one in found if one is not None)
    torch.testing.assert_close(found[0].here, expected)  # type: ignore[union-attr]


@pytest.mark.parametrize("backbone", ["gcn", "gat", "gin", "sage", "ggnn", "pna"])
@torch.no_grad()
def test_every_backbone_computes_where_it_is(backbone: str) -> None:
    graphs = shapes(12)
    classifier = make_classifier("vanilla", graphs.schema, small("vanilla") | {"backbone.name": backbone}).eval()
    expected = classifier.embed(classifier.encode(graphs.batch()))
    send(classifier)
    with pretended_device():
        found = classifier.embed(classifier.encode(sent(graphs.batch())))
    assert isinstance(found, Elsewhere)
    torch.testing.assert_close(found.here, expected)


def test_predicting_sends_batches_to_the_model_and_brings_back_what_it_said() -> None:
    graphs = shapes(12)
    classifier = make_classifier("graphfnp", graphs.schema, small("graphfnp")).eval()
    expected = collect(classifier, graphs, 8, correlated=True)
    send(classifier)
    with pretended_device():
        found = collect(classifier, graphs, 8, correlated=True)
    for name, value in vars(expected).items():
        here = getattr(found, name)
        assert not isinstance(here, Elsewhere)
        torch.testing.assert_close(here, value)


@pytest.mark.parametrize("method", [name for name in CLASSIFIERS if name not in HERE])
@torch.no_grad()
def test_every_loss_is_computed_where_the_model_is(method: str) -> None:
    graphs = shapes(12)
    classifier = make_classifier(method, graphs.schema, small(method))
    send(classifier)
    with pretended_device():
        batch = sent(graphs.batch())
        for phase in classifier.phases():
            terms = phase.loss(classifier.encode(batch))
            assert all(isinstance(one, Elsewhere) for one in terms.values())
