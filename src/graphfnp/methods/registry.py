"""All classifiers by name, and how to make one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from graphfnp.errors import InvalidConfig
from graphfnp.graphs.packed import Schema
from graphfnp.methods.baselines.bbp import BBP, BBPConfig
from graphfnp.methods.baselines.deep_ensemble import DeepEnsemble, DeepEnsembleConfig
from graphfnp.methods.baselines.dropedge import DropEdge, DropEdgeConfig
from graphfnp.methods.baselines.evidential import Evidential, EvidentialConfig
from graphfnp.methods.baselines.focal import Focal, FocalConfig
from graphfnp.methods.baselines.forest import Forest, ForestConfig
from graphfnp.methods.baselines.graph_gp import GraphGP, GraphGPConfig
from graphfnp.methods.baselines.gsat import GSAT, GSATConfig
from graphfnp.methods.baselines.laplace import Laplace, LaplaceConfig
from graphfnp.methods.baselines.mc_dropout import MCDropout, MCDropoutConfig
from graphfnp.methods.baselines.protgnn import ProtGNN, ProtGNNConfig
from graphfnp.methods.baselines.sgld import SGLD, SGLDConfig
from graphfnp.methods.baselines.swag import SWAG, SWAGConfig
from graphfnp.methods.baselines.vanilla import Vanilla, VanillaConfig
from graphfnp.methods.contract import GraphClassifier
from graphfnp.methods.graphfnp.config import GraphFNPConfig, PaperConfig
from graphfnp.methods.graphfnp.method import GraphFNP
from graphfnp.methods.graphfnp.paper import PaperGraphFNP
from graphfnp.methods.with_forest import GraphFNPForest, GraphFNPForestConfig, VanillaForest, VanillaForestConfig
from graphfnp.plugins import Registry
from graphfnp.randomness import derive_seed
from graphfnp.settings import with_overrides


@dataclass(frozen=True)
class Method:
    """A classifier's class, and its settings before overrides."""

    classifier: Callable[..., GraphClassifier]
    config: Any


CLASSIFIERS = Registry(
    "graphfnp.methods",
    Method,
    {
        "graphfnp": Method(GraphFNP, GraphFNPConfig()),
        "paper": Method(PaperGraphFNP, PaperConfig()),
        "no-rationales": Method(GraphFNP, with_overrides(GraphFNPConfig(), {"ablation": "z_R"})),
        "graphfnp-forest": Method(GraphFNPForest, GraphFNPForestConfig()),
        "vanilla": Method(Vanilla, VanillaConfig()),
        "vanilla-forest": Method(VanillaForest, VanillaForestConfig()),
        "sgld": Method(SGLD, SGLDConfig()),
        "dropedge": Method(DropEdge, DropEdgeConfig()),
        "mc-dropout": Method(MCDropout, MCDropoutConfig()),
        "deep-ensemble": Method(DeepEnsemble, DeepEnsembleConfig()),
        "gsat": Method(GSAT, GSATConfig()),
        "protgnn": Method(ProtGNN, ProtGNNConfig()),
        "focal": Method(Focal, FocalConfig()),
        "evidential": Method(Evidential, EvidentialConfig()),
        "swag": Method(SWAG, SWAGConfig()),
        "laplace": Method(Laplace, LaplaceConfig()),
        "bbp": Method(BBP, BBPConfig()),
        "graph-gp": Method(GraphGP, GraphGPConfig()),
        "forest": Method(Forest, ForestConfig()),
    },
)


def make_config(method: str, overrides: Mapping[str, Any] | None = None) -> Any:
    """The settings of a method, with overrides by dotted name."""
    if method not in CLASSIFIERS:
        raise InvalidConfig(f"method {method!r}", f"one of {', '.join(CLASSIFIERS)}", "choose one of these")
    return with_overrides(CLASSIFIERS[method].config, overrides or {})


def make_classifier(
    method: str,
    schema: Schema,
    overrides: Mapping[str, Any] | None = None,
    seed: int = 0,
    backbone: nn.Module | None = None,
) -> GraphClassifier:
    """A new classifier; its initial weights depend only on the seed."""
    if not isinstance(schema, Schema):
        raise InvalidConfig(f"a {type(schema).__name__} as schema", "the Schema of the graphs", "give graphs.schema")
    config = make_config(method, overrides)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(derive_seed(seed, "weights"))
        return CLASSIFIERS[method].classifier(schema, config, backbone)
