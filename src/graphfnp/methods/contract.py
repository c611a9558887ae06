"""GraphClassifier: the contract every method implements; RationaleModel: what those with rationales say besides."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor, nn

from graphfnp.errors import InvalidConfig, InvalidGraphs
from graphfnp.graphs.packed import Batch, PackedGraphs, Schema
from graphfnp.graphs.pointers import pointers
from graphfnp.graphs.structure import Structure
from graphfnp.methods.rationales import Rationales

LossTerms = dict[str, Tensor]  # named terms; training sums them
ADAM = partial(torch.optim.Adam, fused=True)  # all parameters in one pass


@dataclass(frozen=True, eq=False)
class Encoding:
    """A batch, and what all draws and all phases share of it; a method that shares more extends it."""

    batch: Batch
    state: Tensor  # [..., graphs, dims]


E = TypeVar("E", bound=Encoding)


@dataclass(frozen=True)
class Phase:
    """These parameters descend this loss of an :class:`Encoding`, which is computed once for all phases of a step."""

    name: str
    parameters: list[nn.Parameter]
    loss: Callable[[Any], LossTerms]
    learning_rate_scale: float = 1.0
    optimizer: Callable[..., torch.optim.Optimizer] = ADAM


class GraphClassifier(nn.Module, ABC, Generic[E]):
    """Turns a batch of graphs into draws of class logits.

        encoded = classifier.encode(batch)                     # computed once for all draws
        logits = classifier.draw_logits(encoded, 100, seed=0)  # [100, graphs, classes]

    Draw s uses the same noise for every graph, so a graph's logits do not depend on which other
    graphs are in the batch, nor on their order.
    """

    class_weight: Tensor
    default_parts: float = 0.0  # weight of parts in the loss, where training.parts does not say
    differentiable: bool = True  # False: no gradient with respect to edges, so that learned masks cannot explain it
    averages_weights: bool = True  # False: training keeps the last weights, not their moving average

    def __init__(self, schema: Schema) -> None:
        super().__init__()
        if schema.num_classes < 2:
            raise InvalidConfig(
                f"graphs of these classes: {', '.join(schema.class_names) or 'none'}",
                "two or more classes",
                "check the label column: all labels may be the same",
            )
        self.schema = schema
        # Mean-one weights of the classes in every training loss; training sets them from its class_balance.
        self.register_buffer("class_weight", torch.ones(schema.num_classes))

    # ---------------------------------------------------------------- what a method must say

    @abstractmethod
    def encode(self, batch: Batch) -> E:
        """The computation that all draws and all phases share."""

    @abstractmethod
    def draw_logits(self, encoded: E, num_draws: int, seed: int = 0) -> Tensor:
        """[draws, graphs, classes], uncalibrated; a function of the weights, the graphs and the seed alone."""

    @abstractmethod
    def loss(self, encoded: E) -> LossTerms:
        """The named terms that training sums (when there is one phase)."""

    # ---------------------------------------------------------------- what a method may say

    def embed(self, encoded: E) -> Tensor:
        """[graphs, dims]: one deterministic vector for each graph."""
        return encoded.state

    def phases(self) -> list[Phase]:
        """Walked in order on every mini-batch; together they hold every parameter once. No phase: no epochs."""
        return [Phase("all", list(self.parameters()), self.loss)]

    def finishing_phases(self) -> list[Phase]:
        """Walked after training, on the averaged weights, for what does not touch predictions."""
        return []

    def start_epoch(self, epoch: int, epochs: int, graphs: PackedGraphs) -> None:
        """Called before every epoch, counted from 0: schedules, k-means starts."""

    def after_step(self) -> None:
        """Called after every optimiser step: snapshots, running statistics."""

    def after_training(self, graphs: PackedGraphs) -> None:
        """Called once with the averaged weights, before calibration: what is read off the training graphs."""

    def make_room(self, tensors: dict[str, Tensor]) -> None:
        """Called before the tensors of a trained model are loaded: what was learned in size becomes as large, and what
        an earlier version did not write is added to them.
        """

    def distance(self, encoded: E) -> Tensor | None:
        """[graphs] in [0, 1]: distance of a graph from the training data; None if the method has none."""
        return None

    @property
    def rationale_model(self) -> "RationaleModel | None":
        """The classifier itself if it has rationales."""
        return None

    def mean_pooled_network(self) -> tuple[nn.Module, nn.Module] | None:
        """(backbone, head) if a prediction is head(relu(mean of node states)), which explainers can take apart."""
        return None

    def diagnostics(self, batch: Batch) -> dict[str, float]:
        """Diagnostics of the method's parts, for the epoch log."""
        return {}

    # ---------------------------------------------------------------- shared

    def loss_weight(self, y: Tensor, weight: Tensor | None = None) -> Tensor:
        """[graphs]: how much each graph counts in the training loss, by its class and its weight in the batch."""
        return self.class_weight[y] if weight is None else self.class_weight[y] * weight

    def cross_entropy(self, logits: Tensor, y: Tensor, weight: Tensor | None = None) -> Tensor:
        """Mean over graphs of the weighted cross-entropy; logits [..., graphs, classes], weights those of the batch.

        Divided by the number of graphs, not by the sum of weights: so the mean over processes is the mean over graphs.
        """
        losses = nn.functional.cross_entropy(
            logits.flatten(0, -2), y.expand(logits.shape[:-1]).flatten(), reduction="none"
        )
        return (losses.view(logits.shape[:-1]) * self.loss_weight(y, weight)).mean()

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        batch: Tensor | None = None,
        edge_attr: Tensor | None = None,
        num_draws: int = 16,
    ) -> Tensor:
        """Log-probabilities [graphs, classes]: what ``torch_geometric.explain.Explainer`` calls."""
        owner = x.new_zeros(len(x), dtype=torch.long) if batch is None else batch
        sizes = torch.bincount(owner, minlength=1)
        # "undirected" would let layers use the fused product, which explainers' edge masks cannot reach.
        seen = Batch(
            x, edge_index, owner, pointers(sizes), owner.new_full((len(sizes),), -1), edge_attr, undirected=False
        )
        logits = self.draw_logits(self.encode(seen), num_draws)
        return torch.logsumexp(logits.log_softmax(-1), dim=0) - torch.log(torch.tensor(float(num_draws)))


