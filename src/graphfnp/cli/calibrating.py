"""What ``graphfnp calibrate`` does, once the heavy libraries may be imported."""

import json
import shutil
from collections.abc import Mapping, Sequence
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
from graphfnp.prediction.decision import Rule, fit_decision
from graphfnp.prediction.label_mix import assumed_mix
from graphfnp.prediction.predict import TrainedModel, predict
from graphfnp.prediction.predictions import Predictions
from graphfnp.prediction.saving import MODEL_RECORD, save_held_out
from graphfnp.runs.bundles import is_bundled, open_run
from graphfnp.runs.checkpoint import METRICS
from graphfnp.runs.run import CONFIG, EPOCHS, SPLIT, Run

COPIED = (CONFIG, SPLIT, EPOCHS, "*.safetensors")  # not the measures and the report, which are of the old calibration
Wanted = tuple[float | None, float | None, float | None]  # precision, cost of a false positive and of a false negative
SHOWN = ("ece", "ece_floor", "nll", "brier", "accuracy", "num_graphs")


def calibrate_run(
    folder: Path,
    source: str,
    kind: str,
    conformal_share: float,
    wanted: Wanted,
    positive: str | None,
    target: Path | None,
    options: Mapping[str, Any],
    seed: int,
    data: Path | None,
    as_json: bool,
) -> None:
    run, chosen, rule = open_run(folder), checked_kind(kind, conformal_share), _rule(wanted)
    folder = run.folder
    _check_target(run, target)
    if source == run.plan.dataset:
        raise InvalidConfig(
            f"{source}, which the run was trained on",
            "graphs the model has not seen",
            "give another file; the run is calibrated on its own validation part already",
        )
    model, (graphs, note) = run.model, unseen_graphs(run, source, options, data, seed)
    if note:
        err.print(f"note: {note}, and are left out of the calibration", style="yellow", highlight=False, markup=False)
    before, after, sets = cross_fitted(model, graphs, chosen, seed=seed)
    fitted = calibrate(model, graphs, chosen, conformal_share, seed)
    if fitted.provenance is not None:
        part = f"{Path(source).name}, each fifth by a fit on the others"
        fitted = replace(fitted, provenance=fitted.provenance.with_measures(part, all_scores(after)))
    if rule is not None:
        fitted = replace(fitted, decision=fit_decision(after, rule, _position(model, positive), seed))
    assert fitted.conformal is not None
    _write(fitted, fitted.conformal, folder, target or folder, source)
    facts: dict[str, Any] = {
        "before": _scores(before),
        "after": _scores(after),
        "conformal": {"level": LEVEL, **conformal_scores(sets, after.y), **fitted.conformal.facts()},
        "calibration": fitted.calibration.to_json(),
        "decision": _decided(fitted, after),
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
    if fitted.decision is not None:
        console.print(_told(fitted, facts["decision"]), highlight=False, markup=False)
    console.print(f"run     {target or folder}", highlight=False, markup=False)
    console.print(f"measure it on its test part: graphfnp evaluate {target or folder}", style="dim", markup=False)


def fit_threshold(
    folder: Path,
    wanted: Wanted,
    positive: str | None,
    target: Path | None,
    seed: int,
    data: Path | None,
    as_json: bool,
) -> None:
    """A threshold by the run's own validation part; everything else stays as it is."""
    run, rule = open_run(folder), _rule(wanted)
    if rule is None:
        raise InvalidConfig(
            "neither DATA nor what a threshold is for", "labelled graphs, or --precision, or both costs",
            "graphfnp calibrate RUN my.csv, or graphfnp calibrate RUN --precision 0.9",
        )  # fmt: skip
    _check_target(run, target)
    held_out = predict(run.model, run.dataset(data).validation, seed=seed)
    model = replace(run.model, decision=fit_decision(held_out, rule, _position(run.model, positive), seed))
    record = _record_in(run.folder, target or run.folder, (*COPIED, METRICS))
    assert model.decision is not None
    write_json((target or run.folder) / MODEL_RECORD, {**record, "decision": model.decision.to_json()})
    facts = _decided(model, held_out)
    assert facts is not None
    if as_json:
        typer.echo(json.dumps({"decision": facts, "run": str(target or run.folder)}, indent=1))
        return
    console.print(_told(model, facts), highlight=False, markup=False)
    console.print(f"measure it on its test part: graphfnp evaluate {target or run.folder}", style="dim", markup=False)


def _rule(wanted: Wanted) -> Rule | None:
    return None if wanted == (None, None, None) else Rule(*wanted)


def _position(model: TrainedModel, positive: str | None) -> int:
    """Of the class said: the one that is named, else the second."""
    names = model.classifier.schema.class_names
    if positive is not None and positive not in names:
        raise InvalidConfig(f"--positive {positive}", f"one of {', '.join(names)}", "choose one of these")
    return 1 if positive is None else names.index(positive)


def _decided(model: TrainedModel, held_out: Predictions) -> dict[str, Any] | None:
    return None if model.decision is None else {**model.decision.to_json(), **model.decision.scores(held_out)}


def _told(model: TrainedModel, facts: Mapping[str, Any]) -> str:
    assert model.decision is not None
    low, high = facts["precision_interval"] or (None, None)
    return (
        f"decision: {model.decision.told(model.classifier.schema.class_names)}; it is said of {facts['said']} of them, "
        f"{percent(facts['precision'])} rightly (90 % interval {percent(low)} to {percent(high)}), and finds "
        f"{percent(facts['recall'])}"
    )


def _check_target(run: Run, target: Path | None) -> None:
    if is_bundled(run) and target is None:
        raise InvalidConfig(
            f"{run.folder.name}, which is bundled", "--out FOLDER for the calibrated copy", "name a new folder"
        )
    if target is not None and target.exists():
        raise InvalidConfig(f"--out {target}, which exists", "a new folder", "choose another folder")


def _record_in(folder: Path, target: Path, copied: Sequence[str] = COPIED) -> dict[str, Any]:
    """The model's record, after all but that was copied to where it will be written."""
    record: dict[str, Any] = read_json(folder / MODEL_RECORD)
    if target != folder:
        target.mkdir(parents=True)
        for path in (path for pattern in copied for path in folder.glob(pattern)):
            shutil.copy2(path, target)
    return record


def _write(model: TrainedModel, conformal: Conformal, folder: Path, target: Path, source: str) -> None:
    """The new calibration in the model's record, in place or in a copy."""
    record = _record_in(folder, target)
    record["calibration"], record["conformal"] = model.calibration.to_json(), conformal.to_json()
    record["provenance"] = None if model.provenance is None else model.provenance.to_json()
    record["label_mix"], record["held_out"] = assumed_mix(model), save_held_out(model, target)
    record["decision"] = None if model.decision is None else model.decision.to_json()
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
