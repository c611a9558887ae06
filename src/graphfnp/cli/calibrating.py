"""What ``graphfnp calibrate`` does, once the heavy libraries may be imported."""

import html
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

from graphfnp.cli.console import conformal_row, note, number, percent, say
from graphfnp.cli.console import out as console
from graphfnp.cli.inputs import check_no_source_needed, mix_line, unseen_graphs
from graphfnp.errors import InvalidConfig, plural
from graphfnp.files import read_json, write_atomically
from graphfnp.graphs.packed import PackedGraphs
from graphfnp.metrics.scores import all_scores, conformal_scores
from graphfnp.prediction.calibrate import calibrate, checked_kind, cross_fitted, held_back
from graphfnp.prediction.calibration import FEWEST_GRAPHS, Kind, can_tell
from graphfnp.prediction.conformal import LEVEL
from graphfnp.prediction.decision import Rule, fit_decision
from graphfnp.prediction.label_mix import assumed_mix
from graphfnp.prediction.predict import TrainedModel, predict
from graphfnp.prediction.predictions import Predictions
from graphfnp.prediction.saving import HELD_OUT_NEXT, MODEL_RECORD, replace_record, save_held_out
from graphfnp.runs.bundles import is_bundled, open_run
from graphfnp.runs.checkpoint import METRICS
from graphfnp.runs.run import CONFIG, EPOCHS, PAGE, SPLIT, Run

COPIED = (CONFIG, SPLIT, EPOCHS, "*.safetensors")  # not the measures and the report, which are of the old calibration
Wanted = tuple[float | None, float | None, float | None]  # precision, cost of a false positive and of a false negative
SHOWN = ("ece", "ece_floor", "nll", "brier", "accuracy", "num_graphs")


