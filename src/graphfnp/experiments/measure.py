"""What is measured of a cell, a training or an explainer of what was trained; and where the numbers come from."""

import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from statistics import fmean
from typing import Any

import torch

from graphfnp.datasets.dataset import Dataset
from graphfnp.datasets.load import load
from graphfnp.errors import Diverged
from graphfnp.experiments.cell import Cell
from graphfnp.explainers.explanations import Explanations, nodes_of_edges
from graphfnp.explainers.scores import explainer_rationale_f1, explanation_scores, judged, subset, with_known_reasons
from graphfnp.files import read_json, write_tensors
from graphfnp.graphs.packed import PackedGraphs
from graphfnp.kinds.kind_of import kind_of
from graphfnp.methods.contract import with_rationales
from graphfnp.methods.rationales import Rationales
from graphfnp.metrics.calibration_error import reliability_bins
from graphfnp.metrics.evaluation import rationale_scores
from graphfnp.metrics.scores import all_scores, negative_log_likelihood, risk_coverage
from graphfnp.prediction.calibration import Calibration, Kind, fit_calibration
from graphfnp.prediction.label_mix import as_trained
from graphfnp.prediction.predict import RawPredictions, TrainedModel, collect
from graphfnp.prediction.predictions import Predictions
from graphfnp.rationales.config import decoding_for
from graphfnp.rationales.explain import explain_by_rationales
from graphfnp.rationales.find import find_rationales
from graphfnp.rationales.measures import rationale_measures
from graphfnp.rationales.records import rationale_records
from graphfnp.runs.checkpoint import METRICS
from graphfnp.runs.run import Run, execute, library_versions
from graphfnp.training.train import Event


def provenance(cell: Cell, seconds: float) -> dict[str, Any]:
    return {
        "code": code_revision(),
        "versions": library_versions(),
        "seconds": seconds,
        "peak_mib": peak_memory(),
        "threads": torch.get_num_threads(),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": cell.plan.command,
    }


