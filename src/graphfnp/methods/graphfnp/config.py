"""Settings of the two methods: what a user may turn. What is fixed stands beside the code that uses it."""

from dataclasses import dataclass, field
from typing import Literal

from graphfnp.errors import InvalidConfig
from graphfnp.methods.graphfnp.decoder.graph_decoder import GraphDecoderConfig
from graphfnp.networks.backbone import BackboneConfig

Ablation = Literal["none", "z_D", "C", "z_R", "EM"]


@dataclass(frozen=True)
class GraphFNPConfig:
    """GraphFNP as it is by default; :class:`PaperConfig` is the literal method. See docs/paper-notes.md."""

    backbone: BackboneConfig = field(default_factory=BackboneConfig)
    rationales_per_class: int = 5  # R_k
    ablation: Ablation = "none"  # leave this out, as the paper's table of ablations does
    generation_weight: float = 1.0  # 0: the decoder is left untrained, which no prediction notices
    decoder: GraphDecoderConfig = field(default_factory=GraphDecoderConfig)

    def __post_init__(self) -> None:
        _at_least_one(rationales_per_class=self.rationales_per_class)


@dataclass(frozen=True)
class PaperConfig:
    """The method as printed, with the released code's settings where the paper is silent (docs/paper-notes.md)."""

    backbone: BackboneConfig = field(default_factory=lambda: BackboneConfig(batch_norm=False))
    rationales_per_class: int = 5  # R_k
    ablation: Ablation = "none"
    width: int = 256  # of z, u and the head
    kl_weight: float = 0.01
    generation_weight: float = 1.0  # 0: the decoder is left untrained, which no prediction notices
    decoder: GraphDecoderConfig = field(
        default_factory=lambda: GraphDecoderConfig(width=256, form="prefix", size_condition=False)
    )

    def __post_init__(self) -> None:
        _at_least_one(rationales_per_class=self.rationales_per_class, width=self.width)


def _at_least_one(**settings: int) -> None:
    if any(value < 1 for value in settings.values()):
        given = ", ".join(f"{name}={value}" for name, value in settings.items())
        raise InvalidConfig(given, "at least 1 each", "change these settings")
