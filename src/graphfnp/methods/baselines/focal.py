"""Focal loss: Vanilla that learns less from graphs it already gets right (Lin et al.; Mukhoti et al.)."""

from dataclasses import dataclass

from torch import Tensor, nn

from graphfnp.errors import InvalidConfig
from graphfnp.graphs.packed import Schema
from graphfnp.methods.baselines.vanilla import Vanilla, VanillaConfig
from graphfnp.methods.contract import Encoding, LossTerms


@dataclass(frozen=True)
class FocalConfig(VanillaConfig):
    """Vanilla's settings, and how strongly easy graphs are passed over."""

    gamma: float = 2.0

    def __post_init__(self) -> None:
        if self.gamma < 0:
            raise InvalidConfig(f"gamma={self.gamma}", "a number >= 0", "change gamma; 0 is cross-entropy")


class Focal(Vanilla):
    """loss = -mean_i w_{y_i} (1 - p_i)^gamma log p_i, with p_i the probability of the graph's own class."""

    config: FocalConfig

    def __init__(self, schema: Schema, config: FocalConfig | None = None, backbone: nn.Module | None = None) -> None:
        super().__init__(schema, config or FocalConfig(), backbone)

    def loss(self, encoded: Encoding) -> LossTerms:
        batch, logits = encoded.batch, self.head(encoded.state.relu())
        weight = self.loss_weight(batch.y, batch.weight)
        return {"data": (weight * focal_loss(logits, batch.y, self.config.gamma)).mean()}


def focal_loss(logits: Tensor, y: Tensor, gamma: float) -> Tensor:
    """[graphs]: (1 - p)^gamma (-log p) for logits [graphs, classes]."""
    surprise = nn.functional.cross_entropy(logits, y, reduction="none")
    # 1 - p = -expm1(log p); a power below 1 has no finite slope at 0.
    return (-(-surprise).expm1()).clamp(min=1e-6).pow(gamma) * surprise
