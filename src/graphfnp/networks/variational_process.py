"""VariationalProcess: the part of Graph-GP that needs GPyTorch, an optional package."""

import gpytorch
import torch
from torch import Tensor


class VariationalProcess(gpytorch.models.ApproximateGP):
    """Independent variational processes of the classes with one kernel, at the prior."""

    def __init__(self, num_classes: int, num_points: int, dims: int) -> None:
        batch_shape = torch.Size([num_classes])
        distribution = gpytorch.variational.CholeskyVariationalDistribution(num_points, batch_shape, mean_init_std=0.0)
        points = torch.randn(num_classes, num_points, dims)
        super().__init__(gpytorch.variational.VariationalStrategy(self, points, distribution))
        self.variational_strategy.variational_params_initialized.fill_(1)
        self.mean_module = gpytorch.means.ZeroMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())
        self.covar_module.base_kernel.lengthscale = dims**0.5  # features have variance 1
        self.covar_module.outputscale = 4.0

    def forward(self, x: Tensor) -> gpytorch.distributions.MultivariateNormal:
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))
