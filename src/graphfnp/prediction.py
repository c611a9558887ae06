"""The verb ``predict``: graphs in, calibrated draws of class probabilities out."""

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from graphfnp.calibration import Calibration
from graphfnp.classifier import GraphClassifier
from graphfnp.conformal import LEVEL, Conformal
from graphfnp.domain import Domain, domain_of, references
from graphfnp.graphs import PackedGraphs
from graphfnp.matching import matching
from graphfnp.predictions import Predictions
from graphfnp.randomness import isolated

NUM_DRAWS = 32  # quasi-random draws as accurate as 100 plain ones: benchmarks/prediction.py
BATCH_SIZE = 256
NODE_BUDGET = 16384


@dataclass(frozen=True, eq=False)
class TrainedModel:
    """A classifier with what was fitted on held-out graphs for it."""

    classifier: GraphClassifier
    calibration: Calibration = field(default_factory=Calibration)
    conformal: Conformal | None = None
    domain: Domain | None = None  # what it was trained on


@dataclass(frozen=True, eq=False)
class RawPredictions:
    """Before calibration: what a calibration is fitted on."""

    logits: Tensor  # [draws, graphs, classes]
    distance: Tensor | None  # [graphs]
    embedding: Tensor  # [graphs, dims]

    def select(self, graphs: Tensor) -> "RawPredictions":
        """Only some of the graphs, by a mask or their numbers."""
        distance = None if self.distance is None else self.distance[graphs]
        return RawPredictions(self.logits[:, graphs], distance, self.embedding[graphs])


@torch.no_grad()
def collect(
    classifier: GraphClassifier,
    graphs: PackedGraphs,
    num_draws: int = NUM_DRAWS,
    seed: int = 0,
    batch_size: int = BATCH_SIZE,
    watch: Callable[[int], None] | None = None,
) -> RawPredictions:
    """Logits, distances and embeddings of all graphs; each graph is encoded once. ``watch`` gets the graphs done."""
    was_training = classifier.training
    classifier.eval()
    device = classifier.class_weight.device
    logits, distances, embeddings = [], [], []
    with isolated(seed, "predict"):
        for batch in graphs.batches(batch_size, node_budget=NODE_BUDGET):
            batch = batch.to(device)
            encoded = classifier.encode(batch)
            logits.append(classifier.draw_logits(batch, num_draws, seed, encoded).cpu())
            distances.append(classifier.distance(batch, encoded))
            embeddings.append(classifier.embed(batch, encoded).cpu())
            if watch is not None:
                watch(batch.num_graphs)
    classifier.train(was_training)
    known = [distance.cpu() for distance in distances if distance is not None]
    return RawPredictions(torch.cat(logits, dim=1), torch.cat(known) if known else None, torch.cat(embeddings))


def predict(
    model: TrainedModel,
    graphs: PackedGraphs,
    num_draws: int = NUM_DRAWS,
    seed: int = 0,
    batch_size: int = BATCH_SIZE,
    watch: Callable[[int], None] | None = None,
) -> Predictions:
    """Calibrated predictions; the same seed gives the same numbers, whatever the batch size."""
    graphs = matching(graphs, model.classifier.schema)
    raw = collect(model.classifier, graphs, num_draws, seed, batch_size, watch)
    placement = None if model.domain is None else model.domain.place(graphs, raw.embedding)
    return Predictions(model.calibration.apply(raw.logits, raw.distance, seed), graphs.y, raw.distance, placement)


def fit_domain(classifier: GraphClassifier, graphs: PackedGraphs, seed: int = 0) -> Domain:
    """The domain of a classifier that was trained on these graphs."""
    row = references(len(graphs), seed)
    kept = graphs.select(row)
    return domain_of(kept, collect(classifier, kept, 1, seed).embedding, row)


def conformal_sets(model: TrainedModel, predictions: Predictions, level: float = LEVEL) -> Tensor | None:
    """bool [graphs, classes], or None if the model has no conformal sets.

    Scores are those of the label mix the sets were fitted with: coverage of each class does not depend on the mix.
    """
    if model.conformal is None:
        return None
    return model.conformal.sets(model.calibration.before_log_prior(predictions.probabilities), level)
