"""One plain record for each row of an input: what was predicted, how surely, or why it could not be."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from graphfnp.datasets.dataset import Problem
from graphfnp.graphs import PackedGraphs, Schema
from graphfnp.predictions import Predictions


def prediction_records(
    predictions: Predictions | None,
    graphs: PackedGraphs | None,
    schema: Schema,
    rows: Sequence[int],
    problems: Sequence[Problem],
    sets: Tensor | None = None,
) -> list[dict[str, Any]]:
    """Records in the order of the input's rows; a row that is no graph has a reason in place of numbers.

    ``sets`` [graphs, classes] are the model's conformal sets, if it has any.
    """
    records = {problem.row: _refused(problem, schema) for problem in problems}
    if predictions is not None and graphs is not None:
        records.update(zip(rows, _predicted(predictions, graphs, schema, rows, sets), strict=True))
    return [records[row] for row in sorted(records)]


def _predicted(
    predictions: Predictions, graphs: PackedGraphs, schema: Schema, rows: Sequence[int], sets: Tensor | None
):
    probabilities, interval = predictions.probabilities.tolist(), predictions.interval().tolist()
    labels = predictions.label.tolist()
    uncertainty = [getattr(predictions, f"{kind}_uncertainty").tolist() for kind in ("total", "data", "model")]
    distance = [None] * len(rows) if predictions.distance is None else predictions.distance.tolist()
    members = None if sets is None else [[schema.class_names[k] for k in row.nonzero()[:, 0].tolist()] for row in sets]
    place = predictions.domain
    verdicts, scores = (None, None) if place is None else (place.verdicts, place.score.tolist())
    for g, row in enumerate(rows):
        label = labels[g]
        yield {
            "row": row,
            "input": graphs.text[g] if graphs.text else f"graph {row}",
            "status": "ok",
            "reason": "",
            "class": schema.class_names[label],
            "probability": probabilities[g][label],
            "low": interval[g][label][0],
            "high": interval[g][label][1],
            **{f"p({name})": probabilities[g][k] for k, name in enumerate(schema.class_names)},
            **{f"{kind}_uncertainty": uncertainty[k][g] for k, kind in enumerate(("total", "data", "model"))},
            "distance": distance[g],
            "conformal_set": None if members is None else members[g],
            "domain_score": None if scores is None else scores[g],
            "domain_verdict": None if verdicts is None else verdicts[g],
            "nearest": None if place is None else place.neighbours(g),
        }


def _refused(problem: Problem, schema: Schema) -> dict[str, Any]:
    empty = ("class", "probability", "low", "high", *(f"p({name})" for name in schema.class_names))
    empty += ("total_uncertainty", "data_uncertainty", "model_uncertainty", "distance", "conformal_set")
    empty += ("domain_score", "domain_verdict", "nearest")
    given = {"row": problem.row, "input": problem.given, "status": "failed", "reason": problem.reason}
    return {**given, **dict.fromkeys(empty)}
