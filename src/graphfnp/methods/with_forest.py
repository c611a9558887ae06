"""A network beside a forest on fingerprints: two views of a graph, each with half of every draw."""

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from graphfnp.graphs.packed import PackedGraphs, Schema
from graphfnp.methods.baselines.forest import Forest, ForestConfig
from graphfnp.methods.baselines.vanilla import Vanilla, VanillaConfig
from graphfnp.methods.contract import Encoding, GraphClassifier
from graphfnp.methods.graphfnp.config import GraphFNPConfig
from graphfnp.methods.graphfnp.method import GraphFNP

PREFIX = "forest."


@dataclass(frozen=True)
class GraphFNPForestConfig(GraphFNPConfig):
    """GraphFNP's settings, and the trees of the forest."""

    trees: int = 512


@dataclass(frozen=True)
class VanillaForestConfig(VanillaConfig):
    """Vanilla's settings, and the trees of the forest."""

    trees: int = 512


class WithForest(GraphClassifier[Any]):
    """p_s(y | G) = (p_s of the network + p_s of the forest) / 2, the network being the next base class.

    The forest is grown when training ends, so the network learns as it does by itself.
    """

    def __init__(self, schema: Schema, config: Any, backbone: nn.Module | None = None) -> None:
        super().__init__(schema, config, backbone)  # type: ignore[call-arg]  # the network's
        self.forest = Forest(schema, ForestConfig(trees=config.trees))

    def draw_logits(self, encoded: Encoding, num_draws: int, seed: int = 0) -> Tensor:
        own = super().draw_logits(encoded, num_draws, seed).log_softmax(-1)  # type: ignore[safe-super]
        if not len(self.forest.root):
            return own
        with torch.no_grad():
            other = self.forest.draw_logits(self.forest.encode(encoded.batch), num_draws, seed).log_softmax(-1)
        return torch.logaddexp(own, other.to(own)) - math.log(2)

    def after_training(self, graphs: PackedGraphs) -> None:
        super().after_training(graphs)
        self.forest.class_weight.copy_(self.class_weight)
        self.forest.after_training(graphs)

    def make_room(self, tensors: dict[str, Tensor]) -> None:
        super().make_room(tensors)
        self.forest.make_room(
            {name.removeprefix(PREFIX): tensor for name, tensor in tensors.items() if name.startswith(PREFIX)}
        )


class GraphFNPForest(WithForest, GraphFNP):
    """Links, rationales and distance are GraphFNP's: they speak of its half."""

    def __init__(
        self, schema: Schema, config: GraphFNPForestConfig | None = None, backbone: nn.Module | None = None
    ) -> None:
        super().__init__(schema, config or GraphFNPForestConfig(), backbone)

    @property
    def falls_back(self) -> bool:
        return False  # the forest answers


class VanillaForest(WithForest, Vanilla):
    """The control: a plain network in GraphFNP's place."""

    def __init__(
        self, schema: Schema, config: VanillaForestConfig | None = None, backbone: nn.Module | None = None
    ) -> None:
        super().__init__(schema, config or VanillaForestConfig(), backbone)
