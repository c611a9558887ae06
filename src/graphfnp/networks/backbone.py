"""Backbones: graphs in, node states out. Six architectures by name, or any module of the user's."""

import inspect
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from graphfnp.errors import InvalidConfig
from graphfnp.graphs.packed import Batch, Schema
from graphfnp.networks.convolutions import LAYERS, Edges, GCNLayer
from graphfnp.networks.descriptors import beside_nodes, descriptor_input
from graphfnp.networks.features import CategoryEmbedding, NodeInput
from graphfnp.networks.mlp import normalised

BackboneName = Literal["gcn", "gat", "gin", "sage", "ggnn", "pna"]


@dataclass(frozen=True)
class BackboneConfig:
    """The paper's backbone: three layers, 256 wide."""

    name: BackboneName = "gcn"
    layers: int = 3
    width: int = 256
    dropout: float = 0.0
    batch_norm: bool = True

    def __post_init__(self) -> None:
        if self.name not in LAYERS:
            raise InvalidConfig(
                f"backbone {self.name!r}", f"one of {', '.join(LAYERS)}", "choose one of these, or pass a module"
            )
        if self.layers < 1 or self.width < 4 or self.width % 4 or not 0 <= self.dropout < 1:
            raise InvalidConfig(
                f"layers={self.layers}, width={self.width}, dropout={self.dropout}",
                "layers >= 1, width a multiple of 4, dropout in [0, 1)",
                "change the backbone's settings",
            )


class Backbone(nn.Module):
    """h = drop(relu(norm(layer(h)))) for every layer but the last, which ends with its normalisation."""

    def __init__(self, schema: Schema, config: BackboneConfig) -> None:
        super().__init__()
        layer = LAYERS[config.name]
        self.edge_sizes = schema.edge_sizes
        self.out_width = config.width
        self.input = NodeInput(schema, config.width)
        self.layers = nn.ModuleList(layer(config.width, schema.edge_sizes) for _ in range(config.layers))
        self.norms = nn.ModuleList(
            nn.BatchNorm1d(config.width) if config.batch_norm else nn.Identity() for _ in range(config.layers)
        )
        self.dropout = nn.Dropout(config.dropout)
        self.descriptors = descriptor_input(schema, config.width)

    def forward(self, batch: Batch, edge_weight: Tensor | None = None) -> Tensor:
        """[nodes, out_width]; ``edge_weight`` [edges] scales messages, for methods that attend to or drop edges."""
        edges = self.layers[0].edges(batch, self.edge_sizes, edge_weight)  # type: ignore[operator]
        h = normalised(self.norms[0], self._first(batch.x, edges))
        for layer, norm in zip(self.layers[1:], self.norms[1:], strict=True):
            h = normalised(norm, layer(self.dropout(torch.relu(h)), edges))
        return beside_nodes(h, batch, self.descriptors)

    def _first(self, x: Tensor, edges: Edges) -> Tensor:
        """The first layer; while a GCN learns, its weights act on the few distinct rows of x instead of on all."""
        layer, embedding = self.layers[0], self.input.embedding
        spreads = self.training and not x.is_floating_point()  # who looks into a model at rest finds every part at work
        if spreads and isinstance(layer, GCNLayer) and isinstance(embedding, CategoryEmbedding):
            return layer.spread(embedding.through(x, layer.linear.weight, layer.linear.bias), edges)
        return layer(self.input(x), edges)


class ModuleBackbone(nn.Module):
    """Any module that maps (x, edge_index, ...) to node states; it gets edge_attr, batch, edge_weight if it names them.

    ``out_channels`` of the module is the width of its node states. With ``in_channels`` it is fed learned vectors of
    that width instead of raw features, so that a network for numbers also reads categories; with ``in_channels = None``
    it gets the numbers of the categories, to embed them itself.
    """

    def __init__(self, module: nn.Module, schema: Schema) -> None:
        super().__init__()
        name, in_width, width = (
            type(module).__name__,
            getattr(module, "in_channels", 0),
            getattr(module, "out_channels", 0),
        )
        if not isinstance(width, int) or width < 1:
            raise InvalidConfig(
                f"a backbone {name} without out_channels", "the width of its node states",
                "set it before: module.out_channels = ...",
            )  # fmt: skip
        if in_width is not None and in_width < 0:  # PyG's way to say: found out later
            raise InvalidConfig(
                f"a backbone {name} with in_channels={in_width}", "a width that is known before the weights",
                "give a number, e.g. 64: features are brought to that width",
            )  # fmt: skip
        if in_width == 0 and not schema.is_continuous:
            raise InvalidConfig(
                f"a backbone {name} without in_channels, and node features that are numbers of categories",
                "the width of the vectors that it reads, in which categories are then embedded",
                "set it before: module.in_channels = ... (None: the module embeds the numbers itself)",
            )
        self.module, self.out_width = module, width
        self.input = NodeInput(schema, in_width) if in_width else nn.Identity()
        taken = inspect.signature(module.forward).parameters
        if not schema.edge_sizes and "edge_attr" in taken and taken["edge_attr"].default is inspect.Parameter.empty:
            raise InvalidConfig(
                f"a backbone {name} that must have edge_attr, and graphs without types of edges",
                "a forward that does without them",
                "give it a default: edge_attr=None",
            )
        self.accepts = set(taken) - _unheard(module)
        self.descriptors = descriptor_input(schema, width)

    def forward(self, batch: Batch, edge_weight: Tensor | None = None) -> Tensor:
        offered = {"edge_attr": batch.edge_attr, "batch": batch.batch, "edge_weight": edge_weight}
        if edge_weight is not None and "edge_weight" not in self.accepts:
            raise InvalidConfig(
                f"module {type(self.module).__name__} with weighted edges",
                "a forward with edge_weight",
                "add that argument, or take a network that heeds it, as PyG's GCN does",
            )
        extra = {name: value for name, value in offered.items() if name in self.accepts and value is not None}
        states = self.module(self.input(batch.x), batch.edge_index, **extra)
        if not isinstance(states, Tensor) or states.shape != (batch.num_nodes, self.out_width):
            found = list(states.shape) if isinstance(states, Tensor) else f"a {type(states).__name__}"
            raise InvalidConfig(
                f"module {type(self.module).__name__} that returns {found} for {batch.num_nodes} nodes",
                f"node states [{batch.num_nodes}, {self.out_width}], as its out_channels says",
                "return these alone; of several heads side by side, out_channels is the width together",
            )
        return beside_nodes(states, batch, self.descriptors)


def _unheard(module: nn.Module) -> set[str]:
    """Arguments that a network of PyG takes and leaves out, or cannot use as it was made."""
    has_edge_layer = any(getattr(part, "edge_dim", None) is not None for part in module.modules())
    is_of_pyg = hasattr(module, "supports_edge_attr") or hasattr(module, "edge_dim")
    heard = {
        "edge_weight": getattr(module, "supports_edge_weight", True),
        "edge_attr": has_edge_layer or not is_of_pyg,
    }
    return {name for name, is_heard in heard.items() if not is_heard}


def make_backbone(schema: Schema, config: BackboneConfig, module: nn.Module | None = None) -> Backbone | ModuleBackbone:
    return Backbone(schema, config) if module is None else ModuleBackbone(module, schema)
