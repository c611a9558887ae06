"""DropEdge: Vanilla trained on graphs that miss some of their edges (Rong et al.)."""

from dataclasses import dataclass, replace

import torch
from torch import nn

from graphfnp.errors import InvalidConfig
from graphfnp.graphs.edges import edge_pairs
from graphfnp.graphs.packed import Batch, Schema
from graphfnp.methods.baselines.vanilla import Vanilla, VanillaConfig
from graphfnp.methods.contract import Encoding


@dataclass(frozen=True)
class DropEdgeConfig(VanillaConfig):
    """Vanilla's settings, and how many edges are missing."""

    edge_dropout: float = 0.2

    def __post_init__(self) -> None:
        if not 0 <= self.edge_dropout < 1:
            raise InvalidConfig(f"edge_dropout={self.edge_dropout}", "a number in [0, 1)", "change edge_dropout")


class DropEdge(Vanilla):
    """In training, logits of (V, E') with each edge of E in E' with probability 1 - p; otherwise of (V, E)."""

    config: DropEdgeConfig

    def __init__(self, schema: Schema, config: DropEdgeConfig | None = None, backbone: nn.Module | None = None) -> None:
        super().__init__(schema, config or DropEdgeConfig(), backbone)

    def encode(self, batch: Batch) -> Encoding:
        return super().encode(without_some_edges(batch, self.config.edge_dropout) if self.training else batch)


def without_some_edges(batch: Batch, edge_dropout: float) -> Batch:
    """Without the edges a coin has chosen: one coin for both directions, so that edges still go both ways."""
    pair, count = edge_pairs(batch.edge_index, batch.num_nodes)
    kept = (torch.rand(count, device=pair.device) >= edge_dropout)[pair]
    attr = None if batch.edge_attr is None else batch.edge_attr[kept]
    return replace(batch, edge_index=batch.edge_index[:, kept], edge_attr=attr)
