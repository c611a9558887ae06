"""A network beside a forest: each has half of every draw, rationales are the network's, and files hold both."""

import pytest
import torch

from graphfnp.methods.baselines.vanilla import Vanilla
from graphfnp.methods.graphfnp.method import GraphFNP
from graphfnp.methods.registry import make_classifier
from graphfnp.prediction.predict import predict
from graphfnp.runs.checkpoint import load_model
from graphfnp.training.train import train
from tiny_graphs import TINY_TRAINING, TYPED, shapes, small

beside_a_forest = pytest.mark.parametrize(("alone", "own"), [("graphfnp", GraphFNP), ("vanilla", Vanilla)])


@beside_a_forest
def test_each_draw_is_the_mean_of_both_and_the_model_is_read_again(alone, own, tmp_path):
    method = f"{alone}-forest"
    model = train(make_classifier(method, TYPED, small(method)), shapes(30), shapes(30, seed=1), TINY_TRAINING).model
    classifier, batch = model.classifier, shapes(9, seed=2).batch()
    with torch.no_grad():
        encoded = classifier.encode(batch)
        both = classifier.draw_logits(encoded, 8).exp()
        network = own.draw_logits(classifier, encoded, 8).softmax(-1)
        forest = classifier.forest.draw_logits(classifier.forest.encode(batch), 8).softmax(-1)
    torch.testing.assert_close(both, (network + forest) / 2)
    assert len(classifier.forest.root) == 32
    assert (classifier.rationale_model is classifier) == (alone == "graphfnp")
    model.save(tmp_path)
    graphs = shapes(9, seed=3)
    assert torch.equal(predict(load_model(tmp_path), graphs).draws, predict(model, graphs).draws)


@beside_a_forest
def test_networks_learn_as_they_do_without_the_forest(alone, own):
    """The forest is grown at the end: weights of the network are those it has by itself."""
    network, both = (
        train(make_classifier(name, TYPED, small(name)), shapes(30), shapes(30, seed=1), TINY_TRAINING).model.classifier
        for name in (alone, f"{alone}-forest")
    )
    assert isinstance(both, own)
    weights = both.state_dict()
    assert all(torch.equal(tensor, weights[name]) for name, tensor in network.state_dict().items())