def calibrate_run(
    folder: Path,
    source: str | None,
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
    """Fit anew on the graphs of ``source``; without one a threshold alone, on the run's own validation part."""
    run, rule, chosen = open_run(folder), None, checked_kind(kind, conformal_share)
    _check_target(run, target)
    if wanted != (None, None, None):
        rule = Rule(*wanted)
    elif source is None:
        raise InvalidConfig(
            "neither DATA nor --precision or costs", "labelled graphs, or --precision, or both costs",
            "graphfnp calibrate RUN my.csv, or graphfnp calibrate RUN --precision 0.9",
        )  # fmt: skip
    elif positive is not None:
        raise InvalidConfig(
            f"--positive {positive} alone", "--precision, or both costs, with it", "say what the threshold is for"
        )
    if source is None:  # the threshold alone is fitted
        chosen_kind, share = None if kind == "soft" else kind, None if conformal_share == 0.5 else conformal_share
        check_no_source_needed({**options, "kind": chosen_kind, "conformal_share": share})
    facts: dict[str, Any] = {}
    if source is None:
        model, graphs = run.model, run.dataset(data).validation
    else:
        model, graphs, facts = _refitted(run, source, chosen, conformal_share, options, seed, data)
    facts["decision"] = None
    if rule is not None:  # on the scale of the very model that will decide: every fit has another
        judged = predict(model, graphs, seed=seed)
        fitted = fit_decision(judged, rule, _position(model, positive), seed)
        model = replace(model, decision=fitted)
        facts["decision"] = {**fitted.to_json(), **fitted.scores(judged)}
    elif run.model.decision is not None:
        note("the threshold was for the calibration before, and is dropped; --precision or both costs fit a new one")
    decision, place = model.decision, target or run.folder
    facts["run"] = str(place)
    _write(model, run.folder, place, source)
    if source is not None and (place / PAGE).is_file():
        _mark_outdated(place / PAGE, Path(source).name)
    if as_json:
        typer.echo(json.dumps(facts, indent=1))
        return
    if source is not None:
        console.print(_table(facts, f"{chosen} calibration on {source}"))
        console.print("after: five-fold cross-validation", style="dim")
        say(mix_line(model), "dim", console)
        say(f"sets: {facts['conformal']['guarantee']}", "dim", console)
    if decision is not None:
        said, told = facts["decision"], "none is above it"
        if said["said"]:
            low, high = (percent(end) for end in said["precision_interval"])
            told = f"{said['said']} are above it, {percent(said['precision'])} of them correctly (90 % interval {low} "
            told += f"to {high}); recall {percent(said['recall'])}"
        say(f"decision: {decision.told(model.classifier.schema.class_names)}; of these graphs {told}", console=console)
        say("measured on the graphs that the threshold was fitted on, so optimistic", "dim", console)
    say(f"run     {place}", console=console)
    say(f"measure it on its test part: graphfnp evaluate {place}", "dim", console)
    if source is not None and (place / PAGE).is_file():
        told = f"{PAGE} there shows the model before calibration, and says so; write it again: graphfnp report {place}"
        say(told, "dim", console)


def _refitted(
    run: Run, source: str, kind: Kind, share: float, options: Mapping[str, Any], seed: int, data: Path | None
) -> tuple[TrainedModel, PackedGraphs, dict[str, Any]]:
    """The model with calibration and sets for these graphs, the graphs, and measures of it on each of them left out."""
    if source == run.plan.dataset:
        raise InvalidConfig(
            f"{source}, which the run was trained on",
            "graphs that were not in training",
            "give another file; the run is calibrated on its own validation part already",
        )
    graphs, left_out = unseen_graphs(run, source, options, data, seed)
    if left_out:
        note(f"{left_out}, and are left out of the calibration")
    before, after, sets = cross_fitted(run.model, graphs, kind, seed=seed, conformal_share=share)
    fitted = calibrate(run.model, graphs, kind, share, seed)
    used = after.y[~held_back(after.y, share, seed)]
    if not can_tell(used):
        few = f"{plural(len(used), 'graph')} to fit on, fewer than {FEWEST_GRAPHS} or of one class"
        note(f"{few}: nothing is scaled, the probabilities are moved to the label mix of these graphs")
    if fitted.provenance is not None:
        part = f"{Path(source).name}, each fifth by a fit on the others"
        fitted = replace(
            fitted, provenance=fitted.provenance.with_measures(part, all_scores(after, assumed_mix(fitted)))
        )
    promised = {} if fitted.conformal is None else fitted.conformal.facts()
    facts = {
        "before": _scores(before),
        "after": _scores(after),
        "conformal": {"level": LEVEL, **conformal_scores(sets, after.y), **promised},
        "calibration": fitted.calibration.to_json(),
        "label_mix": assumed_mix(fitted),
        "left_out": left_out,
    }
    return fitted, graphs, facts


def _position(model: TrainedModel, positive: str | None) -> int:
    """Of the class said: the one that is named, else the second."""
    names = model.classifier.schema.class_names
    if positive is not None and positive not in names:
        raise InvalidConfig(f"--positive {positive}", f"one of {', '.join(names)}", "choose one of these")
    return 1 if positive is None else names.index(positive)


def _check_target(run: Run, target: Path | None) -> None:
    if is_bundled(run) and target is None:
        raise InvalidConfig(
            f"{run.folder.name}, which is bundled", "--out FOLDER for the calibrated copy", "name a new folder"
        )
    if target is not None and target.exists():
        raise InvalidConfig(f"--out {target}, which exists", "a new folder", "choose another folder")


def _write(model: TrainedModel, folder: Path, target: Path, source: str | None) -> None:
    """What was fitted into the model's record, in place or in a copy of the run."""
    record: dict[str, Any] = read_json(folder / MODEL_RECORD)
    if target != folder:
        target.mkdir(parents=True)
        copied = COPIED if source else (*COPIED, METRICS)
        for path in (path for pattern in copied for path in folder.glob(pattern)):
            shutil.copy2(path, target)
    if source is not None:
        record["calibration"] = model.calibration.to_json()
        record["conformal"] = None if model.conformal is None else model.conformal.to_json()
        record["provenance"] = None if model.provenance is None else model.provenance.to_json()
        record["label_mix"], record["held_out"] = assumed_mix(model), save_held_out(model, target, HELD_OUT_NEXT)
        record["facts"]["calibrated_on"] = Path(source).name
    record["decision"] = None if model.decision is None else model.decision.to_json()
    replace_record(record, target)


def _mark_outdated(page: Path, source: str) -> None:
    """The report says itself that it is of the calibration before: it is opened by people who did not see this one."""
    told = f"This page shows the model before it was calibrated on {source}: graphfnp report RUN writes it anew."
    note, text = f'<ul class="notes" role="note"><li>{html.escape(told)}</li></ul>', page.read_text(encoding="utf-8")
    if note not in text:
        write_atomically(page, text.replace("<main>", f"<main>\n{note}", 1).encode())


def _scores(predictions: Predictions) -> dict[str, Any]:
    scores = all_scores(predictions)
    return {name: scores[name] for name in SHOWN}


def _table(facts: dict[str, Any], title: str) -> Table:
    before, after = facts["before"], facts["after"]
    table = Table("measure", "before", "after", "compare with", title=escape(title), box=SIMPLE_HEAD)
    floor = f"{before['num_graphs']} graphs; a perfect model would show {percent(after['ece_floor'])}"
    table.add_row("ECE", percent(before["ece"]), percent(after["ece"]), floor)
    table.add_row("NLL", number(before["nll"]), number(after["nll"]), "lower is better")
    table.add_row("Brier", number(before["brier"]), number(after["brier"]), "lower is better; 0 to 2")
    name, coverage, rest = conformal_row(facts["conformal"])
    table.add_row(name, "", coverage, rest)
    return table
