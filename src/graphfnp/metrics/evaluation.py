"""The verb ``evaluate``: every measure of a trained model on labelled graphs, ready for JSON."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from graphfnp.datasets.dataset import Dataset
from graphfnp.errors import InvalidGraphs
from graphfnp.graphs.matching import matching
from graphfnp.graphs.packed import PackedGraphs
from graphfnp.methods.contract import RationaleModel
from graphfnp.metrics.rationale_f1 import rationale_f1_of_chunks
from graphfnp.metrics.scores import all_scores, conformal_scores
from graphfnp.prediction.conformal import LEVEL
from graphfnp.prediction.domain import VERDICTS, Placement
from graphfnp.prediction.label_mix import assumed_mix, label_shift
from graphfnp.prediction.predict import NUM_DRAWS, TrainedModel, check_model, conformal_sets, predict
from graphfnp.prediction.predictions import Predictions

RATIONALE_DRAWS = 1000  # the paper's
CHUNK = 50  # draws at a time, fewer where there are many graphs
MOST_NUMBERS = 2**25  # in the embeddings held at a time
NEIGHBOURS = (1, 3)


def evaluate(
    model: TrainedModel, graphs: PackedGraphs, num_draws: int = NUM_DRAWS, seed: int = 0
) -> tuple[dict[str, Any], Predictions]:
    """Scores of the predictions and, where the method has rationales, their Rationale F1."""
    check_model(model)
    graphs = matching(graphs, model.classifier.schema)
    if not (graphs.y >= 0).any():
        raise InvalidGraphs(
            f"{len(graphs)} graphs without labels", "labelled graphs", "use predict for unlabelled graphs"
        )
    predictions = predict(model, graphs, num_draws, seed)
    metrics: dict[str, Any] = all_scores(predictions, assumed_mix(model))
    if model.classifier.rationale_model is not None:
        metrics.update(rationale_scores(model.classifier.rationale_model, graphs, seed))
    sets = conformal_sets(model, predictions)
    if model.conformal is not None and sets is not None:
        metrics["conformal"] = {"level": LEVEL, **conformal_scores(sets, graphs.y), **model.conformal.facts()}
    if model.decision is not None:
        metrics["decision"] = {**model.decision.to_json(), **model.decision.scores(predictions)}
    if (domain := predictions.labelled().domain) is not None:
        metrics["domain"] = _by_verdict(domain, predictions.labelled())
    metrics["classes"] = list(graphs.schema.class_names)
    metrics["label_mix"] = assumed_mix(model)
    metrics["calibration"] = model.calibration.to_json()
    return metrics, predictions


def evaluate_part(model: TrainedModel, dataset: Dataset, part: str, seed: int = 0) -> dict[str, Any]:
    """:func:`evaluate` for one part of a dataset, with the label shift between its parts."""
    metrics, predictions = evaluate(model, getattr(dataset, part), seed=seed)
    metrics["label_shift"] = label_shift(model, dataset, part, predictions, seed)
    return metrics


def _by_verdict(domain: Placement, predictions: Predictions) -> dict[str, dict[str, float | None]]:
    """How many graphs each verdict of the domain has, and how often the prediction is right among them."""
    right = (predictions.label == predictions.y).tolist()
    found = {name: [ok for ok, said in zip(right, domain.verdicts, strict=True) if said == name] for name in VERDICTS}
    return {
        name: {"graphs": len(some), "accuracy": sum(some) / len(some) if some else None} for name, some in found.items()
    }


def rationale_scores(classifier: RationaleModel, graphs: PackedGraphs, seed: int) -> dict[str, Any]:
    """Rationale F1 with K = 1 and 3, binary and macro."""
    label = classifier.rationales().label
    scores = {
        k: rationale_f1_of_chunks(_embedding_chunks(classifier, graphs, seed), label, graphs.y, neighbours=k)
        for k in NEIGHBOURS
        if k <= len(label)  # with one rationale of each class there are no three
    }
    return {
        "rationale_f1": {str(k): float(score.f1) for k, score in scores.items()},
        "rationale_f1_macro": {str(k): float(score.macro_f1) for k, score in scores.items()},
        "rationale_f1_constant": float(scores[NEIGHBOURS[0]].constant_f1),
    }


@torch.no_grad()
def _embedding_chunks(classifier: RationaleModel, graphs: PackedGraphs, seed: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Sampled embeddings of graphs and rationales, a few draws at a time; graphs are encoded once."""
    classifier.eval()
    encodings = [classifier.encode(batch) for batch in graphs.batches(256, node_budget=16384)]
    width = classifier.embed(encodings[0]).shape[1]
    size = min(CHUNK, max(1, MOST_NUMBERS // (len(graphs) * width)))
    for start in range(0, RATIONALE_DRAWS, size):
        # A seed a chunk: draws within a chunk are even, chunks are independent.
        draws = min(size, RATIONALE_DRAWS - start)
        parts = [classifier.embedding_draws(encoded, draws, seed + start) for encoded in encodings]
        yield torch.cat(parts, dim=1), classifier.rationale_draws(draws, seed + start)
