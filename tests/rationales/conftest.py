"""Molecules and a model that tests of rationales share."""

import pytest
import torch

from graphfnp.chemistry.smiles import graphs_from_smiles
from graphfnp.graphs.packed import PackedGraphs
from graphfnp.methods.registry import make_classifier
from graphfnp.prediction.predict import TrainedModel
from tiny_graphs import small


@pytest.fixture(scope="module")
def molecules() -> PackedGraphs:
    smiles = ["CCO", "CCCO", "CC(=O)O", "c1ccccc1O", "Nc1ccccc1", "O=[N+]([O-])c1ccccc1", "Cc1ccccc1N", "CCN"] * 2
    graphs, _, _ = graphs_from_smiles(smiles, y=[0, 0, 0, 0, 1, 1, 1, 1] * 2)
    assert graphs is not None
    return graphs


@pytest.fixture(scope="module")
def untrained(molecules: PackedGraphs) -> TrainedModel:
    torch.manual_seed(0)
    model = TrainedModel(make_classifier("graphfnp", molecules.schema, small("graphfnp")))
    model.classifier.start_epoch(9, 10, molecules)
    return model
