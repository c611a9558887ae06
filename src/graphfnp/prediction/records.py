"""One record for each row of an input: what was predicted, how surely and why, or why it could not be.

A record has the same fields everywhere. :func:`record_table` makes them as columns (Parquet, CSV), and
:func:`prediction_records` gives the very same values as dictionaries (Python, JSON), with the model's provenance.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from torch import Tensor

from graphfnp.graphs.packed import PackedGraphs, Schema
from graphfnp.graphs.pointers import pointer_array
from graphfnp.graphs.problem import Problem
from graphfnp.methods.contract import with_rationales
from graphfnp.prediction.arrow import column, json_texts
from graphfnp.prediction.conformal import LEVEL
from graphfnp.prediction.domain import Placement
from graphfnp.prediction.label_mix import assumed_mix
from graphfnp.prediction.predict import TrainedModel, conformal_sets
from graphfnp.prediction.predictions import Predictions

OK, FAILED = "ok", "failed"
DECIMALS = 6  # more than the draws mean, and short to write
SHOWN_RATIONALES = 3
INTERVAL = 0.9  # of the draws, between low and high
LISTS = ("conformal_set", "rationales", "nearest")

_RATIONALE = pa.struct([("rationale", pa.int32()), ("class", pa.string()), ("weight", pa.float64())])
_NEIGHBOUR = pa.struct([("row", pa.int64()), ("input", pa.string()), ("similarity", pa.float64())])


def record_schema(schema: Schema) -> pa.Schema:
    """The columns of every record for a model of this schema, in order."""
    numbers = ["probability", "low", "high", *(f"p({name})" for name in schema.class_names)]
    numbers += ["total_uncertainty", "data_uncertainty", "model_uncertainty", "distance"]
    forms = [("standardised", pa.string()), ("changes", pa.string())] if schema.standardise else []
    return pa.schema(
        [
            ("row", pa.int64()), ("input", pa.string()), *forms, ("status", pa.string()), ("reason", pa.string()),
            ("class", pa.string()), *((name, pa.float64()) for name in numbers),
            ("conformal_set", pa.list_(pa.string())), ("conformal_level", pa.float64()),
            ("domain_score", pa.float64()), ("domain_verdict", pa.string()),
            ("rationales", pa.list_(_RATIONALE)), ("nearest", pa.list_(_NEIGHBOUR)), ("decision", pa.string()),
            ("model", pa.string()),
        ]
    )  # fmt: skip


def record_table(
    model: TrainedModel,
    predictions: Predictions | None,
    graphs: PackedGraphs | None,
    rows: Sequence[int],
    problems: Sequence[Problem],
    level: float = LEVEL,
) -> pa.Table:
    """Records as columns, by row; graph g is row ``rows[g]``, and a row that is no graph has a reason, not numbers."""
    schema = record_schema(model.classifier.schema)
    numbers = np.array([*rows, *(problem.row for problem in problems)], dtype=np.int64)
    order, good = numbers.argsort(kind="stable"), len(rows)
    given = [f"graph {row}" for row in rows] if graphs is None or graphs.text is None else list(graphs.text)
    origin = None if graphs is None else graphs.origin
    given = given if origin is None else [one.given for one in origin]
    columns: dict[str, Any] = {
        "row": numbers,
        "input": given + [problem.given for problem in problems],
        "status": [OK] * good + [FAILED] * len(problems),
        "reason": [""] * good + [problem.reason for problem in problems],
        "model": [model.id] * len(numbers),
    }
    if graphs is not None and origin is not None:
        none = [None] * len(problems)
        columns |= {"standardised": [*(graphs.text or ()), *none], "changes": [*(one.changes for one in origin), *none]}
    if predictions is not None and good:
        found = _columns(model, predictions, level)
        columns |= {name: _lengthened(c, len(problems), schema.field(name).type) for name, c in found.items()}
    arrays = [
        column(columns[field.name], field.type) if field.name in columns else pa.nulls(len(numbers), field.type)
        for field in schema
    ]
    table = pa.table(arrays, schema=schema)
    if np.array_equal(order, np.arange(len(order))):
        return table
    return table.take(column(order, pa.int64())).combine_chunks()


def prediction_records(
    model: TrainedModel,
    predictions: Predictions | None,
    graphs: PackedGraphs | None,
    rows: Sequence[int],
    problems: Sequence[Problem],
    level: float = LEVEL,
) -> list[dict[str, Any]]:
    """:func:`record_table` as dictionaries."""
    return as_dictionaries(model, record_table(model, predictions, graphs, rows, problems, level))


def as_dictionaries(model: TrainedModel, table: pa.Table) -> list[dict[str, Any]]:
    """The records of a table, ready for JSON.

    ``calibration`` is the model's provenance, with the label mix that the probabilities assume.
    """
    mix, names = assumed_mix(model), model.classifier.schema.class_names
    named = None if mix is None else dict(zip(names, mix, strict=True))
    known = None if model.provenance is None else {**model.provenance.to_json(), "label_mix": named}
    return [{**record, "calibration": known} for record in table.to_pylist()]


def as_text(table: pa.Table) -> pa.Table:
    """The same records for CSV, which has no lists: these as JSON."""
    for name in LISTS:
        texts = column(json_texts(table[name].combine_chunks()), pa.string())
        table = table.set_column(table.schema.get_field_index(name), name, texts)
    return table


# ---------------------------------------------------------------- columns of rows that were predicted


def _columns(model: TrainedModel, predictions: Predictions, level: float) -> dict[str, Any]:
    names = np.array(model.classifier.schema.class_names, dtype=object)
    label = predictions.label.numpy()
    chosen = np.arange(len(label)), label
    probabilities, interval = _rounded(predictions.probabilities), _rounded(predictions.interval(INTERVAL))
    columns: dict[str, Any] = {
        "class": names[label],
        "probability": probabilities[chosen],
        "low": interval[chosen][:, 0],
        "high": interval[chosen][:, 1],
        **{f"p({name})": probabilities[:, k] for k, name in enumerate(names)},
        **{f"{kind}_uncertainty": _rounded(getattr(predictions, f"{kind}_uncertainty")) for kind in _KINDS},
    }
    if predictions.distance is not None:
        columns["distance"] = _rounded(predictions.distance)
    sets = conformal_sets(model, predictions, level)
    if sets is not None:
        columns["conformal_set"] = _members(sets, names)
        columns["conformal_level"] = np.full(len(label), level)
    if model.decision is not None:
        columns["decision"] = names[model.decision.says(predictions.probabilities).numpy()]
    if predictions.domain is not None:
        columns |= _domain_columns(predictions.domain)
    if predictions.correlation is not None:
        label_of_rationale = with_rationales(model.classifier).rationales().label
        columns["rationales"] = _correlated(predictions.correlation, names[label_of_rationale.cpu().numpy()])
    return columns


_KINDS = ("total", "data", "model")


def _members(sets: Tensor, names: np.ndarray) -> pa.Array:
    """The classes of each conformal set."""
    found = sets.numpy()
    return pa.ListArray.from_arrays(_offsets(found.sum(1)), column(names[found.nonzero()[1]], pa.string()))


def _domain_columns(place: Placement) -> dict[str, Any]:
    count = place.nearest.shape[1]
    text = None if place.text is None else [name for near in place.text for name in near]
    near = pa.StructArray.from_arrays(
        [
            column(place.nearest.flatten().numpy(), pa.int64()),
            pa.nulls(len(place) * count, pa.string()) if text is None else column(text, pa.string()),
            column(_rounded(place.similarity.flatten(), 4), pa.float64()),
        ],
        fields=list(_NEIGHBOUR),
    )
    return {
        "domain_score": _rounded(place.score),
        "domain_verdict": place.verdicts,
        "nearest": pa.ListArray.from_arrays(_offsets(np.full(len(place), count)), near),
    }


def _correlated(correlation: Tensor, label: np.ndarray) -> pa.Array:
    """The few rationales that each graph is most often correlated with, numbered from 1; of equal ones the first."""
    weight = _rounded(correlation, 4)
    most = np.argsort(-weight, axis=1, kind="stable")[:, :SHOWN_RATIONALES]
    parts = [
        column(1 + most.ravel(), pa.int32()),
        column(label[most.ravel()], pa.string()),
        column(np.take_along_axis(weight, most, 1).ravel(), pa.float64()),
    ]
    found = pa.StructArray.from_arrays(parts, fields=list(_RATIONALE))
    return pa.ListArray.from_arrays(_offsets(np.full(len(most), most.shape[1])), found)


def _offsets(sizes: np.ndarray) -> pa.Array:
    return column(pointer_array(sizes), pa.int32())


def _rounded(values: Tensor, decimals: int = DECIMALS) -> np.ndarray:
    return values.double().numpy().round(decimals)


def _lengthened(values: Any, more: int, kind: pa.DataType) -> pa.Array:
    """With nulls at the end, for the rows that were not predicted."""
    found = column(values, kind)
    return pa.concat_arrays([found, pa.nulls(more, found.type)]) if more else found
