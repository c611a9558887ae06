"""The E-step and the M-step (Eq. 10 and 11): named loss terms of a GraphFNP on a batch."""

from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from graphfnp.classifier import LossTerms
from graphfnp.graphs import Batch
from graphfnp.model.generation import generation_loss, some_graphs_and_parts
from graphfnp.model.graph_encoder import Encoded
from graphfnp.model.objectives import angle_loss, link_loss, own_class, separation_loss
from graphfnp.model.subgraphs import random_parts
from graphfnp.networks.gaussian import Gaussian, kl_divergence

if TYPE_CHECKING:
    from graphfnp.model.graphfnp import GraphFNP


def e_step(model: "GraphFNP", batch: Batch, encoded: Encoded) -> LossTerms:
    """-log p(y^D | z^D, u^D) - log p(y^R | z^R, u^R) + link + separation + angle; :func:`decoder_step` generates."""
    if not model.uses_rationales:
        return {}
    config = model.config
    z, rationales = encoded.graph_embedding.sample(), model.rationale_prior().sample()
    log_kappa = model.correlation.log_probability(z, rationales)
    logits = model.logits(z, model.draw_local(z, rationales))
    terms = {
        "data": config.data_weight * model.cross_entropy(logits, batch.y),
        "rationales": config.rationale_weight * rationales_cross_entropy(model, rationales),
    }
    own, weight = own_class(batch.y, model.rationale_prior.label), model.class_weight[batch.y]
    if config.link_weight:
        terms["link"] = config.link_weight * link_loss(log_kappa, own, weight)
    if config.separation_weight:
        terms["separation"] = config.separation_weight * separation_loss(log_kappa, own, weight)
    if config.angle_weight:
        terms["angle"] = config.angle_weight * angle_loss(z, rationales, own, weight)
    model.correlation.follow(log_kappa.detach(), own, weight, batch.sizes)
    return terms


def m_step(model: "GraphFNP", batch: Batch, encoded: Encoded, prior: Gaussian) -> LossTerms:
    """-log p(y^D | z^D, u^D) + KL(q(u | G) || p(u | C, z^R)) - log p(y^R | z^R, u^R), u from q if there is one."""
    config = model.config
    z, rationales = encoded.graph_embedding.sample(), prior.sample()
    terms: LossTerms = {}
    if encoded.parts_embedding is not None:
        terms["parts"] = parts_loss(model, encoded.parts_embedding, rationales, batch.y)
    if model.posterior is None or not model.uses_rationales:
        local = model.draw_local(z, rationales)
    else:
        posterior = model.posterior(encoded.graph_state)
        log_kappa = model.correlation.log_probability(z, rationales)
        expected = model.summarise(log_kappa, rationales, torch.rand_like(log_kappa))
        weight = model.class_weight[batch.y]
        terms["kl"] = config.kl_weight * (weight * kl_divergence(posterior, expected)).mean()
        local = posterior.sample()
    terms["data"] = model.cross_entropy(model.logits(z, local), batch.y)
    if model.uses_rationales:
        terms["rationales"] = config.rationale_weight * rationales_cross_entropy(model, rationales)
    return terms


def decoder_step(model: "GraphFNP", batch: Batch, encoded: Encoded) -> LossTerms:
    """-E log p(G | z^D) per node, over a few graphs and over parts of graphs that tell the class."""
    config = model.config
    parts, evidence = None, None
    if config.decoder_parts:
        parts = encoded.parts or random_parts(batch, model.schema.features)
        if config.subgraph_weight:
            embedding = encoded.parts_embedding or model.encoder(parts).graph_embedding
            evidence = parts_evidence(model, embedding, batch.y)
    z = encoded.detach().graph_embedding.sample()
    graphs, z = some_graphs_and_parts(batch, parts, evidence, z, config.decoder_graphs, config.decoder_parts)
    return {"generation": config.generation_weight * generation_loss(model.decoder, graphs, z)}


def rationales_cross_entropy(model: "GraphFNP", rationales: Tensor) -> Tensor:
    """-log p(y^R | z^R, u^R)."""
    local = model.local_rationale.self_summary(rationales).sample()
    return cross_entropy(model.logits(rationales, local), model.rationale_prior.label)


def parts_loss(model: "GraphFNP", parts: Gaussian, rationales: Tensor, y: Tensor) -> Tensor:
    """Random connected parts with the label of the whole: a part that lacks the reason should be uncertain."""
    z = parts.sample()
    logits = model.logits(z, model.draw_local(z, rationales))
    return model.config.subgraph_weight * model.cross_entropy(logits, y)


@torch.no_grad()
def parts_evidence(model: "GraphFNP", parts: Gaussian, y: Tensor) -> Tensor:
    """How far above chance each part speaks for its label, in [0, 1]."""
    logits = model.logits(parts.mean, model.draw_local(parts.mean, model.rationale_prior().mean))
    chance = 1 / model.schema.num_classes
    return ((logits.softmax(-1).gather(1, y[:, None])[:, 0] - chance) / (1 - chance)).clamp(min=0)
