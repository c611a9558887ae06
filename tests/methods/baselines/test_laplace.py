"""Known answers of the Laplace approximation, by hand or in closed form."""

import torch

from graphfnp.methods.baselines.laplace import curvature, inverse_root
from graphfnp.randomness import stream


def test_laplace_covariance_of_two_classes_is_that_of_logistic_regression() -> None:
    """The difference of two logits is one logistic regression whose prior has twice the variance."""
    phi = torch.tensor([[1.0, 1.0], [-2.0, 1.0], [0.5, 1.0]], dtype=torch.double)
    p, weight, precision = torch.tensor([0.8, 0.3, 0.6]).double(), torch.tensor([1.0, 2.0, 0.5]).double(), 0.7
    total = curvature(phi, torch.stack([1 - p, p], dim=1), weight)
    root = inverse_root(total, torch.zeros(2, 2), precision)
    difference = torch.cat([-torch.eye(2), torch.eye(2)], dim=1).double()
    hessian = (phi * (weight * p * (1 - p)).unsqueeze(1)).T @ phi
    expected = torch.linalg.inv(hessian + precision / 2 * torch.eye(2))
    torch.testing.assert_close(difference @ root @ root.T @ difference.T, expected)


def test_laplace_curvature_is_the_hessian_of_the_weighted_cross_entropy() -> None:
    phi = torch.randn(6, 3, generator=stream(0, "phi"), dtype=torch.double)
    weight = torch.randn(4, 3, generator=stream(0, "weight"), dtype=torch.double)
    y, share = torch.tensor([0, 1, 2, 3, 0, 1]), torch.tensor([1.0, 2.0, 0.5, 1.0, 1.0, 2.0]).double()

    def loss(flat: torch.Tensor) -> torch.Tensor:
        losses = torch.nn.functional.cross_entropy(phi @ flat.view(4, 3).T, y, reduction="none")
        return (losses * share).sum()

    hessian = torch.autograd.functional.hessian(loss, weight.flatten())
    torch.testing.assert_close(curvature(phi, (phi @ weight.T).softmax(-1), share), hessian)


def test_laplace_chooses_the_prior_precision_of_highest_evidence() -> None:
    """P = 4 weights, H = 100 I, |mode|^2 = 1: 4 log d - 4 log(100 + d) - d is highest at d = 3.85."""
    root = inverse_root(100 * torch.eye(4).double(), torch.full((2, 2), 0.5))
    assert abs(1 / float(root.square().sum(1)[0]) - 103.85) < 0.5
