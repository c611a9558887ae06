"""Multi-layer perceptron with ReLU between the layers."""

from itertools import pairwise

from torch import nn


def mlp(*widths: int, dropout: float = 0.0) -> nn.Sequential:
    """``mlp(64, 256, 2)`` is Linear(64, 256), ReLU, Linear(256, 2)."""
    layers: list[nn.Module] = []
    for position, (width_in, width_out) in enumerate(pairwise(widths)):
        if position:
            layers += [nn.ReLU(), nn.Dropout(dropout)] if dropout else [nn.ReLU()]
        layers.append(nn.Linear(width_in, width_out))
    return nn.Sequential(*layers)
