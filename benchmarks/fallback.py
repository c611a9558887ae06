"""What the distance earns in the fallback: ``python benchmarks/fallback.py [--json]``.

Reads the logits that the cells of the calibration table left in runs/cells (fill the table first) and fits on
validation, for each seed: a temperature; a fallback that is the same for all graphs; and, where there is a distance,
the fallback by distance. Test scores are means over seeds. With ``--json`` they go to results/fallback.json.
"""

import argparse
import json
from pathlib import Path
from statistics import fmean

import torch

from graphfnp.calibration import Calibration, fit_calibration
from graphfnp.checkpoint import read_tensors
from graphfnp.class_balance import class_weights
from graphfnp.datasets.load import load
from graphfnp.experiments.measure import PREDICTIONS
from graphfnp.experiments.results import Results
from graphfnp.experiments.tables import TABLES, Group
from graphfnp.metrics.calibration_error import expected_calibration_error
from graphfnp.metrics.scores import auroc, brier, negative_log_likelihood

ROOT = Path(__file__).parent.parent
METHODS = ("graphfnp", "no-rationales", "vanilla", "deep-ensemble")


def fitted(tensors: dict, weight: torch.Tensor) -> dict[str, tuple[Calibration, torch.Tensor | None]]:
    """Each scalar with the distances of the test graphs it acts on."""
    logits, y = tensors["validation.logits"].float(), tensors["validation.y"]
    distance = {part: tensors.get(f"{part}.distance") for part in ("validation", "test")}
    alike = {part: torch.full((len(tensors[f"{part}.y"]),), 0.5) for part in distance}
    found = {
        "none": (Calibration(), None),
        "temperature": (fit_calibration(logits, y, None, weight, ("temperature",)), None),
        "constant fallback": (fit_calibration(logits, y, alike["validation"], weight, ("fallback",)), alike["test"]),
    }
    if distance["validation"] is not None:
        by_distance = fit_calibration(logits, y, distance["validation"], weight, ("fallback",))
        found["fallback by distance"] = (by_distance, distance["test"])
    return found


def scores(group: Group, results: Results, keep: Path) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, list[float]]] = {}
    for cell in group.cells(results):
        if not (keep / cell.key / PREDICTIONS).exists():
            return {}
        tensors, _ = read_tensors(keep / cell.key / PREDICTIONS)
        weight = class_weights(load(cell.dataset, seed=cell.seed, **cell.data).train, "balanced")
        y = tensors["test.y"]
        for name, (calibration, distance) in fitted(tensors, weight).items():
            p = calibration.apply(tensors["test.logits"].float(), distance).mean(0)
            values = {
                "nll": float(negative_log_likelihood(p, y)), "brier": float(brier(p, y)),
                "auroc": auroc(p, y) or float("nan"),
                "ece": float(expected_calibration_error(p, y)),
                "scalar": calibration.fallback or calibration.temperature,
            }  # fmt: skip
            for measure, value in values.items():
                found.setdefault(name, {}).setdefault(measure, []).append(value)
    return {name: {k: round(fmean(v), 4) for k, v in values.items()} for name, values in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", type=Path, default=ROOT / "runs" / "cells")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    results = Results(ROOT / "results" / "cells")
    record = {}
    for group in TABLES["calibration"].only(methods=list(METHODS)).groups():
        if len(group.finished(results)) == len(group.seeds) and (found := scores(group, results, options.keep)):
            record[group.name] = found
            for name, values in found.items():
                print(f"{group.name:32s} {name:22s}", "  ".join(f"{k} {v:.3f}" for k, v in values.items()))
    if options.json:
        content = {"command": "python benchmarks/fallback.py --json", "test": record}
        (ROOT / "results" / "fallback.json").write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
