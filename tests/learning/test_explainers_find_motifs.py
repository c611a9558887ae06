"""Do explainers find the motif? Long, run with ``make slow``.

Settings were judged on validation graphs of seeds 0, 1, 2 (benchmarks/motif_explainers.py); this is another seed.
"""

from typing import Any

import pytest
import torch
from torch import Tensor

from graphfnp.classifier import GraphClassifier
from graphfnp.datasets.ba2motifs import constant_features, generate_ba2motifs
from graphfnp.datasets.dataset import Dataset
from graphfnp.datasets.split import random_split
from graphfnp.explainers.explain import explain
from graphfnp.graphs import PackedGraphs
from graphfnp.methods import make_classifier
from graphfnp.metrics.explanation import edge_roc_auc
from graphfnp.training import TrainingConfig, train

SEED = 8


def motifs(alike: bool) -> Dataset:
    graphs = generate_ba2motifs(1000, SEED)
    graphs = constant_features(graphs) if alike else graphs
    return Dataset("ba2motifs", graphs, random_split(graphs.y, seed=SEED))


def truth_of(graphs: PackedGraphs) -> Tensor:
    assert graphs.edge_truth is not None
    return graphs.edge_truth


def trained(dataset: Dataset, method: str, epochs: int, **settings: Any) -> GraphClassifier:
    settings = {"backbone.name": "gin", "backbone.width": 64, **settings}
    model = make_classifier(method, dataset.graphs.schema, settings, SEED)
    train(model, dataset.train, dataset.validation, TrainingConfig(epochs=epochs, stop_at=epochs), SEED)
    return model


@pytest.mark.slow
def test_gsat_attends_to_the_motif() -> None:
    dataset = motifs(alike=False)
    # Without batch norm: both passes share its statistics, which fit only the one whose edges are attended to.
    model = trained(dataset, "gsat", 60, prior_floor=0.5, **{"backbone.batch_norm": False})
    assert edge_roc_auc(explain(model, dataset.test, "gsat").edge_mask, truth_of(dataset.test)) >= 0.95


@pytest.mark.slow
def test_pg_explainer_finds_houses() -> None:
    """A cycle is a house without an edge: taken for all that is no house, it has no edge that speaks for it."""
    dataset = motifs(alike=True)
    houses = dataset.test.select(torch.where(dataset.test.y == 1)[0])
    found = explain(trained(dataset, "vanilla", 40), houses, "pg-explainer", training=dataset.train, seed=SEED)
    assert edge_roc_auc(found.edge_mask, truth_of(houses)) >= 0.80
