"""DeepEnsemble: several networks from different first weights (Lakshminarayanan et al.)."""

import copy
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from graphfnp.errors import InvalidConfig
from graphfnp.graphs.packed import Batch, Schema
from graphfnp.methods.baselines.vanilla import VanillaConfig
from graphfnp.methods.contract import Encoding, GraphClassifier, LossTerms
from graphfnp.networks.graph_network import GraphNetwork


@dataclass(frozen=True)
class DeepEnsembleConfig(VanillaConfig):
    """The settings of every member, and how many there are."""

    members: int = 5

    def __post_init__(self) -> None:
        if self.members < 1:
            raise InvalidConfig(f"members={self.members}", "one member or more", "change members")


class DeepEnsemble(GraphClassifier[Encoding]):
    """p(y | G) = mean_m softmax(f_m(G)); draw s is member s modulo the number of members.

    Where that number does not divide the draws the first members count once more: of 32 draws the first two of five
    members have seven, the others six.

    Members share nothing, so under Adam, which scales each weight by itself, to descend the sum of their losses is to
    train each alone. They do see the same batches.
    """

    def __init__(
        self, schema: Schema, config: DeepEnsembleConfig | None = None, backbone: nn.Module | None = None
    ) -> None:
        super().__init__(schema)
        self.config = config = config or DeepEnsembleConfig()
        self.members = nn.ModuleList(
            GraphNetwork(schema, config.backbone, config.head_layers, config.head_width, fresh(backbone))
            for _ in range(config.members)
        )

    def encode(self, batch: Batch) -> Encoding:
        """The state is [members, graphs, dims]."""
        return Encoding(batch, torch.stack([member.embed(batch) for member in self._members]))

    def embed(self, encoded: Encoding) -> Tensor:
        """Side by side: the directions of one member mean nothing to another."""
        return torch.cat(list(encoded.state), dim=-1)

    def draw_logits(self, encoded: Encoding, num_draws: int, seed: int = 0) -> Tensor:
        logits = torch.stack(self._logits(encoded))
        return logits[torch.arange(num_draws) % len(logits)]

    def loss(self, encoded: Encoding) -> LossTerms:
        return {
            f"member {number}": self.cross_entropy(each, encoded.batch.y, encoded.batch.weight)
            for number, each in enumerate(self._logits(encoded))
        }

    def _logits(self, encoded: Encoding) -> list[Tensor]:
        return [member.head(torch.relu(state)) for member, state in zip(self._members, encoded.state, strict=True)]

    @property
    def _members(self) -> list[GraphNetwork]:
        return list(self.members)  # type: ignore[arg-type]


def fresh(backbone: nn.Module | None) -> nn.Module | None:
    """A copy of a user's module with first weights of its own, as far as its parts can draw them."""
    backbone = copy.deepcopy(backbone)
    for part in [] if backbone is None else backbone.modules():
        if callable(reset := getattr(part, "reset_parameters", None)):
            reset()
    return backbone
