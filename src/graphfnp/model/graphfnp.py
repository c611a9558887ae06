"""GraphFNP: the wiring of all factors, and the two phases that train them."""

from typing import Any

import torch
from torch import Tensor, nn

from graphfnp.classifier import GraphClassifier, LossTerms, Phase
from graphfnp.graphs import Batch, PackedGraphs, Schema, side_by_side
from graphfnp.model.breadth_first import breadth_first_decisions
from graphfnp.model.config import GraphFNPConfig
from graphfnp.model.correlation import StochasticCorrelation
from graphfnp.model.decoder_beam import beam_search
from graphfnp.model.decoder_sampling import Rules, sample
from graphfnp.model.graph_decoder import GraphDecoder
from graphfnp.model.graph_encoder import Encoded, GraphEncoder
from graphfnp.model.label_head import LabelHead
from graphfnp.model.local_rationale import LocalRationale, LocalRationalePosterior
from graphfnp.model.objectives import own_class
from graphfnp.model.rationale_prior import RationalePrior
from graphfnp.model.steps import decoder_step, e_step, m_step, parts_loss
from graphfnp.model.subgraphs import random_parts
from graphfnp.networks.backbone import make_backbone
from graphfnp.networks.draws import normal_draws, uniform_draws
from graphfnp.networks.gaussian import Gaussian
from graphfnp.rationales import Rationales, Structure

NESTED = 2  # draws of C and u for one of z^D and z^R


