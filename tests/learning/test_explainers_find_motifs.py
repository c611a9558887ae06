"""Do explainers find the motif? Long, run with ``make slow``."""

from typing import Any

import pytest

from graphfnp.datasets.ba2motifs import constant_features, generate_ba2motifs
from graphfnp.datasets.dataset import Dataset
from graphfnp.datasets.split import random_split
from graphfnp.explainers.scores import explanation_scores
from graphfnp.graphs import PackedGraphs
from graphfnp.methods import make_classifier
from graphfnp.training import TrainingConfig, train


def motif_auc(graphs: PackedGraphs, explainer: str, method: str, epochs: int, **settings: Any) -> float:
    dataset = Dataset("ba2motifs", graphs, random_split(graphs.y))
    model = make_classifier(method, graphs.schema, {"backbone.name": "gin", "backbone.width": 64, **settings})
    train(model, dataset.train, dataset.validation, TrainingConfig(epochs=epochs, patience=epochs, stop_at=epochs))
    return explanation_scores(model, dataset, explainer)["edge_roc_auc"]


@pytest.mark.slow
def test_gsat_attends_to_the_motif() -> None:
    # Without batch norm: both passes share its statistics, which fit only the one whose edges are attended to.
    settings = {"prior_floor": 0.5, "backbone.batch_norm": False}
    assert motif_auc(generate_ba2motifs(1000), "gsat", "gsat", 60, **settings) >= 0.95


@pytest.mark.slow
def test_pg_explainer_finds_the_motif_where_only_edges_tell() -> None:
    assert motif_auc(constant_features(generate_ba2motifs(1000)), "pg-explainer", "vanilla", 40) >= 0.80
