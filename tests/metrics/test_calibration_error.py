"""Expected calibration error against hand-worked numbers, torchmetrics, and simulated perfectly calibrated models."""

import pytest
import torch
from torchmetrics.functional.classification import multiclass_calibration_error

from graphfnp.errors import InvalidConfig
from graphfnp.metrics.calibration_error import (
    bootstrap_interval,
    calibrated_errors,
    calibration_floor,
    ece_interval,
    expected_calibration_error,
    reliability_bins,
)
from graphfnp.metrics.scores import accuracy


def two(positive) -> torch.Tensor:
    positive = torch.as_tensor(positive)
    return torch.stack([1 - positive, positive], dim=1)


def model(num_graphs: int, seed: int = 0, overconfidence: float = 1.0) -> tuple[torch.Tensor, torch.Tensor]:
    """Claims of a binary model and labels; calibrated if overconfidence is 1."""
    generator = torch.Generator().manual_seed(seed)
    logit = 2.5 * torch.randn(num_graphs, generator=generator)
    y = (torch.rand(num_graphs, generator=generator) < logit.sigmoid()).long()
    return two((overconfidence * logit).sigmoid()), y


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_four_graphs_worked_by_hand(dtype):
    probabilities, y = two(torch.tensor([0.2, 0.2, 0.8, 0.8], dtype=dtype)), torch.tensor([1, 0, 1, 1])
    assert float(expected_calibration_error(probabilities, y)) == pytest.approx(0.05, abs=1e-6)
    assert float(expected_calibration_error(probabilities, y, mode="positive_class")) == pytest.approx(0.25, abs=1e-6)


def test_top_label_error_is_that_of_torchmetrics_for_several_classes():
    generator = torch.Generator().manual_seed(0)
    probabilities = (3 * torch.randn(500, 4, generator=generator)).softmax(-1)
    y = torch.randint(0, 4, (500,), generator=generator)
    reference = multiclass_calibration_error(probabilities, y, num_classes=4, n_bins=15, norm="l1")
    assert float(expected_calibration_error(probabilities, y)) == pytest.approx(float(reference), abs=1e-6)


def test_a_confidence_on_an_edge_belongs_to_the_lower_bin_and_certainty_to_the_last():
    found = reliability_bins(two([0.0, 0.6, 0.61, 1.0]), torch.tensor([0, 0, 1, 0]), bins=5)
    assert found.share.tolist() == [0, 0, 0.25, 0.25, 0.5]
    assert found.accuracy[2:].tolist() == [0, 1, 0.5]
    assert found.confidence[2:].tolist() == pytest.approx([0.6, 0.61, 1.0])
    assert found.accuracy[:2].isnan().all()


def test_certainty_shares_a_bin_with_the_nearly_certain():
    # An extra bin for 1.0 would give (|1 - 0| + |.98 - 1|) / 2 = .51 instead.
    probabilities, y = two([1.0, 0.98]), torch.tensor([0, 1])
    assert float(expected_calibration_error(probabilities, y)) == pytest.approx(0.49)


def test_adaptive_bins_hold_equally_many_graphs_whatever_their_order():
    probabilities, y = model(600)
    found = reliability_bins(probabilities, y, mode="adaptive")
    assert found.share.tolist() == pytest.approx([1 / 15] * 15)
    tied = (probabilities * 20).round() / 20
    order = torch.randperm(600, generator=torch.Generator().manual_seed(3))
    one, other = (expected_calibration_error(tied[i], y[i], mode="adaptive") for i in (torch.arange(600), order))
    assert float(one) == pytest.approx(float(other))


def test_adaptive_error_worked_by_hand():
    # Two bins of two: claims .6, .7 (one right) and .8, .9 (both right).
    probabilities, y = two([0.7, 0.9, 0.6, 0.8]), torch.tensor([0, 1, 1, 1])
    error = expected_calibration_error(probabilities, y, bins=2, mode="adaptive")
    assert float(error) == pytest.approx(0.5 * abs(0.65 - 0.5) + 0.5 * abs(0.85 - 1))


def test_leading_dimensions_are_many_test_sets_at_once():
    sets = [model(80, seed) for seed in range(3)]
    for mode in ("top_label", "positive_class", "adaptive"):
        together = expected_calibration_error(*map(torch.stack, zip(*sets, strict=True)), mode=mode)
        assert together.tolist() == [float(expected_calibration_error(*one, mode=mode)) for one in sets]


def test_positive_class_of_three_classes_is_refused():
    with pytest.raises(InvalidConfig, match="two classes"):
        expected_calibration_error(torch.full((5, 3), 1 / 3), torch.zeros(5).long(), mode="positive_class")


@pytest.mark.parametrize(("num_graphs", "floor"), [(152, 0.067), (204, 0.057), (434, 0.039), (1273, 0.023)])
def test_floor_is_what_a_calibrated_model_scores_at_this_size(num_graphs, floor):
    assert calibration_floor(model(num_graphs)[0]) == pytest.approx(floor, rel=0.12)


def test_floor_is_the_mean_error_over_calibrated_test_sets():
    scores = torch.stack([expected_calibration_error(*model(300, seed)) for seed in range(200)])
    floors = [calibration_floor(model(300, seed)[0], resamples=100) for seed in range(5)]
    assert sum(floors) / 5 == pytest.approx(float(scores.mean()), rel=0.06)


def test_interval_covers_the_true_error_of_an_overconfident_model():
    truth = float(expected_calibration_error(*model(400_000, 1, overconfidence=2.0)))
    intervals = [
        bootstrap_interval(expected_calibration_error, *model(300, seed, overconfidence=2.0), resamples=300)
        for seed in range(60)
    ]
    assert sum(low <= truth <= high for low, high in intervals) >= 50
    assert all(high - low < 0.12 for low, high in intervals)


def test_interval_covers_the_error_of_a_calibrated_model():
    sets = [model(200, seed) for seed in range(40)]
    lows = [ece_interval(*one, calibrated_errors(one[0]))[0] for one in sets]
    assert sum(low == 0 for low in lows) >= 36
    overconfident = model(1000, overconfidence=2.0)
    assert ece_interval(*overconfident, calibrated_errors(overconfident[0])) == bootstrap_interval(
        expected_calibration_error, *overconfident
    )


def test_interval_of_accuracy_is_the_textbook_one():
    probabilities, y = model(1000)
    mean = float(accuracy(probabilities, y))
    half = 1.96 * (mean * (1 - mean) / 1000) ** 0.5
    low, high = bootstrap_interval(accuracy, probabilities, y, resamples=2000)
    assert (low, high) == pytest.approx((mean - half, mean + half), abs=0.003)


def test_interval_belongs_to_its_seed_and_leaves_the_global_stream_alone():
    probabilities, y = model(100)
    before = torch.random.get_rng_state()
    first = bootstrap_interval(expected_calibration_error, probabilities, y, seed=1)
    assert first == bootstrap_interval(expected_calibration_error, probabilities, y, seed=1)
    assert first != bootstrap_interval(expected_calibration_error, probabilities, y, seed=2)
    assert torch.equal(before, torch.random.get_rng_state())
