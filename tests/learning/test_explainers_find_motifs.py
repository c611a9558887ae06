"""Do explainers find the motif? Long, run with ``make slow``."""

import pytest

from graphfnp.datasets.ba2motifs import constant_features, generate_ba2motifs
from graphfnp.datasets.dataset import Dataset
from graphfnp.datasets.split import random_split
from graphfnp.explainers.scores import explanation_scores
from graphfnp.methods import make_classifier
from graphfnp.training import TrainingConfig, train


@pytest.mark.slow
@pytest.mark.parametrize(
    ("explainer", "method", "settings", "epochs", "least"),
    [("gsat", "gsat", {"prior_floor": 0.5}, 60, 0.95), ("pg-explainer", "vanilla", {}, 40, 0.80)],
)
def test_edges_of_the_motif_are_found(explainer, method, settings, epochs, least) -> None:
    graphs = constant_features(generate_ba2motifs(1000))
    dataset = Dataset("ba2motifs", graphs, random_split(graphs.y))
    model = make_classifier(method, graphs.schema, {"backbone.name": "gin", "backbone.width": 64, **settings})
    # To the end: the last epochs add little to the accuracy, but much to what the attention leaves out.
    train(model, dataset.train, dataset.validation, TrainingConfig(epochs=epochs, patience=epochs, stop_at=epochs))
    assert explanation_scores(model, dataset, explainer)["edge_roc_auc"] >= least