class RationaleModel(GraphClassifier[E]):
    """A classifier whose predictions use rationales, and that can report their links and draw them."""

    @property
    def rationale_model(self) -> "RationaleModel | None":
        return self

    @abstractmethod
    def rationales(self) -> Rationales:
        """The rationales, not yet decoded."""

    @abstractmethod
    def rationale_draws(self, num_draws: int, seed: int = 0) -> Tensor:
        """[draws, rationales, dims], in the space of :meth:`embedding_draws`."""

    @abstractmethod
    def embedding_draws(self, encoded: E, num_draws: int, seed: int = 0) -> Tensor:
        """[draws, graphs, dims]"""

    @abstractmethod
    def correlation_probability(self, encoded: E) -> Tensor:
        """[graphs, rationales]: kappa at the means."""

    @abstractmethod
    def mean_correlation(self, encoded: E, num_draws: int, seed: int = 0) -> Tensor:
        """[graphs, rationales]: how often each rationale is correlated with each graph."""

    @abstractmethod
    def node_correlation(self, batch: Batch) -> Tensor:
        """[nodes, rationales]: kappa of each node, its state standing for that of a graph."""

    @abstractmethod
    def decode(
        self, z: Tensor, sizes: Tensor, temperature: float, generator: torch.Generator, rules: Any = None
    ) -> list[Structure]:
        """One graph of the given size for each embedding, within ``rules`` (decoder/sampling.py) if given."""


def with_rationales(classifier: GraphClassifier) -> RationaleModel:
    """The classifier as one that has rationales; InvalidGraphs if it has none."""
    if classifier.rationale_model is None:
        raise InvalidGraphs("a method without rationales", "a graphfnp model", "train with --method graphfnp")
    return classifier.rationale_model


def check_partition(classifier: GraphClassifier, phases: Iterable[Phase]) -> None:
    """Every trainable parameter belongs to exactly one phase."""
    names = {id(parameter): name for name, parameter in classifier.named_parameters() if parameter.requires_grad}
    seen: dict[int, str] = {}
    for phase in phases:
        for parameter in phase.parameters:
            if id(parameter) in seen:
                raise InvalidConfig(
                    f"{names.get(id(parameter), 'a parameter')} in phases {seen[id(parameter)]} and {phase.name}",
                    "phases that partition the parameters",
                    "give each parameter to one phase",
                )
            seen[id(parameter)] = phase.name
    missing = [name for key, name in names.items() if key not in seen]
    if missing:
        raise InvalidConfig(f"{missing[:5]} in no phase", "phases that partition the parameters", "add them to a phase")
