"""What ``graphfnp calibrate`` does, once the heavy libraries may be imported."""

import json
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer
from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from graphfnp.cli.console import conformal_row, err, number, percent
from graphfnp.cli.console import out as console
from graphfnp.cli.foreign import unseen_graphs
from graphfnp.cli.mix import mix_line
from graphfnp.errors import InvalidConfig
from graphfnp.files import read_json, write_json
from graphfnp.metrics.scores import all_scores, conformal_scores
from graphfnp.prediction.calibrate import calibrate, checked_kind, cross_fitted
from graphfnp.prediction.conformal import LEVEL, Conformal
from graphfnp.prediction.label_mix import assumed_mix
from graphfnp.prediction.predict import TrainedModel
from graphfnp.prediction.predictions import Predictions
from graphfnp.prediction.saving import MODEL_RECORD
from graphfnp.runs.bundles import is_bundled, open_run
from graphfnp.runs.run import CONFIG, EPOCHS, SPLIT

COPIED = (CONFIG, SPLIT, EPOCHS, "*.safetensors")  # not the measures and the report, which are of the old calibration
SHOWN = ("ece", "ece_floor", "nll", "brier", "accuracy", "num_graphs")


def calibrate_run(
    folder: Path,
    source: str,
    kind: str,
    conformal_share: float,
    target: Path | None,
    options: Mapping[str, Any],
    seed: int,
    data: Path | None,
    as_json: bool,
) -> None:
    run, chosen = open_run(folder), checked_kind(kind, conformal_share)
    folder = run.folder
    if is_bundled(run) and target is None:
        raise InvalidConfig(
            f"{folder.name}, which is bundled", "--out FOLDER for the calibrated copy", "name a new folder"
        )
    if source == run.plan.dataset:
        raise InvalidConfig(
            f"{source}, which the run was trained on",
            "graphs the model has not seen",
            "give another file; the run is calibrated on its own validation part already",
        )
    if target is not None and target.exists():
        raise InvalidConfig(f"--out {target}, which exists", "a new folder", "choose another folder")
    model, (graphs, note) = run.model, unseen_graphs(run, source, options, data, seed)
    if note:
        err.print(f"note: {note}, and are left out of the calibration", style="yellow", highlight=False, markup=False)
    before, after, sets = cross_fitted(model, graphs, chosen, seed=seed)
    fitted = calibrate(model, graphs, chosen, conformal_share, seed)
    if fitted.provenance is not None:
        part = f"{Path(source).name}, each fifth by a fit on the others"
        fitted = replace(fitted, provenance=fitted.provenance.with_measures(part, all_scores(after)))
    assert fitted.conformal is not None
    _write(fitted, fitted.conformal, folder, target or folder, source)
    facts = {
        "before": _scores(before),
        "after": _scores(after),
        "conformal": {"level": LEVEL, **conformal_scores(sets, after.y), **fitted.conformal.facts()},
        "calibration": fitted.calibration.to_json(),
        "label_mix": assumed_mix(fitted),
        "left_out": note,
        "run": str(target or folder),
    }
    if as_json:
        typer.echo(json.dumps(facts, indent=1))
        return
    console.print(_table(facts, f"{chosen} calibration on {source}"))
    console.print("after: every graph judged by a fit on four fifths of the others", style="dim")
    console.print(mix_line(fitted), style="dim", highlight=False, markup=False)
    console.print(f"sets: {fitted.conformal.guarantee}", style="dim")
    console.print(f"run     {target or folder}", highlight=False, markup=False)
    console.print(f"measure it on its test part: graphfnp evaluate {target or folder}", style="dim", markup=False)


def _write(model: TrainedModel, conformal: Conformal, folder: Path, target: Path, source: str) -> None:
    """The new calibration in the model's record, in place or in a copy."""
    record = read_json(folder / MODEL_RECORD)
    if target != folder:
        target.mkdir(parents=True)
        for path in (path for pattern in COPIED for path in folder.glob(pattern)):
            shutil.copy2(path, target)
    record["calibration"], record["conformal"] = model.calibration.to_json(), conformal.to_json()
    record["provenance"] = None if model.provenance is None else model.provenance.to_json()
    record["label_mix"] = assumed_mix(model)
    record["facts"]["calibrated_on"] = Path(source).name
    write_json(target / MODEL_RECORD, record)


def _scores(predictions: Predictions, names: tuple[str, ...] = SHOWN) -> dict[str, Any]:
    scores = all_scores(predictions)
    return {name: scores[name] for name in names}


def _table(facts: dict[str, Any], title: str) -> Table:
    before, after = facts["before"], facts["after"]
    table = Table("measure", "before", "after", "read it with", title=escape(title), box=SIMPLE_HEAD)
    floor = f"{before['num_graphs']} graphs; a perfect model would show {percent(after['ece_floor'])}"
    table.add_row("ECE", percent(before["ece"]), percent(after["ece"]), floor)
    table.add_row("NLL", number(before["nll"]), number(after["nll"]), "lower is better")
    table.add_row("Brier", number(before["brier"]), number(after["brier"]), "lower is better; 0 to 2")
    name, coverage, rest = conformal_row(facts["conformal"])
    table.add_row(name, "", coverage, rest)
    return table
