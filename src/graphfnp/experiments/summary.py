"""Means, spreads and paired tests over seeds: what a table says of its finished cells."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, sqrt
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from scipy.stats import t as student

from graphfnp.experiments.results import Results
from graphfnp.experiments.tables import Group, Table

COSTS = "inference.json"
SCORES = (
    "ece", "nll", "brier", "auroc", "accuracy", "auprc", "aurc", "ece_adaptive", "ece_positive_class", "ece_floor",
)  # fmt: skip
MORE_IS_BETTER = (
    "auroc", "accuracy", "auprc", "rationale_f1_1", "rationale_f1_3", "rationale_f1_macro_1", "edge_roc_auc",
    "link_precision_mean", "link_precision_worst", "nearest_rationale_accuracy", "reached", "reached_by_decoder_alone",
    "holder_auc", "deletion_above_0", "shuffled_auroc", "precision_at_truth", "fidelity_label_plus",
    "fidelity_probability_plus", "stability",
)  # fmt: skip
# Ways the test part is scored, the same for every method; a measure without a suffix is soft, which claims go by.
SUFFIXES = {"": "soft", "_raw": "raw", "_soft": "soft", "_free": "free"}


@dataclass(frozen=True)
class Paired:
    """A difference over common seeds, this minus that."""

    mean: float
    error: float  # standard error of the mean
    p: float  # of Student's paired test, two-sided
    seeds: int

    @property
    def lower(self) -> float:
        """One-sided: how probable so low a mean is if this is not lower than that."""
        return self.p / 2 if self.mean < 0 else 1 - self.p / 2


def summary(group: Group, results: Results) -> dict[str, Any] | None:
    """One entry of ``--json``: mean and standard deviation over seeds of every measure; None before the first cell.

    Seeds whose training diverged are counted and have no part in the means, so the entry is not complete.
    """
    records, diverged = group.finished(results), group.diverged(results)
    if not records and not diverged:
        return None
    entry: dict[str, Any] = {
        "dataset": group.column.name, "backbone": group.backbone, "method": group.row.label,
        "seeds": [record["seed"] for record in records], "complete": len(records) == len(group.seeds),
        "choice": dict(group.choice(results).overrides or {}),
        **({"diverged": diverged} if diverged else {}),
    }  # fmt: skip
    for name, values in measures(records).items():
        entry[f"{name}_mean"], entry[f"{name}_std"] = fmean(values), stdev(values) if len(values) > 1 else 0.0
    return entry


def measures(records: Sequence[Mapping[str, Any]]) -> dict[str, list[float]]:
    """Every measure as a list over cells; those that a cell lacks are left out."""
    found: dict[str, list[float]] = {}
    for record in records:
        for name, value in _of_cell(record).items():
            found.setdefault(name, []).append(value)
    return {name: values for name, values in found.items() if len(values) == len(records)}


def _of_cell(record: Mapping[str, Any]) -> dict[str, float]:
    if "explanation" in record:
        return _flat(record["explanation"])
    flat = {
        score + suffix: record["test"][scalar][score]
        for suffix, scalar in SUFFIXES.items()
        for score in SCORES
        if record["test"][scalar].get(score) is not None
    }
    further = {"validation_nll": record["validation"]["nll"], "seconds": record["provenance"]["seconds"]}
    return {**flat, **_flat(record["rationale_f1"]), **further, **record["diagnostics"], "epochs": record["epochs"]}


def _flat(record: Mapping[str, Any]) -> dict[str, float]:
    """Numbers by name, those of an inner record as name_inner."""
    found: dict[str, float] = {}
    for name, value in record.items():
        if isinstance(value, Mapping):
            found |= {f"{name}_{inner}": number for inner, number in _flat(value).items()}
        elif isinstance(value, int | float) and isfinite(value):  # a measure of nothing is lacking
            found[name] = value
    return found


def paired(
    this: Sequence[Mapping[str, Any]], that: Sequence[Mapping[str, Any]], measure: str, overlap: float = 0.0
) -> Paired | None:
    """This minus that on the seeds both have; None with fewer than two.

    Random splits of the same graphs are not independent: error^2 = s^2 (1 / n + ``overlap``), the test part's size over
    the training part's (Nadeau and Bengio 2003). Without overlap this is Student's paired test.
    """
    ours, theirs = ({record["seed"]: _of_cell(record).get(measure) for record in records} for records in (this, that))
    pairs = [(ours[seed], theirs.get(seed)) for seed in ours]
    differences = [mine - other for mine, other in pairs if mine is not None and other is not None]
    if (count := len(differences)) < 2:
        return None
    mean, error = fmean(differences), stdev(differences) * sqrt(1 / count + overlap)
    p = 2 * float(student.sf(abs(mean) / error, count - 1)) if error > 0 else float(mean == 0)
    return Paired(mean, error, p, count)


def holm(p: Sequence[float]) -> list[float]:
    """Holm's correction for the number of tests: of the i-th smallest of m, the largest so far of (m - i + 1) p.

    >>> [round(q, 2) for q in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(p)), key=p.__getitem__)
    corrected, largest = [0.0] * len(p), 0.0
    for place, number in enumerate(order):
        largest = max(largest, min(1.0, (len(p) - place) * p[number]))
        corrected[number] = largest
    return corrected


def summaries(table: Table, results: Results) -> list[dict[str, Any]]:
    return [entry for group in table.groups() if (entry := summary(group, results)) is not None]


def costs(folder: Path) -> dict[str, float]:
    """Seconds to predict over those of Vanilla, by method, as benchmarks/inference.py measured them side by side."""
    path = folder / COSTS
    return json.loads(path.read_text())["ratio"] if path.is_file() else {}
