"""What is measured of an explainer: Rationale F1 of what it finds, or its scores against known reasons."""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

from graphfnp.datasets.dataset import Dataset
from graphfnp.experiments.cell import Cell
from graphfnp.experiments.provenance import provenance, reset_peak_memory, rounded
from graphfnp.explainers.edge_masks import nodes_of_edges
from graphfnp.explainers.explanations import Explanations
from graphfnp.explainers.scores import explainer_rationale_f1, explanation_scores, judged, subset, with_known_reasons
from graphfnp.graphs.packed import PackedGraphs
from graphfnp.kinds.kind_of import kind_of
from graphfnp.methods.contract import with_rationales
from graphfnp.methods.rationales import Rationales
from graphfnp.metrics.evaluation import rationale_scores
from graphfnp.prediction.label_shift import as_trained
from graphfnp.prediction.predict import TrainedModel
from graphfnp.rationales.config import decoding_for
from graphfnp.rationales.explain import explain_by_rationales
from graphfnp.rationales.find import find_rationales
from graphfnp.rationales.measures import rationale_measures
from graphfnp.rationales.records import rationale_records
from graphfnp.runs.checkpoint import METRICS
from graphfnp.runs.run import Run, execute
from graphfnp.training.train import Event

OWN = "rationales"  # GraphFNP explains by its own


def measure_explainer(
    cell: Cell, dataset: Dataset, folder: Path, watch: Callable[[Event], None] | None = None
) -> dict[str, Any]:
    """The record of a cell that explains: the model is that of the cell's training, trained now if it is not there."""
    reset_peak_memory()
    place = folder.parent / cell.trained.key
    run = Run(place) if (place / METRICS).exists() else execute(cell.plan, place, dataset, resume=True, watch=watch)
    started = time.perf_counter()
    scores = explained(as_trained(run.model), dataset, cell.explain, cell.seed)
    return rounded(
        {
            **{name: value for name, value in cell.content.items() if name != "recipe"},
            "explanation": scores,
            "provenance": provenance(cell, time.perf_counter() - started),
        }
    )


def explained(model: TrainedModel, dataset: Dataset, explain: Mapping[str, Any], seed: int) -> dict[str, Any]:
    name, limit = explain["explainer"], explain.get("limit")
    if explain["measure"] == "rationale-f1":
        return explainer_rationale_f1(model.classifier, dataset, name, seed, limit, largest=explain.get("largest"))
    if explain["measure"] == "rationales":
        return rationales_scores(model, dataset, seed)
    if name == OWN:
        return own_scores(model, dataset, seed, limit)
    return explanation_scores(model.classifier, dataset, name, seed, limit, repeats=explain.get("repeats", 1))


def rationales_scores(model: TrainedModel, dataset: Dataset, seed: int) -> dict[str, Any]:
    """Are the rationales what the model goes by? Means over them, counts of them, and what is known of the model."""
    schema = dataset.graphs.schema
    found = find_rationales(model, seed=seed, graphs=dataset.train)
    alone = find_rationales(model, replace(decoding_for(schema), training_graphs=0), seed)
    each, whole = rationale_measures(model, found, dataset.test, seed)
    holder, fall = ([value for one in each if (value := one[key]) is not None] for key in ("holder_auc", "deletion"))
    drawn = [(one, int(label)) for one, label in zip(found.structures, found.label, strict=True) if one is not None]
    scores: dict[str, Any] = {
        "explainer": OWN,
        **whole,
        "rationale_f1_1": rationale_scores(with_rationales(model.classifier), dataset.test, seed)["rationale_f1"]["1"],
        "reached": len(drawn) / len(found),
        "reached_by_decoder_alone": sum(one is not None for one in alone.structures) / len(found),
        "deletion_above_0": sum(value > 0 for value in fall) / len(fall) if fall else None,
        "holder_auc": fmean(holder) if holder else None,
        "records": rationale_records(found, schema, measures=each),
    }
    if schema.kind == "molecule":
        first = [bool(kind_of(schema).alerts(one)) for one, label in drawn if label == 0]
        scores["first_class_with_alert"] = sum(first) / max(1, int((found.label == 0).sum()))
    if dataset.graphs.edge_truth is not None:
        known = with_known_reasons(dataset.test, dataset.name)
        scores["edge_roc_auc"] = judged(model.classifier, known, [_explained(model, found, known, seed)])[
            "edge_roc_auc"
        ]
    return scores


def own_scores(model: TrainedModel, dataset: Dataset, seed: int, limit: int | None) -> dict[str, Any]:
    """Scores of explanation by the decoded rationales, on the graphs that the other explainers are judged on."""
    graphs = subset(with_known_reasons(dataset.test, dataset.name), limit, seed)
    rationales = find_rationales(model, seed=seed, graphs=dataset.train)
    return {"explainer": OWN, **judged(model.classifier, graphs, [_explained(model, rationales, graphs, seed)])}


def _explained(model: TrainedModel, rationales: Rationales, graphs: PackedGraphs, seed: int) -> Explanations:
    started = time.process_time()
    found = explain_by_rationales(model, rationales, graphs, seed)
    seconds = (time.process_time() - started) / max(len(graphs), 1)
    nodes = nodes_of_edges(found.edge_score, graphs.global_edge_index, len(graphs.x))
    return Explanations(found.edge_score, nodes, found.target, "edges", seconds)
