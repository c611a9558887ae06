"""Risk-coverage curves and out-of-distribution AUROC on sets small enough to count."""

import pytest
import torch

from graphfnp.metrics.scores import risk_coverage


def test_risk_is_the_share_of_errors_among_the_most_certain():
    curve = risk_coverage(torch.tensor([0.4, 0.1, 0.3, 0.2]), torch.tensor([1, 0, 1, 0]))
    assert curve.coverage.tolist() == [0.25, 0.5, 0.75, 1.0]
    assert curve.risk.tolist() == pytest.approx([0, 0, 1 / 3, 1 / 2])
    assert curve.area == pytest.approx((1 / 3 + 1 / 2) / 4)


def test_equally_uncertain_graphs_count_with_their_mean_error_in_any_order():
    uncertainty = torch.tensor([0.5, 0.5, 0.5, 0.9])
    curves = [risk_coverage(uncertainty, torch.tensor(error)).risk.tolist() for error in ([1, 0, 0, 1], [0, 0, 1, 1])]
    assert curves[0] == curves[1] == pytest.approx([1 / 3, 1 / 3, 1 / 3, 1 / 2])


def test_uncertainty_that_ranks_errors_last_has_less_area_than_its_opposite():
    error = (torch.rand(200, generator=torch.Generator().manual_seed(0)) < 0.3).float()
    assert risk_coverage(error, error).area < float(error.mean()) < risk_coverage(-error, error).area
