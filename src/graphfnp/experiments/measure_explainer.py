"""What is measured of an explainer: Rationale F1 of what it finds, or its scores against known reasons."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from graphfnp.datasets.dataset import Dataset
from graphfnp.decoding import find_rationales
from graphfnp.decoding.explanation import explain_by_rationales
from graphfnp.experiments.cell import Cell
from graphfnp.experiments.provenance import provenance, reset_peak_memory, rounded
from graphfnp.explainers.edge_masks import nodes_of_edges
from graphfnp.explainers.explanations import Explanations, global_edge_index
from graphfnp.explainers.scores import explainer_rationale_f1, explanation_scores, judged, subset, with_known_reasons
from graphfnp.prediction import TrainedModel, predict
from graphfnp.run import METRICS, Run, execute
from graphfnp.training import Event

OWN = "rationales"  # GraphFNP explains by its own


def measure_explainer(
    cell: Cell, dataset: Dataset, folder: Path, watch: Callable[[Event], None] | None = None
) -> dict[str, Any]:
    """The record of a cell that explains: the model is that of the cell's training, trained now if it is not there."""
    reset_peak_memory()
    place = folder.parent / cell.trained.key
    run = Run(place) if (place / METRICS).exists() else execute(cell.plan, place, dataset, resume=True, watch=watch)
    started = time.perf_counter()
    scores = explained(run.model, dataset, cell.explain, cell.seed)
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
    if name == OWN:
        return own_scores(model, dataset, seed, limit)
    return explanation_scores(model.classifier, dataset, name, seed, limit, repeats=explain.get("repeats", 1))


def own_scores(model: TrainedModel, dataset: Dataset, seed: int, limit: int | None) -> dict[str, Any]:
    """Scores of explanation by the decoded rationales, on the graphs that the other explainers are judged on."""
    graphs = subset(with_known_reasons(dataset.test, dataset.name), limit, seed)
    rationales = find_rationales(model, seed=seed, graphs=dataset.train)
    assert rationales is not None
    started = time.process_time()
    found = explain_by_rationales(model, rationales, graphs, seed)
    seconds = (time.process_time() - started) / max(len(graphs), 1)
    target = predict(model, graphs, seed=seed).probabilities.argmax(-1)
    nodes = nodes_of_edges(found.edge_score, global_edge_index(graphs), len(graphs.x))
    own = Explanations(found.edge_score, nodes, target, "edges", seconds)
    return {"explainer": OWN, **judged(model.classifier, graphs, [own])}
