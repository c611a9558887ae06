"""Picks by hand: what is uncertain or likely, and unlike what was picked before."""

import pytest
import torch

from graphfnp.chemistry.smiles import graphs_from_smiles
from graphfnp.errors import InvalidConfig
from graphfnp.prediction.pick import pick
from graphfnp.prediction.predictions import Predictions
from graphfnp.runs.bundles import load_model
from tiny_graphs import NUMBERS, shapes

SMILES = ["CCCCCCCCO", "CCCCCCCCCO", "c1ccncc1", "CCCCCCCCCCO"]


@pytest.fixture(scope="module")
def molecules():
    graphs, _, problems = graphs_from_smiles(SMILES, schema=load_model("bbbp").classifier.schema)
    assert not problems
    return graphs


def said(*probability: float, spread: float = 0.0) -> Predictions:
    second = torch.tensor([[p - spread for p in probability], [p + spread for p in probability]])
    return Predictions(torch.stack([1 - second, second], -1), torch.full((len(probability),), -1))


def test_what_the_model_is_unsure_of_comes_first_and_alcohols_that_are_alike_later(molecules):
    predictions = said(0.5, 0.52, 0.9, 0.53)
    assert predictions.total_uncertainty.argsort(descending=True).tolist() == [0, 1, 3, 2]
    assert pick(predictions, molecules, 4).tolist()[:2] == [0, 2]  # pyridine is surer, and no alcohol
    assert sorted(pick(predictions, molecules, 4).tolist()) == [0, 1, 2, 3]


def test_class_is_sought_where_it_could_be_likely(molecules):
    assert pick(said(0.2, 0.3, 0.1, 0.9), molecules, 1, 1).tolist() == [3]
    assert pick(said(0.2, 0.3, 0.1, 0.9), molecules, 1, 0).tolist() == [2]
    first, second = said(0.5, 0.5, 0.5, 0.6), said(0.5, 0.5, 0.5, 0.6, spread=0.3)
    mixed = Predictions(torch.where(torch.arange(4)[:, None] == 2, second.draws, first.draws), first.y)
    assert pick(mixed, molecules, 1, 1).tolist() == [2]  # between .2 and .8


def test_graphs_of_numbers_are_picked_by_use_alone():
    graphs = shapes(6, NUMBERS)
    draws = torch.tensor([[0.8, 0.1, 0.1], [0.4, 0.3, 0.3], [0.6, 0.2, 0.2]] * 2)[None]
    assert pick(Predictions(draws, graphs.y), graphs, 3).tolist() == [1, 4, 2]


def test_too_many_are_refused(molecules):
    with pytest.raises(InvalidConfig, match="5 of 4"):
        pick(said(0.5, 0.5, 0.5, 0.5), molecules, 5)