@lru_cache(maxsize=1)
def code_revision() -> str | None:
    """The commit the code is at, with a + if it has been changed since; None outside a repository."""
    place = Path(__file__).parent
    try:
        commit = subprocess.run(
            ["git", "rev-parse", "--short=12", "HEAD"], cwd=place, capture_output=True, text=True, check=True
        ).stdout.strip()
        changed = subprocess.run(
            ["git", "status", "--porcelain", "--", "."], cwd=place, capture_output=True, text=True, check=True
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    return commit + ("+" if changed else "")


def reset_peak_memory() -> None:
    """Workers do many cells: without this the peak of a cell would be the largest so far. Linux only."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak_memory() -> float | None:
    """Most resident memory since the reset, in MiB."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), None)


def rounded(value: Any) -> Any:
    """Six digits are more than any of these numbers means, and keep the files small."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, Mapping):
        return {name: rounded(item) for name, item in value.items()}
    return [rounded(item) for item in value] if isinstance(value, list | tuple) else value


OWN = "rationales"  # GraphFNP explains by its own


def measure_explainer(
    cell: Cell, dataset: Dataset, folder: Path, watch: Callable[[Event], None] | None = None
) -> dict[str, Any]:
    """The record of a cell that explains: the model is that of the cell's training, trained now if it is not there."""
    place = folder.parent / cell.trained.key
    run = Run(place) if (place / METRICS).exists() else execute(cell.plan, place, dataset, resume=True, watch=watch)
    started = time.perf_counter()
    scores = explained(as_trained(run.model), dataset, cell.explain, cell.seed)
    return rounded(
        {
            **described(cell),
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
    if (kind := kind_of(schema)).knows_alerts:
        first = [bool(kind.alerts(one)) for one, label in drawn if label == 0]
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


PREDICTIONS = "predictions.safetensors"
SCALARS: dict[str, Kind] = {"raw": "none", "soft": "soft", "free": "temperature"}  # claims are judged by soft
KEPT = (
    "accuracy", "auroc", "auprc", "nll", "brier",
    "ece", "ece_interval", "ece_floor", "ece_adaptive", "ece_positive_class",
)  # fmt: skip


def measure(cell: Cell, folder: Path, watch: Callable[[Event], None] | None = None) -> dict[str, Any]:
    """The record of a cell. A training that diverges has no scores; that it diverged is its result."""
    dataset = dataset_of(cell.dataset, tuple(sorted(cell.data.items())), cell.seed)
    reset_peak_memory()
    started = time.perf_counter()
    try:
        return (measure_explainer if cell.explain else measure_training)(cell, dataset, folder, watch)
    except Diverged as error:
        seconds = time.perf_counter() - started
        return {**described(cell), "diverged": error.given, "provenance": provenance(cell, seconds)}


def described(cell: Cell) -> dict[str, Any]:
    return {name: value for name, value in cell.content.items() if name != "recipe"}


def measure_training(
    cell: Cell, dataset: Dataset, folder: Path, watch: Callable[[Event], None] | None = None
) -> dict[str, Any]:
    """Its content, scores on validation and test, diagnostics and provenance."""
    started = time.perf_counter()
    run = execute(cell.plan, folder, dataset, resume=True, watch=watch)
    seconds = time.perf_counter() - started
    classifier = run.model.classifier
    validation, test = (collect(classifier, part, seed=cell.seed) for part in (dataset.validation, dataset.test))
    y, weight = dataset.validation.y, classifier.class_weight
    judged = {name: fit_calibration(kind, validation.logits, y, weight) for name, kind in SCALARS.items()}
    _keep(folder, validation, test, dataset)
    metrics = read_json(folder / METRICS)
    history = run.history
    return rounded(
        {
            **described(cell),
            "validation": {
                "nll": weighted_nll(judged["soft"], validation, y, weight),
                "nll_raw": weighted_nll(judged["raw"], validation, y, weight),
                "scores": scores(judged["soft"], validation, y),
            },
            "test": {name: scores(calibration, test, dataset.test.y) for name, calibration in judged.items()},
            "temperature": {name: calibration.to_json()["temperature"] for name, calibration in judged.items()},
            "rationale_f1": {
                name: metrics[name] for name in ("rationale_f1", "rationale_f1_macro", "rationale_f1_constant")
                if name in metrics
            },
            "epochs": len(history),
            "diagnostics": _diagnostics(history[-1] if history else {}),
            "provenance": provenance(cell, seconds),
        }
    )  # fmt: skip


@lru_cache(maxsize=4)
def dataset_of(name: str, options: tuple[tuple[str, Any], ...], seed: int) -> Dataset:
    return load(name, seed=seed, **dict(options))


def scores(calibration: Calibration, raw: RawPredictions, y: torch.Tensor) -> dict[str, Any]:
    predictions = Predictions(calibration.apply(raw.logits), y, raw.distance)
    found = all_scores(predictions)
    errors = (predictions.label != y).double()
    area = risk_coverage(1 - predictions.confidence, errors).area
    return {**{name: found[name] for name in KEPT}, "aurc": area, "bins": _bins(predictions)}


def _bins(predictions: Predictions) -> list[list[float]]:
    """Share, confidence and accuracy of each bin that is not empty: a reliability curve, without the graphs."""
    bins = reliability_bins(predictions.probabilities, predictions.y)
    rows = torch.stack([bins.share, bins.confidence, bins.accuracy], dim=1)
    return [[float(f"{value:.3g}") for value in row] for row in rows[bins.share > 0].tolist()]


def weighted_nll(calibration: Calibration, raw: RawPredictions, y: torch.Tensor, weight: torch.Tensor) -> float:
    """What choices are made by: validation NLL in which every class weighs as it does in training."""
    probabilities = calibration.apply(raw.logits).mean(0)
    return float(negative_log_likelihood(probabilities, y, weight))


def _keep(folder: Path, validation: RawPredictions, test: RawPredictions, dataset: Dataset) -> None:
    """Logits of both parts beside the model: other calibrations can be tried without training again."""
    tensors = {}
    for name, raw, y in (("validation", validation, dataset.validation.y), ("test", test, dataset.test.y)):
        tensors[f"{name}.logits"] = raw.logits.half().contiguous()
        tensors[f"{name}.y"] = y.contiguous()
        if raw.distance is not None:
            tensors[f"{name}.distance"] = raw.distance.contiguous()
    write_tensors(folder / PREDICTIONS, tensors)


def _diagnostics(record: dict[str, float]) -> dict[str, float]:
    """Is the method alive? The log of the last epoch, without losses and times."""
    known = {"epoch", "seconds", "validation_nll", "validation_nll_raw", "validation_accuracy"}
    return {
        name.rpartition("/")[2]: value
        for name, value in record.items()
        if name.endswith("/kl") or (name not in known and "/" not in name)
    }