class GraphFNP(GraphClassifier):
    """p(y | G) = sum_C int p(z^R) p(z^D | G) p(C | z^D, z^R) p(u | C, z^R) p(y | u, z^D), decoder p(G | z) (Eq. 1)."""

    started: Tensor

    def __init__(self, schema: Schema, config: GraphFNPConfig | None = None, backbone: nn.Module | None = None) -> None:
        super().__init__(schema)
        self.config = config = config or GraphFNPConfig()
        projected = config.latent == "projected"
        self.encoder = GraphEncoder(
            make_backbone(schema, config.backbone, backbone), config.embedding_dim, projected, config.initial_log_std
        )
        dims = self.encoder.dims
        self.rationale_prior = RationalePrior(
            schema.num_classes, config.rationales_per_class, dims, projected, config.anchor_std, config.initial_log_std
        )
        self.correlation = StochasticCorrelation(
            config.bandwidth, config.initial_bandwidth, config.relaxation_temperature
        )
        self.local_rationale = LocalRationale(dims, config.local_dim)
        self.posterior = (
            LocalRationalePosterior(self.encoder.backbone.out_width, config.local_dim)
            if config.posterior == "amortised"
            else None
        )
        self.label_head = LabelHead(
            dims if config.graph_embedding == "used" else 0,
            config.local_dim if config.rationales == "learned" else 0,
            schema.num_classes,
            config.label_head,
            config.head_layers,
            config.head_width,
        )
        self.decoder = GraphDecoder(schema, dims, config.decoder)
        self.register_buffer("started", torch.tensor(config.rationale_start == "random"))

    # ---------------------------------------------------------------- the generative process

    def encode(self, batch: Batch) -> Encoded:
        if self.training and self.config.subgraph_weight:
            # Graphs and parts in one pass: normalised together, as they will be met.
            parts = random_parts(batch, self.schema.features)
            return self.encoder(side_by_side(batch, parts)).with_parts(parts)
        return self.encoder(batch)

    def embed(self, batch: Batch, encoded: Any = None) -> Tensor:
        return (encoded or self.encode(batch)).graph_embedding.mean

    def draw_logits(self, batch: Batch, num_draws: int, seed: int = 0, encoded: Any = None) -> Tensor:
        """The encoder runs once; noise has a leading dimension of draws and is shared by all graphs.

        Embeddings move little and cost most, C and u the other way round: so each draw of z^D and z^R serves several
        of C and u.
        """
        if self.config.rationales == "none":
            return self.logits(self.embedding_draws(batch, num_draws, seed, encoded), None, spare=True)
        encoded = encoded or self.encode(batch)
        outer = self.embeddings_drawn(num_draws)
        rationales, log_kappa = (found.unsqueeze(1) for found in self.linked_draws(batch, num_draws, seed, encoded))
        uniform = uniform_draws(num_draws, len(self.rationale_prior.label), seed, "correlation", self.config.draws)
        noise = normal_draws(num_draws, self.config.local_dim, seed, "local", self.config.draws)
        uniform, noise = (drawn.to(log_kappa).view(outer, -1, 1, drawn.shape[-1]) for drawn in (uniform, noise))
        local = self.summarise(log_kappa, rationales, uniform)  # [outer, inner, graphs, local_dim]
        z = self.embedding_draws(batch, outer, seed, encoded).unsqueeze(1)
        return self.logits(z, local.at(noise), spare=True).flatten(0, 1)

    def embeddings_drawn(self, num_draws: int) -> int:
        """How many of the draws have embeddings of their own."""
        return num_draws if self.config.draws == "plain" or num_draws % NESTED else num_draws // NESTED

    def linked_draws(self, batch: Batch, num_draws: int, seed: int = 0, encoded: Any = None) -> tuple[Tensor, Tensor]:
        """Draws of z^R, and log kappa between them and those of z^D; kept with the encoding where nothing learns."""
        encoded = encoded or self.encode(batch)
        if (found := encoded.kept.get((num_draws, seed))) is not None:
            return found
        outer, embedding = self.embeddings_drawn(num_draws), encoded.graph_embedding
        rationales = self.rationale_draws(outer, seed)
        if embedding.log_std.ndim == 0:  # all graphs move alike in a draw: as well the rationales move the other way
            graphs, others = embedding.mean, rationales - embedding.log_std.exp() * self.graph_noise(outer, seed)
        else:
            graphs, others = self.embedding_draws(batch, outer, seed, encoded), rationales
        drawn = rationales, self.correlation.log_probability(graphs, others)
        if not torch.is_grad_enabled():
            encoded.kept[num_draws, seed] = drawn
        return drawn

    def embedding_draws(self, batch: Batch, num_draws: int, seed: int = 0, encoded: Any = None) -> Tensor:
        return (encoded or self.encode(batch)).graph_embedding.at(self.graph_noise(num_draws, seed))

    def graph_noise(self, num_draws: int, seed: int) -> Tensor:
        """[draws, 1, dims], the same for all graphs."""
        noise = normal_draws(num_draws, self.encoder.dims, seed, "graph", self.config.draws)
        return noise.to(self.class_weight).unsqueeze(1)

    def rationale_draws(self, num_draws: int, seed: int = 0) -> Tensor:
        prior = self.rationale_prior()
        noise = normal_draws(num_draws, prior.mean.numel(), seed, "rationales", self.config.draws)
        return prior.at(noise.to(prior.mean).view(num_draws, *prior.mean.shape))

    def summarise(self, log_kappa: Tensor, rationales: Tensor, uniform: Tensor) -> Gaussian:
        """p(u | C, z^R), with C drawn at ``uniform`` or, in the ablation, replaced by kappa itself."""
        links = self.correlation(log_kappa, uniform) if self.config.correlation == "binary" else log_kappa.exp()
        return self.local_rationale.summarise(links, self.local_rationale.statistics(rationales))

    def logits(self, z: Tensor, local: Tensor | None, spare: bool = False) -> Tensor:
        """p(y | u, z^D), less the part that an ablation withholds; ``spare``: z is not needed after this."""
        return self.label_head(z if self.config.graph_embedding == "used" else None, local, spare)

    @property
    def uses_rationales(self) -> bool:
        """Are there rationales, and have they been placed?"""
        return self.config.rationales == "learned" and bool(self.started)

    def draw_local(self, z: Tensor, rationales: Tensor) -> Tensor | None:
        """One draw of u ~ p(u | C, z^R) for each graph; nothing while rationales wait for their start."""
        if not self.uses_rationales:
            silent = self.label_head.additive or self.config.rationales == "none"
            return None if silent else z.new_zeros(len(z), self.config.local_dim)
        log_kappa = self.correlation.log_probability(z, rationales)
        return self.summarise(log_kappa, rationales, torch.rand_like(log_kappa)).sample()

    # ---------------------------------------------------------------- training

    def phases(self) -> list[Phase]:
        decoder = Phase("decoder", list(self.decoder.parameters()), self.decoder_loss)
        if self.config.optimization == "joint" or self.config.rationales == "none":
            chosen = [p for name, p in self.named_parameters() if not name.startswith("decoder.")]
            return [Phase("joint", chosen, self.loss), decoder]
        rationales = [*self.rationale_prior.parameters()]
        rest = [p for name, p in self.named_parameters() if not name.startswith(("decoder.", "rationale_prior."))]
        return [
            Phase("rationales", rationales, self.rationales_loss, self.config.rationale_rate_scale),  # E-step
            decoder,  # E-step: the decoder shares no parameter and no gradient with the rationales
            Phase("classifier", rest, self.classifier_loss),  # M-step
        ]

    def finishing_phases(self) -> list[Phase]:
        if not self.config.generation_weight:
            return []
        return [Phase("decoder", list(self.decoder.parameters()), self.decoder_loss)]

    def rationales_loss(self, batch: Batch, encoded: Encoded) -> LossTerms:
        """E-step (Eq. 10): encoder and classifier are held fixed."""
        return e_step(self, batch, encoded.detach())

    def classifier_loss(self, batch: Batch, encoded: Encoded) -> LossTerms:
        """M-step (Eq. 11): rationales are held fixed."""
        return m_step(self, batch, encoded, self.rationale_prior().detach())

    def loss(self, batch: Batch, encoded: Encoded) -> LossTerms:
        """Without EM: both steps' terms at once, nothing held fixed."""
        expectation = {f"e_{name}": term for name, term in e_step(self, batch, encoded).items()}
        return {**m_step(self, batch, encoded, self.rationale_prior()), **expectation}

    def decoder_loss(self, batch: Batch, encoded: Encoded) -> LossTerms:
        """-E log p(G | z^D) per node, the encoder held fixed; with no weight the decoder is left untrained."""
        return decoder_step(self, batch, encoded) if self.config.generation_weight else {}

    def side_loss(self, batch: Batch) -> Tensor | None:
        if not self.config.subgraph_weight:
            return None
        parts = self.encode(random_parts(batch, self.schema.features)).graph_embedding
        return parts_loss(self, parts, self.rationale_prior().mean, batch.y)

    @property
    def is_complete(self) -> bool:
        return bool(self.started) or self.config.rationales == "none"

    @torch.no_grad()
    def start_epoch(self, epoch: int, epochs: int, graphs: PackedGraphs) -> None:
        """Start the rationales at class-wise centroids once the encoder has learned a little."""
        wait = min(self.config.start_after * epochs, self.config.start_within / max(len(graphs), 1), epochs - 1)
        if self.started or epoch < wait:
            return
        was_training = self.training
        self.eval()
        y = graphs.y.to(self.started.device)
        batches = graphs.batches(256, node_budget=16384)
        embedding = torch.cat([self.embed(batch.to(y.device)) for batch in batches])
        self.rationale_prior.start_at_centroids(embedding, y)
        self.started.fill_(True)
        own, weight = own_class(y, self.rationale_prior.label), self.class_weight[y]
        log_kappa = self.correlation.log_probability(embedding, self.rationale_prior().mean)
        self.correlation.follow(log_kappa, own, weight, graphs.node_ptr.diff().to(y.device), momentum=1.0)
        self.train(was_training)

    # ---------------------------------------------------------------- what it knows of itself

    def correlation_probability(self, batch: Batch, encoded: Any = None) -> Tensor:
        """kappa at the means, [graphs, rationales]."""
        return self._log_correlation(batch, encoded).exp()

    def _log_correlation(self, batch: Batch, encoded: Any) -> Tensor:
        return self.correlation.log_probability(self.embed(batch, encoded), self.rationale_prior().mean)

    def mean_correlation(self, batch: Batch, num_draws: int, seed: int = 0, encoded: Any = None) -> Tensor | None:
        if self.config.rationales == "none":
            return None
        return self.linked_draws(batch, num_draws, seed, encoded)[1].exp().mean(0)

    def distance(self, batch: Batch, encoded: Any = None) -> Tensor | None:
        """1 - max_j kappa_ij^(1 / a_i): how far a graph is from every rationale, with the allowance a for few nodes."""
        if self.config.rationales == "none":
            return None
        return 1 - (self._log_correlation(batch, encoded).amax(-1) / self.correlation.allowance(batch.sizes)).exp()

    def rationales(self) -> Rationales | None:
        if self.config.rationales == "none":
            return None
        return Rationales(self.rationale_prior().mean.detach(), self.rationale_prior.label)

    def decode(
        self, z: Tensor, sizes: Tensor, temperature: float, generator: torch.Generator, rules: Rules | None = None
    ) -> list[Structure]:
        known = sizes if self.config.decoder.size_condition else None
        return sample(self.decoder, z, known, temperature, generator, int(sizes.max()), connected=True, rules=rules)

    def decode_best(
        self, z: Tensor, sizes: Tensor, width: int, rules: Rules | None = None
    ) -> tuple[list[Structure], Tensor]:
        return beam_search(self.decoder, z, sizes, width, rules)[:2]

    def log_similarity(self, batch: Batch, rationale: Tensor, encoded: Any = None) -> Tensor:
        """log kappa_ij at the means."""
        chosen = self.rationale_prior().mean[rationale].unsqueeze(1)
        return self.correlation.log_probability(self.embed(batch, encoded).unsqueeze(1), chosen)[:, 0, 0]

    def log_likelihood(self, batch: Batch, rationale: Tensor) -> Tensor:
        decisions = breadth_first_decisions(batch, torch.Generator().manual_seed(0))
        return self.decoder.log_likelihood(decisions, self.rationale_prior().mean[rationale])

    @torch.no_grad()
    def diagnostics(self, batch: Batch, encoded: Any = None) -> dict[str, float]:
        """Is the kernel alive, does it separate the classes, are rationales where graphs are, do draws differ?"""
        if self.config.rationales == "none":
            return {}
        encoded = encoded or self.encode(batch)
        kappa = self.correlation_probability(batch, encoded)
        own = own_class(batch.y, self.rationale_prior.label)
        spread = self.draw_logits(batch, 16, encoded=encoded).softmax(-1).std(0).mean()
        prior, embedding = self.rationale_prior().mean, encoded.graph_embedding.mean
        numbers = {
            "kappa_own": kappa[own].mean(),
            "kappa_other": kappa[~own].mean(),
            "unreached": (1 - kappa).prod(-1).mean(),
            "draw_spread": spread,
            "rationale_norm": prior.norm(dim=-1).mean(),
            "graph_norm": embedding.norm(dim=-1).mean(),
        }
        return {name: float(value) for name, value in numbers.items()}
