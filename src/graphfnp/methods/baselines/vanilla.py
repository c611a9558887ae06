"""Vanilla: a backbone, mean pooling and a head; the softmax is all the uncertainty there is."""

from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from graphfnp.graphs.packed import Batch, Schema
from graphfnp.methods.contract import Encoding, GraphClassifier, LossTerms
from graphfnp.networks.backbone import BackboneConfig, make_backbone
from graphfnp.networks.graph_network import GraphNetwork
from graphfnp.networks.mean_state import mean_state
from graphfnp.networks.mlp import mlp


@dataclass(frozen=True)
class VanillaConfig:
    """A three-layer head, as in the paper."""

    backbone: BackboneConfig = field(default_factory=BackboneConfig)
    head_layers: int = 3
    head_width: int = 256


class Vanilla(GraphClassifier[Encoding]):
    """logits = MLP(relu(mean_v GNN(G)_v)); every draw is the same."""

    def __init__(self, schema: Schema, config: VanillaConfig | None = None, backbone: nn.Module | None = None) -> None:
        super().__init__(schema)
        self.config = config = config or VanillaConfig()
        self.backbone = make_backbone(schema, config.backbone, backbone)
        hidden = [config.head_width] * (config.head_layers - 1)
        self.head = mlp(self.backbone.out_width, *hidden, schema.num_classes)

    def encode(self, batch: Batch) -> Encoding:
        return Encoding(batch, mean_state(self.backbone, batch))

    def draw_logits(self, encoded: Encoding, num_draws: int, seed: int = 0) -> Tensor:
        return self.head(torch.relu(encoded.state)).expand(num_draws, -1, -1)

    def loss(self, encoded: Encoding) -> LossTerms:
        return {"data": self.cross_entropy(self.head(torch.relu(encoded.state)), encoded.batch.y, encoded.batch.weight)}

    def mean_pooled_network(self) -> tuple[nn.Module, nn.Module] | None:
        own = type(self).encode, type(self).draw_logits, type(self).forward
        return (self.backbone, self.head) if own == (Vanilla.encode, Vanilla.draw_logits, Vanilla.forward) else None


class WholeNetwork(Vanilla):
    """Vanilla as one module, ``network``, for methods that draw its weights."""

    def __init__(self, schema: Schema, config: VanillaConfig, backbone: nn.Module | None = None) -> None:
        GraphClassifier.__init__(self, schema)
        self.config = config
        self.network = GraphNetwork(schema, config.backbone, config.head_layers, config.head_width, backbone)

    @property
    def backbone(self) -> nn.Module:  # type: ignore[override]
        return self.network.backbone

    @property
    def head(self) -> nn.Sequential:  # type: ignore[override]
        return self.network.head
