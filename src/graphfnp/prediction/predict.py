"""The verb ``predict``: graphs in, calibrated draws of class probabilities out."""

import hashlib
import json
from collections.abc import Callable, Sequence, Sized
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from graphfnp.errors import InvalidConfig, InvalidGraphs
from graphfnp.graphs.matching import matching
from graphfnp.graphs.packed import PackedGraphs
from graphfnp.methods.contract import GraphClassifier
from graphfnp.prediction.calibration import Calibration
from graphfnp.prediction.conformal import LEVEL, Conformal
from graphfnp.prediction.decision import Decision
from graphfnp.prediction.domain import Domain, domain_of, references
from graphfnp.prediction.predictions import Predictions
from graphfnp.prediction.provenance import Provenance
from graphfnp.randomness import isolated
from graphfnp.settings import to_json

NUM_DRAWS = 32  # quasi-random draws, as accurate as about 65 plain ones: benchmarks/prediction.py
BATCH_SIZE = 256
NODE_BUDGET = 16384


@dataclass(frozen=True, eq=False)
class TrainedModel:
    """A classifier with its calibration, conformal sets and domain."""

    classifier: GraphClassifier
    calibration: Calibration = field(default_factory=Calibration)
    conformal: Conformal | None = None
    domain: Domain | None = None  # what it was trained on
    provenance: Provenance | None = None  # how well its probabilities were measured to hold
    folder: Path | None = None  # where it was read from, and its decoded rationales may lie
    decision: Decision | None = None  # from which probability on a class is said

    def save(self, folder: Path | str) -> None:
        """Write it into a folder that :func:`graphfnp.load_model` and every command accepts."""
        from graphfnp.prediction.saving import save_model  # which imports this module

        save_model(self, folder)

    @cached_property
    def id(self) -> str:
        """Twelve digits that differ if anything that decides a record does: weights, settings, names, fits."""
        found = hashlib.sha256()
        domain = {} if self.domain is None else self.domain.tensors()
        for name, tensor in sorted({**self.classifier.state_dict(), **domain}.items()):
            found.update(name.encode())
            found.update(tensor.detach().cpu().contiguous().numpy().tobytes())
        settings = to_json(self.classifier.config) if hasattr(self.classifier, "config") else None
        sets = None if self.conformal is None else self.conformal.to_json()
        named = self.classifier.schema.to_json(), None if self.domain is None else self.domain.text
        said = [type(self.classifier).__name__, settings, self.calibration.to_json(), sets, named]
        said += [] if self.decision is None else [self.decision.to_json()]
        found.update(json.dumps(said, sort_keys=True, default=str).encode())
        return found.hexdigest()[:12]


@dataclass(frozen=True, eq=False)
class RawPredictions:
    """Before calibration: what a calibration is fitted on."""

    logits: Tensor  # [draws, graphs, classes]
    distance: Tensor | None  # [graphs]
    embedding: Tensor  # [graphs, dims]
    correlation: Tensor | None = None  # [graphs, rationales], if asked for

    def select(self, graphs: Tensor) -> "RawPredictions":
        """Only some of the graphs, by a mask or their numbers."""
        distance = None if self.distance is None else self.distance[graphs]
        correlation = None if self.correlation is None else self.correlation[graphs]
        return RawPredictions(self.logits[:, graphs], distance, self.embedding[graphs], correlation)


@torch.no_grad()
def collect(
    classifier: GraphClassifier,
    graphs: PackedGraphs,
    num_draws: int = NUM_DRAWS,
    seed: int = 0,
    batch_size: int = BATCH_SIZE,
    watch: Callable[[int], None] | None = None,
    correlated: bool = False,
) -> RawPredictions:
    """Logits, distances and embeddings of all graphs; each graph is encoded once. ``watch`` gets the graphs done.

    ``correlated`` asks for the correlations with rationales too.
    """
    was_training = classifier.training
    changes_mode = any(part.training for part in classifier.modules())
    if changes_mode:  # to set what is set takes as long as a small batch
        classifier.eval()
    device, linked = classifier.class_weight.device, classifier.rationale_model if correlated else None
    logits, distances, embeddings, correlations = [], [], [], []
    with isolated(seed, "predict"):
        for batch in graphs.batches(batch_size, node_budget=NODE_BUDGET):
            batch = batch.to(device)
            encoded = classifier.encode(batch)
            logits.append(classifier.draw_logits(encoded, num_draws, seed).cpu())
            distances.append(classifier.distance(encoded))
            embeddings.append(classifier.embed(encoded).cpu())
            if linked is not None:
                correlations.append(linked.mean_correlation(encoded, num_draws, seed).cpu())
            if watch is not None:
                watch(batch.num_graphs)
    if changes_mode:
        classifier.train(was_training)
    known = [distance.cpu() for distance in distances if distance is not None]
    return RawPredictions(
        torch.cat(logits, dim=1), torch.cat(known) if known else None, torch.cat(embeddings),
        torch.cat(correlations) if correlations else None,
    )  # fmt: skip


def check_model(model: TrainedModel) -> None:
    """InvalidConfig for what is no TrainedModel."""
    if not isinstance(model, TrainedModel):
        raise InvalidConfig(
            f"a {type(model).__name__} as the model", "a TrainedModel",
            "give load_model('bbbp'), or the .model of what train returned",
        )  # fmt: skip


def graphs_of(model: TrainedModel, given: PackedGraphs | Sequence[Any] | str) -> PackedGraphs:
    """What a list holds as graphs in the model's schema; InvalidGraphs names the first bad row."""
    check_model(model)
    schema = model.classifier.schema
    if isinstance(given, Sized) and not len(given):
        raise InvalidGraphs("no graphs", "one or more", "give those to predict")
    if isinstance(given, PackedGraphs):
        return matching(given, schema)
    from graphfnp.datasets.inputs import graphs_from_inputs  # RDKit: who gives PackedGraphs does not need it

    items = [given] if isinstance(given, str) else given
    graphs, _, problems = graphs_from_inputs(items, schema.class_names, schema=schema)
    if problems or graphs is None:
        what = f"{problems[0].given!r} (number {problems[0].row}): {problems[0].reason}" if problems else "no SMILES"
        raise InvalidGraphs(what, "SMILES", "leave it out, or score a file, where bad rows keep their place")
    return matching(graphs, schema)


def predict(
    model: TrainedModel,
    graphs: PackedGraphs | Sequence[Any] | str,
    num_draws: int = NUM_DRAWS,
    seed: int = 0,
    batch_size: int = BATCH_SIZE,
    watch: Callable[[int], None] | None = None,
) -> Predictions:
    """Calibrated predictions; the same seed gives the same numbers, whatever the batch size.

    ``graphs`` are PackedGraphs, or a list of SMILES, RDKit molecules or graphs of PyG or NetworkX.
    """
    if num_draws < 1:
        raise InvalidConfig(f"{num_draws} draws", "1 or more", "32 are usual")
    graphs = graphs_of(model, graphs)
    raw = collect(model.classifier, graphs, num_draws, seed, batch_size, watch, correlated=True)
    placement = None if model.domain is None else model.domain.place(graphs, raw.embedding)
    draws = model.calibration.apply(raw.logits)
    ratio = None if model.conformal is None else model.conformal.density_ratio(raw.embedding)
    return Predictions(draws, graphs.y, raw.distance, placement, raw.correlation, ratio)


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
    as_fitted = model.calibration.before_log_prior(predictions.draws).mean(0)
    return model.conformal.sets(as_fitted, level, predictions.density_ratio)
