"""GraphFNP: links that know the class, predictions that lean on them, and the E-step and M-step that train both."""

import math

import torch
from torch import Tensor, nn

from graphfnp.graphs.packed import Batch, PackedGraphs, Schema
from graphfnp.methods.contract import LossTerms, Phase
from graphfnp.methods.graphfnp.config import GraphFNPConfig
from graphfnp.methods.graphfnp.correlation import StochasticCorrelation, log_no_link
from graphfnp.methods.graphfnp.corruption import with_shuffled_nodes
from graphfnp.methods.graphfnp.decoder.generation import some_graphs
from graphfnp.methods.graphfnp.decoder.graph_decoder import GraphDecoder
from graphfnp.methods.graphfnp.graph_encoder import DirectEncoder, GraphEncoding
from graphfnp.methods.graphfnp.kernel_space import KernelSpace
from graphfnp.methods.graphfnp.label_head import AdditiveHead
from graphfnp.methods.graphfnp.local_rationale import LocalRationale
from graphfnp.methods.graphfnp.neural_process import NeuralProcess
from graphfnp.methods.graphfnp.objectives import coverage_loss, evidence, link_loss, log_mixture, own_class, small_first
from graphfnp.methods.graphfnp.rationale_prior import RationalePrior
from graphfnp.networks.backbone import make_backbone
from graphfnp.networks.distributions import Gaussian, normal_draws, uniform_draws
from graphfnp.networks.mlp import running_statistics

NESTED = 2  # draws of C and u for one of z^D and z^R
LOCAL_DIM = 16  # of u
RATE_SCALE = 5.0  # learning-rate factor of the E-step: few parameters, which follow the encoder
START_AFTER, START_WITHIN = 0.12, 4000  # rationales start after this share of the epochs, or so many graphs seen
DATA, FOREIGN, COVERAGE = 0.5, 0.5, 0.1  # weights in the E-step, against the likelihood of C


