"""A model lent to an explainer comes back as it was."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn
from torch_geometric.explain.algorithm.utils import clear_masks
from torch_geometric.nn import MessagePassing

from graphfnp.errors import InvalidConfig


def check_messages(model: nn.Module) -> None:
    """InvalidConfig for a model in which a mask of edges would weigh nothing."""
    if not any(isinstance(module, MessagePassing) for module in model.modules()):
        raise InvalidConfig(
            f"masks of edges for a {type(model).__name__} without layers of PyG that pass messages",
            "layers that are a torch_geometric.nn.MessagePassing",
            "choose subgraphx or gstarx, which leave nodes out",
        )


@contextmanager
def untouched(model: nn.Module) -> Iterator[None]:
    """Inside the block the model evaluates and its weights take no gradient; afterwards all is as it was before.

    PyG clears a mask but leaves its place among the layer's parameters, where the next explainer's mask would be
    cut off from the network that makes it: that place goes too.
    """
    modes = [(module, module.training) for module in model.modules()]
    learnable = [weight for weight in model.parameters() if weight.requires_grad]
    model.eval()
    for weight in learnable:
        weight.requires_grad_(False)
    try:
        with torch.enable_grad():
            yield
    finally:
        clear_masks(model)
        for module in model.modules():
            if isinstance(module, MessagePassing) and "_edge_mask" in module._parameters:
                del module._parameters["_edge_mask"]
                module._edge_mask = None
        for weight in learnable:
            weight.requires_grad_(True)
        for module, mode in modes:
            module.training = mode
