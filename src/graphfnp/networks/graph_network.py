"""GraphNetwork: graphs in, class logits out; and calling it with other weights than its own."""

import torch
from torch import Tensor, nn
from torch.func import functional_call

from graphfnp.graphs.packed import Batch, Schema
from graphfnp.networks.backbone import BackboneConfig, make_backbone
from graphfnp.networks.mean_state import mean_state
from graphfnp.networks.mlp import mlp


class GraphNetwork(nn.Module):
    """logits = MLP(relu(mean_v GNN(G)_v)), for methods that draw the weights of the whole network."""

    def __init__(
        self, schema: Schema, config: BackboneConfig, head_layers: int, head_width: int, backbone: nn.Module | None
    ) -> None:
        super().__init__()
        self.backbone = make_backbone(schema, config, backbone)
        self.head = mlp(self.backbone.out_width, *[head_width] * (head_layers - 1), schema.num_classes)

    def embed(self, batch: Batch) -> Tensor:
        """[graphs, dims]"""
        return mean_state(self.backbone, batch)

    def forward(self, batch: Batch) -> Tensor:
        """[graphs, classes]"""
        return self.head(torch.relu(self.embed(batch)))


class WeightVector:
    """All parameters of a module as one vector, and the module called with such a vector in their place.

    With ``statistics`` the running means and variances of its norms too: weights of another time need those of their
    time. Names are taken once: an explainer that sets a mask on a layer adds a parameter that is no weight.
    """

    def __init__(self, module: nn.Module, statistics: bool = False) -> None:
        parts: dict[str, Tensor] = dict(module.named_parameters())
        self.num_parameters = sum(part.numel() for part in parts.values())  # they come first
        if statistics:
            parts |= {name: buffer for name, buffer in module.named_buffers() if name.endswith(("_mean", "_var"))}
        self.shapes = {name: part.shape for name, part in parts.items()}
        self.size = sum(shape.numel() for shape in self.shapes.values())

    def of(self, module: nn.Module) -> Tensor:
        """[size]"""
        parts = dict(module.named_parameters()) | dict(module.named_buffers())
        return torch.cat([parts[name].detach().flatten() for name in self.shapes])

    def load(self, module: nn.Module, vector: Tensor) -> None:
        module.load_state_dict(self._named(vector), strict=False)

    def call(self, module: nn.Module, vector: Tensor, batch: Batch) -> Tensor:
        return functional_call(module, self._named(vector), (batch,))

    def _named(self, vector: Tensor) -> dict[str, Tensor]:
        parts = vector.split([shape.numel() for shape in self.shapes.values()])
        return {name: part.view(shape) for part, (name, shape) in zip(parts, self.shapes.items(), strict=True)}
