"""The literal method: every factor as printed, with the released code's choices where the paper is silent."""

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from graphfnp.graphs.packed import Schema
from graphfnp.methods.contract import LossTerms, Phase
from graphfnp.methods.graphfnp.config import PaperConfig
from graphfnp.methods.graphfnp.correlation import StochasticCorrelation
from graphfnp.methods.graphfnp.decoder.graph_decoder import GraphDecoder
from graphfnp.methods.graphfnp.graph_encoder import GraphEncoding, ProjectedEncoder
from graphfnp.methods.graphfnp.label_head import ConcatenatedHead
from graphfnp.methods.graphfnp.local_rationale import LocalRationale, LocalRationalePosterior
from graphfnp.methods.graphfnp.neural_process import NeuralProcess
from graphfnp.methods.graphfnp.rationale_prior import ProjectedRationalePrior
from graphfnp.networks.backbone import make_backbone
from graphfnp.networks.distributions import Gaussian, kl_divergence, normal_draws, uniform_draws

FINE_TUNING_SCALE = 0.01  # of the finishing rate 1e-3: the paper's 1e-5


class PaperGraphFNP(NeuralProcess):
    """Eq. 2 with kappa = exp(-|z - z'|^2 / (2 d l)), l = 1 / sqrt(d) at first, and MLP([z, u]) as the head.

    In the M-step u ~ q(u | G).
    """

    draws = "plain"

    def __init__(self, schema: Schema, config: PaperConfig | None = None, backbone: nn.Module | None = None) -> None:
        super().__init__(schema, config := config or PaperConfig())
        width = config.width
        self.encoder = ProjectedEncoder(make_backbone(schema, config.backbone, backbone), width)
        self.rationale_prior = ProjectedRationalePrior(schema.num_classes, config.rationales_per_class, width)
        self.correlation = StochasticCorrelation(bandwidth=width**-0.5)
        self.local_rationale = LocalRationale(width, width)
        self.posterior = LocalRationalePosterior(self.encoder.backbone.out_width, width)
        self.label_head = ConcatenatedHead(
            0 if config.ablation == "z_D" else width, width if self.has_rationales else 0, schema.num_classes, width
        )
        self.decoder = GraphDecoder(schema, width, config.decoder)

    def kernel_embedding(self, encoded: GraphEncoding) -> Gaussian:
        return encoded.graph_embedding

    def draw_logits(self, encoded: GraphEncoding, num_draws: int, seed: int = 0) -> Tensor:
        """The encoder runs once; noise has a leading dimension of draws and is shared by all graphs."""
        if not self.has_rationales:
            return self.label_head(self.embedding_draws(encoded, num_draws, seed), None)
        rationales, log_kappa = self.linked_draws(encoded, num_draws, seed)
        uniform = uniform_draws(num_draws, len(self.rationale_prior.label), seed, "correlation", self.draws)
        noise = normal_draws(num_draws, self.config.width, seed, "local", self.draws)
        uniform, noise = uniform.to(log_kappa).unsqueeze(1), noise.to(log_kappa).unsqueeze(1)
        local = self.summarise(log_kappa, rationales, uniform).at(noise)
        return self.label_head(self.embedding_draws(encoded, num_draws, seed), local)

    def summarise(self, log_kappa: Tensor, rationales: Tensor, uniform: Tensor) -> Gaussian:
        """p(u | C, z^R), with C drawn at ``uniform``."""
        return self.local_rationale.summarise(
            self.links(log_kappa, uniform), self.local_rationale.statistics(rationales)
        )

    # ---------------------------------------------------------------- training

    def phases(self) -> list[Phase]:
        return self.steps(("rationale_prior.",))

    def finishing_phases(self) -> list[Phase]:
        return [self.decoder_phase(FINE_TUNING_SCALE)] if self.config.generation_weight else []

    def rationales_loss(self, encoded: GraphEncoding, held_fixed: bool = True) -> LossTerms:
        """E-step (Eq. 9): -log p(y^D | z^D, u^D) - log p(y^R | z^R, u^R), u^D ~ p(u | C, z^R), encoder held fixed."""
        if not self.has_rationales:
            return {}
        encoded = encoded.detach() if held_fixed else encoded
        z, rationales = encoded.graph_embedding.sample(), self.rationale_prior().sample()
        log_kappa = self.correlation.log_probability(z, rationales)
        local = self.summarise(log_kappa, rationales, torch.rand_like(log_kappa)).sample()
        return {
            "data": self.cross_entropy(self.label_head(z, local), encoded.batch.y, encoded.batch.weight),
            "rationales": self.rationales_cross_entropy(rationales),
        }

    def classifier_loss(self, encoded: GraphEncoding, held_fixed: bool = True) -> LossTerms:
        """M-step (Eq. 10): -log p(y^D | z^D, u^D) + KL(q(u | G) || p(u | C, z^R)) - log p(y^R | z^R, u^R), u^D ~ q."""
        z, prior = encoded.graph_embedding.sample(), self.rationale_prior()
        if not self.has_rationales:
            return {"data": self.cross_entropy(self.label_head(z, None), encoded.batch.y, encoded.batch.weight)}
        rationales = (prior.detach() if held_fixed else prior).sample()
        log_kappa = self.correlation.log_probability(z, rationales)
        posterior = self.posterior(encoded.state)
        expected = self.summarise(log_kappa, rationales, torch.rand_like(log_kappa))
        logits = self.label_head(z, posterior.sample())
        return {
            "data": self.cross_entropy(logits, encoded.batch.y, encoded.batch.weight),
            "kl": self.config.kl_weight * kl_divergence(posterior, expected).mean(),
            "rationales": self.rationales_cross_entropy(rationales),
        }

    def rationales_cross_entropy(self, rationales: Tensor) -> Tensor:
        """-log p(y^R | z^R, u^R)."""
        logits = self.label_head(rationales, self.local_rationale.self_summary(rationales).sample())
        return cross_entropy(logits, self.rationale_prior.label)
