"""Every method can learn: it fits 32 small graphs by heart."""

from dataclasses import replace

import pytest
import torch

from graphfnp.graphs.edges import DEGREE_SIZE, degree_feature
from graphfnp.graphs.packed import PackedGraphs, Schema
from graphfnp.methods.registry import CLASSIFIERS, make_classifier
from graphfnp.metrics.scores import negative_log_likelihood
from graphfnp.prediction.predict import predict
from graphfnp.training.config import TrainingConfig
from graphfnp.training.train import train
from tiny_graphs import NUMBERS, shapes, small

FITTING = TrainingConfig(
    epochs=60,
    batch_size=8,
    learning_rate=5e-3,
    average_decay=0.97,
    validation_draws=4,
    finishing_epochs=0,
    calibration="temperature",
)
DEGREES = Schema(("ring", "path", "star"), node_sizes=(DEGREE_SIZE,), features="degree")


@pytest.fixture(scope="module")
def graphs() -> PackedGraphs:
    """Rings, paths and stars of four to eight nodes that know their degrees only."""
    plain = shapes(32, NUMBERS, seed=2)
    return replace(plain, schema=DEGREES, x=degree_feature(plain.batch().edge_index, len(plain.x)))


@pytest.mark.parametrize("method", CLASSIFIERS)
def test_a_method_fits_thirty_two_graphs_of_three_classes(method: str, graphs: PackedGraphs) -> None:
    classifier = make_classifier(method, DEGREES, small(method, **{"backbone.width": 32}))
    recipe = replace(FITTING, batch_size=16) if method == "bbp" else FITTING  # its weights are noisy
    training = train(classifier, graphs, graphs, recipe)
    predictions = predict(training.model, graphs)
    assert (predictions.label == graphs.y).float().mean() >= 0.95
    assert negative_log_likelihood(predictions.probabilities, graphs.y) < 0.5  # even odds: log 3 = 1.1


@pytest.mark.parametrize("backbone", ["gat", "gin", "sage", "ggnn", "pna"])
def test_a_backbone_fits_thirty_two_graphs(backbone: str, graphs: PackedGraphs) -> None:
    classifier = make_classifier("vanilla", DEGREES, small("vanilla", **{"backbone.name": backbone}))
    training = train(classifier, graphs, graphs, FITTING)
    assert (predict(training.model, graphs).label == graphs.y).float().mean() >= 0.95


ABLATIONS = [(method, left_out) for method in ("graphfnp", "paper") for left_out in ("z_D", "C", "z_R", "EM")]
# Its M-step draws u from q(u | G), so that the links, all that is left, learn little.
ABLATIONS.remove(("paper", "z_D"))


@pytest.mark.parametrize(("method", "left_out"), ABLATIONS)
def test_an_ablation_still_learns(method: str, left_out: str, graphs: PackedGraphs) -> None:
    settings = small(method, ablation=left_out, **{"backbone.width": 32})
    training = train(make_classifier(method, DEGREES, settings), graphs, graphs, replace(FITTING, parts=0.0))
    assert (predict(training.model, graphs).label == graphs.y).float().mean() >= 0.9


def test_rationales_end_near_graphs_of_their_class(graphs: PackedGraphs) -> None:
    classifier = make_classifier("graphfnp", DEGREES, small("graphfnp", **{"backbone.width": 32}))
    model = train(classifier, graphs, graphs, FITTING).model
    rationales = model.classifier.rationales()
    assert rationales is not None
    with torch.no_grad():
        embedding = model.classifier.embed(model.classifier.encode(graphs.batch()))
    nearest = torch.cdist(rationales.embedding, embedding).argmin(-1)
    assert (graphs.y[nearest] == rationales.label).float().mean() >= 0.8
