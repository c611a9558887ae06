"""Predictions: the uncertainty decomposition by hand, and verbs that make them."""

import math
from dataclasses import replace

import pytest
import torch

from graphfnp.errors import InvalidGraphs
from graphfnp.graphs.packed import UNLABELLED
from graphfnp.methods.registry import make_classifier
from graphfnp.prediction.calibration import Calibration
from graphfnp.prediction.predict import TrainedModel, collect, predict
from graphfnp.prediction.predictions import Predictions, entropy
from graphfnp.prediction.scalings import Temperature
from tiny_graphs import TYPED, shapes, small


def h(*p: float) -> float:
    return -sum(q * math.log(q) for q in p if q > 0)


# Two draws of three graphs: sure and agreed, sure but at odds, agreed that nothing is known.
DRAWS = torch.tensor([[[1.0, 0.0], [1.0, 0.0], [0.5, 0.5]], [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]])
PREDICTIONS = Predictions(DRAWS, torch.tensor([0, 1, UNLABELLED]), torch.tensor([0.1, 0.9, 0.5]))


def test_disagreement_is_model_uncertainty_and_agreed_doubt_is_data_uncertainty() -> None:
    torch.testing.assert_close(PREDICTIONS.total_uncertainty, torch.tensor([0.0, math.log(2), math.log(2)]))
    torch.testing.assert_close(PREDICTIONS.data_uncertainty, torch.tensor([0.0, 0.0, math.log(2)]))
    torch.testing.assert_close(PREDICTIONS.model_uncertainty, torch.tensor([0.0, math.log(2), 0.0]))


def test_decomposition_by_hand_with_three_classes() -> None:
    draws = torch.tensor([[[0.7, 0.2, 0.1]], [[0.1, 0.6, 0.3]]])
    predictions = Predictions(draws, torch.tensor([0]))
    total, data = h(0.4, 0.4, 0.2), (h(0.7, 0.2, 0.1) + h(0.1, 0.6, 0.3)) / 2
    assert predictions.total_uncertainty.item() == pytest.approx(total, abs=1e-6)
    assert predictions.data_uncertainty.item() == pytest.approx(data, abs=1e-6)
    assert predictions.model_uncertainty.item() == pytest.approx(total - data, abs=1e-6)


def test_model_uncertainty_is_never_negative() -> None:
    draws = torch.full((64, 100, 3), 1 / 3) + 1e-8
    assert (Predictions(draws, torch.zeros(100)).model_uncertainty >= 0).all()


def test_entropy_of_certainty_is_zero_and_of_even_odds_is_the_logarithm_of_their_number() -> None:
    torch.testing.assert_close(entropy(torch.tensor([[1.0, 0, 0, 0], [0.25] * 4])), torch.tensor([0.0, math.log(4)]))


def test_label_and_confidence_are_those_of_the_mean() -> None:
    predictions = Predictions(torch.tensor([[[0.9, 0.1]], [[0.2, 0.8]], [[0.2, 0.8]]]), torch.tensor([0]))
    assert predictions.label.tolist() == [1]
    torch.testing.assert_close(predictions.confidence, torch.tensor([1.7 / 3]))


def test_interval_is_the_central_part_of_the_draws() -> None:
    p = torch.linspace(0, 1, 101)
    predictions = Predictions(torch.stack([p, 1 - p], -1).unsqueeze(1), torch.tensor([0]))
    torch.testing.assert_close(predictions.interval(0.9)[0], torch.tensor([[0.05, 0.95], [0.05, 0.95]]))


def test_the_interval_holds_the_mean_though_one_draw_moved_it() -> None:
    p = torch.tensor([0.5] + [0.99] * 31)
    predictions = Predictions(torch.stack([p, 1 - p], -1).unsqueeze(1), torch.tensor([0]))
    low, high = predictions.interval(0.9)[0, 0].tolist()
    assert low == pytest.approx(float(p.mean()))
    assert high == pytest.approx(0.99)


def test_only_labelled_graphs_are_judged() -> None:
    known = PREDICTIONS.labelled()
    assert len(known) == 2
    assert known.y.tolist() == [0, 1]
    assert known.distance is not None
    torch.testing.assert_close(known.distance, torch.tensor([0.1, 0.9]))


def test_draws_that_do_not_fit_the_labels_are_refused() -> None:
    with pytest.raises(InvalidGraphs, match=r"draws, graphs, classes"):
        Predictions(DRAWS, torch.tensor([0]))
    with pytest.raises(InvalidGraphs, match=r"draws, graphs, classes"):
        Predictions(DRAWS[0], torch.tensor([0, 1]))


def test_calibration_is_applied_at_prediction() -> None:
    graphs, classifier = shapes(5), make_classifier("vanilla", TYPED, small("vanilla"))
    raw = collect(classifier, graphs, 4)
    cooled = predict(TrainedModel(classifier, Calibration(Temperature(2.0))), graphs, 4)
    torch.testing.assert_close(cooled.draws, (raw.logits / 2).softmax(-1))
    assert raw.embedding.shape[0] == 5
    assert raw.distance is None  # vanilla cannot tell


def test_a_deterministic_method_has_no_model_uncertainty_and_a_random_one_has() -> None:
    graphs = shapes(5)
    for method, some in (("vanilla", False), ("graphfnp", True)):
        model = TrainedModel(make_classifier(method, TYPED, small(method)))
        assert bool((predict(model, graphs).model_uncertainty > 1e-6).all()) is some


def test_a_watcher_counts_the_graphs() -> None:
    seen: list[int] = []
    model = TrainedModel(make_classifier("vanilla", TYPED, small("vanilla")))
    predict(model, shapes(7), batch_size=3, watch=seen.append)
    assert seen == [3, 3, 1]


def test_unlabelled_graphs_can_be_predicted() -> None:
    graphs = shapes(3)
    unknown = replace(graphs, y=torch.full((3,), UNLABELLED))
    model = TrainedModel(make_classifier("vanilla", TYPED, small("vanilla")))
    torch.testing.assert_close(predict(model, unknown).draws, predict(model, graphs).draws)