class GraphFNP(NeuralProcess):
    """Eq. 2 with a kernel in a space of its own and a prior to fall back on.

        kappa_ij = exp(-|P(z_i) - z^R_j|^2 / (2 d l)),   p0_i = prod_j (1 - kappa_ij)
        p(y | G) = (1 - p0) E[softmax(f(z^D, u)) | some link] + p0 pi

    Draws in which no rationale is linked answer with the prior pi: doubt of a graph that no rationale reaches is a part
    of the prediction, not of a calibration.
    """

    started: Tensor
    log_prior: Tensor
    draws = "quasi"
    default_parts = 0.3  # rationales are small graphs, so the classifier must know what a part is worth

    def __init__(self, schema: Schema, config: GraphFNPConfig | None = None, backbone: nn.Module | None = None) -> None:
        super().__init__(schema, config := config or GraphFNPConfig())
        self.encoder = DirectEncoder(make_backbone(schema, config.backbone, backbone))
        dims, without = self.encoder.dims, config.ablation
        self.kernel_space = KernelSpace(dims)
        self.rationale_prior = RationalePrior(schema.num_classes, config.rationales_per_class, dims)
        self.correlation = StochasticCorrelation()
        self.local_rationale = LocalRationale(dims, LOCAL_DIM)
        self.label_head = AdditiveHead(
            0 if without == "z_D" else dims, LOCAL_DIM if self.has_rationales else 0, schema.num_classes
        )
        self.decoder = GraphDecoder(schema, dims, config.decoder)
        self.register_buffer("started", torch.tensor(False))
        self.register_buffer("log_prior", torch.full((schema.num_classes,), -math.log(schema.num_classes)))

    @property
    def uses_rationales(self) -> bool:
        """Are there rationales, and have they been placed?"""
        return self.has_rationales and bool(self.started)

    @property
    def falls_back(self) -> bool:
        return self.config.ablation != "C"

    # ---------------------------------------------------------------- the generative process

    def kernel_embedding(self, encoded: GraphEncoding) -> Gaussian:
        z = encoded.graph_embedding
        return Gaussian(self.kernel_space(z.mean), z.log_std) if self.has_rationales else z

    def embeddings_drawn(self, num_draws: int) -> int:
        """Embeddings move little and cost most, C and u the other way round: each draw of them serves several of C."""
        return num_draws // NESTED if num_draws % NESTED == 0 else num_draws

    def draw_logits(self, encoded: GraphEncoding, num_draws: int, seed: int = 0) -> Tensor:
        """The encoder runs once; noise has a leading dimension of draws and is shared by all graphs."""
        if not self.uses_rationales:
            return self.label_head(encoded.graph_embedding.at(self.graph_noise(num_draws, seed)), None, inplace=True)
        outer = self.embeddings_drawn(num_draws)
        rationales, log_kappa = (drawn.unsqueeze(1) for drawn in self.linked_draws(encoded, num_draws, seed))
        uniform = uniform_draws(num_draws, len(self.rationale_prior.label), seed, "correlation", self.draws)
        noise = normal_draws(num_draws, LOCAL_DIM, seed, "local", self.draws)
        uniform, noise = (drawn.to(log_kappa).view(outer, -1, 1, drawn.shape[-1]) for drawn in (uniform, noise))
        links = self.links(log_kappa, uniform)  # [outer, inner, graphs, rationales]
        local = self.local_rationale.summarise(links, self.local_rationale.statistics(rationales)).at(noise)
        z = encoded.graph_embedding.at(self.graph_noise(outer, seed)).unsqueeze(1)
        logits = self.label_head(z, local, inplace=True)
        if self.config.ablation == "C":
            return logits.flatten(0, 1)
        # Explainers: the expectation over links has a gradient, draws of them have none. To f, draws without a link
        # count too, so that p differs a little from what is predicted.
        if torch.is_grad_enabled():
            logits = log_mixture(logits, log_no_link(log_kappa), self.log_prior)
        else:
            logits = torch.where((links > 0.5).any(-1, keepdim=True), logits, self.log_prior)
        return logits.flatten(0, 1)

    def linked_logits(self, z: Tensor, rationales: Tensor, log_kappa: Tensor) -> Tensor:
        """f(z^D, u) at one draw of C and u."""
        links = self.links(log_kappa, torch.rand_like(log_kappa))
        local = self.local_rationale.summarise(links, self.local_rationale.statistics(rationales))
        return self.label_head(z, local.sample())

    # ---------------------------------------------------------------- training

    def phases(self) -> list[Phase]:
        return self.steps(("kernel_space.", "rationale_prior.", "correlation."), RATE_SCALE)

    def rationales_loss(self, encoded: GraphEncoding, held_fixed: bool = True) -> LossTerms:
        """E-step: rationales, kernel and its space on the likelihood of C and of the labels, all else held fixed.

        The classifier's own evidence is the target of the links: a graph or a part that it knows is linked to its
        class, one that it does not know, or that is no graph of this kind, to nothing.
        """
        if not self.uses_rationales:
            return {}
        batch, encoded = encoded.batch, encoded.detach() if held_fixed else encoded
        rationales = self.rationale_prior().sample()
        log_kappa = self.correlation.log_probability(self.kernel_embedding(encoded).sample(), rationales)
        with torch.no_grad():
            logits = self.linked_logits(encoded.graph_embedding.sample(), rationales, log_kappa)
            # With P(some link) = sqrt(e) and linked draws as sure as that, the mixture of both is as sure as e.
            target = evidence(logits, batch.y, self.log_prior).sqrt()
        own, weight = own_class(batch.y, self.rationale_prior.label), self.class_weight[batch.y]
        return {
            "links": (weight * small_first(batch.sizes, target) * link_loss(log_kappa, own, target)).mean(),
            "data": DATA * self.mixture_loss(logits, log_no_link(log_kappa), batch),
            "foreign": FOREIGN * self.foreign_loss(batch),
            "coverage": COVERAGE * coverage_loss(log_kappa, own),
        }

    def classifier_loss(self, encoded: GraphEncoding, held_fixed: bool = True) -> LossTerms:
        """M-step (Eq. 10): encoder, local rationale and head on the labels; rationales and links are held fixed."""
        batch, z = encoded.batch, encoded.graph_embedding.sample()
        if not self.uses_rationales:
            if self.label_head.graph_part is None:  # without z^D there is nothing to say before rationales are placed
                return {}
            return {"data": self.cross_entropy(self.label_head(z, None), batch.y, batch.weight)}
        with torch.set_grad_enabled(not held_fixed):
            rationales = self.rationale_prior().sample()
            log_kappa = self.correlation.log_probability(self.kernel_embedding(encoded).sample(), rationales)
        logits = self.linked_logits(z, rationales, log_kappa)
        # Half by what is said, half by what the linked draws say: by the former alone they grow too sure under shift.
        return {
            "data": 0.5 * self.mixture_loss(logits, log_no_link(log_kappa), batch),
            "linked": 0.5 * self.cross_entropy(logits, batch.y, batch.weight),
        }

    def mixture_loss(self, logits: Tensor, log_unreached: Tensor, batch: Batch) -> Tensor:
        """-log p(y | G), the prior's share included."""
        if self.config.ablation == "C":
            return self.cross_entropy(logits, batch.y, batch.weight)
        log_p = log_mixture(logits, log_unreached, self.log_prior).gather(-1, batch.y.unsqueeze(-1)).squeeze(-1)
        return -(self.loss_weight(batch.y, batch.weight) * log_p).mean()

    def foreign_loss(self, batch: Batch) -> Tensor:
        """-log P(no link) of graphs with shuffled nodes."""
        graphs, changed = with_shuffled_nodes(batch.select(some_graphs(batch)))
        with torch.no_grad(), running_statistics(self.encoder):
            encoded = self.encoder(graphs)
        log_kappa = self.correlation.log_probability(self.kernel_embedding(encoded).mean, self.rationale_prior().mean)
        return -(changed * log_no_link(log_kappa)).mean()

    def decoder_weight(self, encoded: GraphEncoding) -> Tensor | None:
        """Graphs and parts by the evidence they hold: so the decoder writes what rationales answer to."""
        logits = self.label_head(encoded.graph_embedding.mean, None)
        return evidence(logits, encoded.batch.y, self.log_prior)

    @torch.no_grad()
    def start_epoch(self, epoch: int, epochs: int, graphs: PackedGraphs) -> None:
        """Start the rationales at class-wise centroids of graphs that the classifier knows, once it knows some."""
        wait = min(START_AFTER * epochs, START_WITHIN / max(len(graphs), 1), epochs - 1)
        if self.started or not self.has_rationales or epoch < wait:
            return
        was_training = self.training
        self.eval()
        y = graphs.y.to(self.started.device)
        counts = torch.bincount(y, minlength=self.schema.num_classes).to(self.class_weight) * self.class_weight
        self.log_prior.copy_((counts / counts.sum()).clamp(min=1e-6).log())
        embedding, known = [], []
        for batch in graphs.batches(256, node_budget=16384):
            batch = batch.to(y.device)
            encoded = self.encode(batch)
            embedding.append(self.kernel_embedding(encoded).mean)
            logits = self.label_head(encoded.graph_embedding.mean, None)
            known.append(evidence(logits, batch.y, self.log_prior))
        z = torch.cat(embedding)
        self.rationale_prior.start_at_centroids(z, y, torch.cat(known) + 1e-3)
        # A typical graph starts with kappa = exp(-1/2) to the nearest rationale of its class.
        log_kappa = self.correlation.log_probability(z, self.rationale_prior().mean)
        nearest = log_kappa.masked_fill(~own_class(y, self.rationale_prior.label), -math.inf).amax(-1)
        typical = -nearest[nearest.isfinite()].mean()
        self.correlation.log_bandwidth.add_((2 * typical).clamp(min=1e-4).log())
        self.started.fill_(True)
        self.train(was_training)
