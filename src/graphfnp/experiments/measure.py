"""What is measured of a cell: train as planned, then score the test part raw, soft and free, as every method is."""

import time
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

from graphfnp.datasets.dataset import Dataset
from graphfnp.datasets.load import load
from graphfnp.experiments.cell import Cell
from graphfnp.experiments.measure_explainer import measure_explainer
from graphfnp.experiments.provenance import provenance, reset_peak_memory, rounded
from graphfnp.files import read_json, write_tensors
from graphfnp.metrics.calibration_error import reliability_bins
from graphfnp.metrics.scores import all_scores, negative_log_likelihood
from graphfnp.metrics.selective import risk_coverage
from graphfnp.prediction.calibration import Calibration, Kind, fit_calibration
from graphfnp.prediction.predict import RawPredictions, collect
from graphfnp.prediction.predictions import Predictions
from graphfnp.runs.checkpoint import METRICS
from graphfnp.runs.run import execute
from graphfnp.training.train import Event

PREDICTIONS = "predictions.safetensors"
SCALARS: dict[str, Kind] = {"raw": "none", "soft": "soft", "free": "temperature"}  # claims are judged by soft
KEPT = (
    "accuracy", "auroc", "auprc", "nll", "brier",
    "ece", "ece_interval", "ece_floor", "ece_adaptive", "ece_positive_class",
)  # fmt: skip


def measure(cell: Cell, folder: Path, watch: Callable[[Event], None] | None = None) -> dict[str, Any]:
    """The record of a cell: its content, scores on validation and test, diagnostics and provenance."""
    dataset = dataset_of(cell.dataset, tuple(sorted(cell.data.items())), cell.seed)
    if cell.explain:
        return measure_explainer(cell, dataset, folder, watch)
    reset_peak_memory()
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
            **{name: value for name, value in cell.content.items() if name != "recipe"},
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
