"""GraphFNP beside a forest on fingerprints: two views of a graph, each with half of every draw."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from graphfnp.graphs.packed import PackedGraphs, Schema
from graphfnp.methods.baselines.forest import Forest, ForestConfig
from graphfnp.methods.graphfnp.config import GraphFNPConfig
from graphfnp.methods.graphfnp.graph_encoder import GraphEncoding
from graphfnp.methods.graphfnp.method import GraphFNP

PREFIX = "forest."


@dataclass(frozen=True)
class WithForestConfig(GraphFNPConfig):
    """GraphFNP's settings, and the trees of the forest."""

    trees: int = 512


class WithForest(GraphFNP):
    """p_s(y | G) = (p_s of GraphFNP + p_s of the forest) / 2.

    Links, rationales and distance are GraphFNP's: they speak of its half. The forest is grown when training ends.
    """

    config: WithForestConfig

    def __init__(
        self, schema: Schema, config: WithForestConfig | None = None, backbone: nn.Module | None = None
    ) -> None:
        super().__init__(schema, config := config or WithForestConfig(), backbone)
        self.forest = Forest(schema, ForestConfig(trees=config.trees))

    @property
    def falls_back(self) -> bool:
        return False  # the forest answers

    def draw_logits(self, encoded: GraphEncoding, num_draws: int, seed: int = 0) -> Tensor:
        own = super().draw_logits(encoded, num_draws, seed).log_softmax(-1)
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
