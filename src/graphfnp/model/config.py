"""Every setting of GraphFNP in one place, with the literal method of the paper as a preset."""

from dataclasses import dataclass, field, replace
from typing import Literal

from graphfnp.errors import InvalidConfig
from graphfnp.model.graph_decoder import GraphDecoderConfig
from graphfnp.networks.backbone import BackboneConfig
from graphfnp.networks.draws import DrawKind


@dataclass(frozen=True)
class GraphFNPConfig:
    """Defaults are what works best by validation; :func:`paper` is the literal method. See docs/paper-notes.md."""

    backbone: BackboneConfig = field(default_factory=BackboneConfig)
    rationales_per_class: int = 5  # R_k

    # The four ablations of the paper.
    graph_embedding: Literal["used", "withheld"] = "used"  # w/o z^D
    correlation: Literal["binary", "kernel"] = "binary"  # w/o C
    rationales: Literal["learned", "none"] = "learned"  # w/o z^R
    optimization: Literal["alternating", "joint"] = "alternating"  # w/o EM

    # Where z lives. "projected": Gaussian heads on the pooled state (paper). "direct": the normalised pooled state
    # itself plus a little noise, which keeps the encoder's distances.
    latent: Literal["projected", "direct"] = "direct"
    embedding_dim: int = 256  # of z, when projected
    initial_log_std: float = -2.0
    anchor_std: float = 0.3
    rationale_start: Literal["random", "kmeans"] = "kmeans"  # kmeans: class-wise centroids of z ...
    start_after: float = 0.12  # ... after this part of the epochs ...
    start_within: int = 4000  # ... or so many graphs seen, if that comes first: large sets learn in few epochs

    # kappa = exp(-|z^D - z^R|^2 / (2 d l)); "running": l is the mean squared distance to the nearest own rationale / d.
    bandwidth: Literal["learned", "running"] = "running"
    initial_bandwidth: float | None = None  # l; None: 1
    relaxation_temperature: float = 0.3

    local_dim: int = 16  # of u
    posterior: Literal["amortised", "prior"] = "prior"  # in training u ~ q(u|G) (paper) or u ~ p(u|C, z^R)
    label_head: Literal["concatenate", "additive"] = "additive"
    head_layers: int = 2  # one cannot answer for graphs and for their parts: parts lie at the rim of the same space
    head_width: int = 64

    # Weights of the loss terms.
    kl_weight: float = 0.01
    data_weight: float = 0.2  # classification of the data in the E-step
    rationale_weight: float = 0.2  # classification of the rationales, both steps
    link_weight: float = 1.0  # every graph near a rationale of its class and the other way round
    separation_weight: float = 1.0  # and nearer than to the others
    angle_weight: float = 1.0  # in angle too, which is what Rationale F1 goes by
    generation_weight: float = 1.0
    rationale_rate_scale: float = 5.0  # learning-rate factor of the E-step

    # Rationales are small, so the classifier and the decoder also see random connected parts of the graphs.
    subgraph_weight: float = 0.3  # classification of parts with the label of the whole
    decoder: GraphDecoderConfig = field(default_factory=GraphDecoderConfig)
    decoder_graphs: int = 16  # graphs of a batch that the decoder learns from in a step
    decoder_parts: float = 0.5  # share of those that are replaced by a part that tells the class

    draws: DrawKind = "quasi"

    def __post_init__(self) -> None:
        counted = ("rationales_per_class", "local_dim", "embedding_dim", "head_layers", "head_width")
        if any(getattr(self, name) < 1 for name in counted):
            raise InvalidConfig(
                ", ".join(f"{name}={getattr(self, name)}" for name in counted),
                "at least 1 each",
                "change these settings",
            )


def paper(backbone: BackboneConfig | None = None) -> GraphFNPConfig:
    """The method as printed, with the released code's settings where the paper is silent (docs/paper-notes.md)."""
    config = GraphFNPConfig()
    return replace(
        config,
        backbone=backbone or replace(config.backbone, batch_norm=False),
        latent="projected",
        initial_log_std=0.0,
        anchor_std=1.0,
        rationale_start="random",
        start_after=0.0,
        bandwidth="learned",
        initial_bandwidth=0.5 / config.embedding_dim**0.5,  # exp(-|z - z'|^2 / sqrt(d))
        local_dim=256,
        posterior="amortised",
        label_head="concatenate",
        head_layers=3,
        head_width=256,
        data_weight=1.0,
        rationale_weight=1.0,
        link_weight=0.0,
        separation_weight=0.0,
        angle_weight=0.0,
        rationale_rate_scale=1.0,
        subgraph_weight=0.0,
        decoder=replace(config.decoder, form="prefix", size_condition=False),
        decoder_parts=0.0,
        draws="plain",
    )
