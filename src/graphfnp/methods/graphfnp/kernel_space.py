"""P(z): the space in which graphs and rationales are compared, learned in the E-step alone."""

import torch
from torch import Tensor, nn

from graphfnp.networks.mlp import mlp

INITIAL_SCALE = 0.3  # of the last layer: at first P(z) is nearly z


class KernelSpace(nn.Module):
    """P(z) = z + MLP(relu(z)).

    Links need distances that know the class, predictions need all that z holds. With a space of its own the kernel is
    free to separate the classes, and the encoder never hears of it.
    """

    def __init__(self, dims: int) -> None:
        super().__init__()
        self.layers = mlp(dims, dims, dims)
        with torch.no_grad():
            for parameter, factor in zip(self.layers[-1].parameters(), (INITIAL_SCALE, 0.0), strict=True):
                parameter.mul_(factor)

    def forward(self, z: Tensor) -> Tensor:
        return z + self.layers(torch.relu(z))
