"""NeuralProcess: what GraphFNP and the literal method share, the parts of Eq. 2 and what they know of themselves."""

from abc import abstractmethod
from typing import Any

import torch
from torch import Tensor, nn

from graphfnp.graphs.packed import Batch, Schema
from graphfnp.graphs.structure import Structure
from graphfnp.methods.contract import LossTerms, Phase, RationaleModel
from graphfnp.methods.graphfnp.correlation import StochasticCorrelation, log_no_link
from graphfnp.methods.graphfnp.decoder.generation import generation_loss, some_graphs
from graphfnp.methods.graphfnp.decoder.graph_decoder import GraphDecoder
from graphfnp.methods.graphfnp.decoder.sampling import Rules, sample
from graphfnp.methods.graphfnp.graph_encoder import DirectEncoder, GraphEncoding, ProjectedEncoder
from graphfnp.methods.graphfnp.local_rationale import LocalRationale
from graphfnp.methods.graphfnp.objectives import own_class
from graphfnp.methods.graphfnp.rationale_prior import RationalePrior
from graphfnp.methods.rationales import Rationales
from graphfnp.networks.distributions import DrawKind, Gaussian, normal_draws


class NeuralProcess(RationaleModel[GraphEncoding]):
    """p(y | G) = sum_C int p(z^R) p(z^D | G) p(C | z^D, z^R) p(u | C, z^R) p(y | u, z^D), decoder p(G | z) (Eq. 2)."""

    encoder: DirectEncoder | ProjectedEncoder
    rationale_prior: RationalePrior
    correlation: StochasticCorrelation
    local_rationale: LocalRationale
    label_head: nn.Module
    decoder: GraphDecoder
    draws: DrawKind

    def __init__(self, schema: Schema, config: Any) -> None:
        super().__init__(schema)
        self.config = config
        self.has_rationales = config.ablation != "z_R"

    # ---------------------------------------------------------------- where graphs and rationales meet

    @abstractmethod
    def kernel_embedding(self, encoded: GraphEncoding) -> Gaussian:
        """Of each graph in the space of the rationales, [graphs, dims]."""

    def encode(self, batch: Batch) -> GraphEncoding:
        return self.encoder(batch)

    def embed(self, encoded: GraphEncoding) -> Tensor:
        """The mean in the space of the rationales."""
        return self.kernel_embedding(encoded).mean

    def embedding_draws(self, encoded: GraphEncoding, num_draws: int, seed: int = 0) -> Tensor:
        return self.kernel_embedding(encoded).at(self.graph_noise(num_draws, seed))

    def graph_noise(self, num_draws: int, seed: int) -> Tensor:
        """[draws, 1, dims], the same for all graphs."""
        return normal_draws(num_draws, self.encoder.dims, seed, "graph", self.draws).to(self.class_weight).unsqueeze(1)

    def rationale_draws(self, num_draws: int, seed: int = 0) -> Tensor:
        prior = self.rationale_prior()
        noise = normal_draws(num_draws, prior.mean.numel(), seed, "rationales", self.draws)
        return prior.at(noise.to(prior.mean).view(num_draws, *prior.mean.shape))

    def embeddings_drawn(self, num_draws: int) -> int:
        """How many of the draws have embeddings of their own."""
        return num_draws

    def linked_draws(self, encoded: GraphEncoding, num_draws: int, seed: int = 0) -> tuple[Tensor, Tensor]:
        """Draws of z^R, and log kappa between them and those of the graphs; computed once where nothing learns."""
        if (known := encoded.cache.get((num_draws, seed))) is not None:
            return known
        outer, embedding = self.embeddings_drawn(num_draws), self.kernel_embedding(encoded)
        rationales, noise = self.rationale_draws(outer, seed), self.graph_noise(outer, seed)
        if embedding.log_std.ndim == 0:  # all graphs move alike in a draw: as well the rationales move the other way
            graphs, others = embedding.mean, rationales - embedding.log_std.exp() * noise
        else:
            graphs, others = embedding.at(noise), rationales
        drawn = rationales, self.correlation.log_probability(graphs, others)
        if not torch.is_grad_enabled():
            encoded.cache[num_draws, seed] = drawn
        return drawn

    def links(self, log_kappa: Tensor, uniform: Tensor) -> Tensor:
        """C drawn at ``uniform``, or in the ablation kappa itself."""
        return log_kappa.exp() if self.config.ablation == "C" else self.correlation(log_kappa, uniform)

    # ---------------------------------------------------------------- training

    @abstractmethod
    def rationales_loss(self, encoded: GraphEncoding, held_fixed: bool = True) -> LossTerms:
        """The E-step: of the rationales and what belongs to them."""

    @abstractmethod
    def classifier_loss(self, encoded: GraphEncoding, held_fixed: bool = True) -> LossTerms:
        """The M-step: of all else but the decoder."""

    def loss(self, encoded: GraphEncoding) -> LossTerms:
        """Without EM: both steps' terms at once, nothing held fixed."""
        expectation = self.rationales_loss(encoded, held_fixed=False)
        return {
            **self.classifier_loss(encoded, held_fixed=False),
            **{f"e_{k}": v for k, v in expectation.items()},
        }

    def steps(self, apart: tuple[str, ...], rate_scale: float = 1.0) -> list[Phase]:
        """E-step of the parameters whose names start with ``apart``, decoder, M-step; without EM one step for both."""
        named = [(name, parameter) for name, parameter in self.named_parameters() if not name.startswith("decoder.")]
        rest = [parameter for name, parameter in named if not name.startswith(apart)]
        links = [parameter for name, parameter in named if name.startswith(apart)]
        if not self.has_rationales or self.config.ablation == "EM":
            return [Phase("joint", [*links, *rest], self.loss), self.decoder_phase()]
        return [
            Phase("rationales", links, self.rationales_loss, rate_scale),  # E-step
            self.decoder_phase(),  # E-step: the decoder shares no parameter and no gradient with the rationales
            Phase("classifier", rest, self.classifier_loss),  # M-step
        ]

    def decoder_phase(self, learning_rate_scale: float = 1.0) -> Phase:
        return Phase("decoder", list(self.decoder.parameters()), self.decoder_loss, learning_rate_scale)

    def finishing_phases(self) -> list[Phase]:
        return [self.decoder_phase()] if self.config.generation_weight else []

    def decoder_loss(self, encoded: GraphEncoding) -> LossTerms:
        """-E log p(G | z) per node over a few graphs, all else held fixed; with no weight nothing is learned."""
        if not self.config.generation_weight:
            return {}
        batch = encoded.batch
        with torch.no_grad():
            chosen = some_graphs(batch, self.decoder_weight(encoded))
            z = self.kernel_embedding(encoded).sample()[chosen]
        return {"generation": self.config.generation_weight * generation_loss(self.decoder, batch.select(chosen), z)}

    def decoder_weight(self, encoded: GraphEncoding) -> Tensor | None:
        """[graphs]: how often the decoder learns from each; None: all alike."""
        return None

    # ---------------------------------------------------------------- what it knows of itself

    @property
    def rationale_model(self) -> RationaleModel | None:
        return self if self.has_rationales else None

    def correlation_probability(self, encoded: GraphEncoding) -> Tensor:
        return self._log_correlation(encoded).exp()

    def node_correlation(self, batch: Batch) -> Tensor:
        return self._log_correlation(self.encoder.of_state(batch, self.encoder.backbone(batch))).exp()

    def _log_correlation(self, encoded: GraphEncoding) -> Tensor:
        return self.correlation.log_probability(self.embed(encoded), self.rationale_prior().mean)

    def mean_correlation(self, encoded: GraphEncoding, num_draws: int, seed: int = 0) -> Tensor:
        return self.linked_draws(encoded, num_draws, seed)[1].exp().mean(0)

    def distance(self, encoded: GraphEncoding) -> Tensor | None:
        """p0 = prod_j (1 - kappa_ij): the probability that no rationale reaches the graph."""
        return log_no_link(self._log_correlation(encoded)).exp() if self.has_rationales else None

    def rationales(self) -> Rationales:
        return Rationales(self.rationale_prior().mean.detach(), self.rationale_prior.label, falls_back=self.falls_back)

    @property
    def falls_back(self) -> bool:
        """Is the answer of a draw that links no rationale the label mix?"""
        return False

    def decode(
        self, z: Tensor, sizes: Tensor, temperature: float, generator: torch.Generator, rules: Rules | None = None
    ) -> list[Structure]:
        known = sizes if self.config.decoder.size_condition else None
        return sample(self.decoder, z, known, temperature, generator, int(sizes.max()), connected=True, rules=rules)

    @torch.no_grad()
    def diagnostics(self, batch: Batch) -> dict[str, float]:
        """Is the kernel alive, does it separate the classes, are graphs reached, do draws differ?"""
        if not self.has_rationales:
            return {}
        encoded = self.encode(batch)
        kappa = self.correlation_probability(encoded)
        own = own_class(batch.y, self.rationale_prior.label)
        spread = self.draw_logits(encoded, 16).softmax(-1).std(0).mean()
        numbers = {
            "kappa_own": kappa[own].mean(),
            "kappa_other": kappa[~own].mean(),
            "unreached": (1 - kappa).prod(-1).mean(),
            "draw_spread": spread,
        }
        return {name: float(value) for name, value in numbers.items()}
