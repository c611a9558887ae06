"""What each subcommand does, once the heavy libraries may be imported."""

import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
import typer

from graphfnp.cli.console import err, metrics_table, note, out, say
from graphfnp.cli.inputs import check_no_source_needed, checked_rows, model_for_mix, unseen_graphs
from graphfnp.cli.progress import training_progress
from graphfnp.datasets.dataset import PARTS, Dataset
from graphfnp.datasets.load import check_table_options, load
from graphfnp.datasets.tables import summary
from graphfnp.errors import GraphFNPError, InvalidConfig, InvalidRun
from graphfnp.files import locked, read_json, write_json
from graphfnp.methods.registry import make_config
from graphfnp.metrics.evaluation import evaluate, evaluate_part
from graphfnp.prediction.calibrate import labelled
from graphfnp.prediction.label_mix import label_shares
from graphfnp.prediction.saving import MODEL_RECORD
from graphfnp.prediction.shift import weighted_for
from graphfnp.runs.bundles import is_bundled, open_run, own_folder
from graphfnp.runs.checkpoint import METRICS
from graphfnp.runs.panel import endpoint_folders, write_panel
from graphfnp.runs.run import Plan, Run, Start, check_new, execute
from graphfnp.settings import by_owner, with_overrides
from graphfnp.training.class_balance import check_labels
from graphfnp.training.config import TrainingConfig, enough_epochs
from graphfnp.training.train import leave_processes

LOCK = "training.lock"  # in the run folder, while somebody trains into it
DEMO = Plan(
    "ba2motifs",
    overrides={"backbone.name": "gin", "backbone.width": 128},
    training=TrainingConfig(epochs=50, parts=1.0, finishing_epochs=10),
)


@dataclass(frozen=True)
class TrainRequest:
    """What to train, as said on the command line."""

    method: str
    backbone: str | None
    epochs: int | None
    seed: int
    settings: list[str]
    start: Start | None = None

    def plan(self, dataset: str, options: Mapping[str, Any]) -> Plan:
        if wrong := [setting for setting in self.settings if "=" not in setting]:
            raise InvalidConfig(f"--set {wrong[0]}", "--set NAME=VALUE", "write for example --set backbone.width=128")
        overrides, recipe = by_owner(dict(setting.split("=", 1) for setting in self.settings))
        training = with_overrides(TrainingConfig(), recipe)
        if self.backbone is not None:
            overrides["backbone.name"] = self.backbone
        if self.start is not None:
            from graphfnp.training.start import backbone_settings

            own = backbone_settings(open_run(self.start.run).model)
            for name, value in own.items():
                if name != "backbone.dropout" and str(overrides.get(name, value)).lower() != str(value).lower():
                    raise InvalidConfig(
                        f"--from {self.start.run} with {name}={overrides[name]}", f"its own {name}={value}",
                        "leave the setting out: the weights are those of that backbone",
                    )  # fmt: skip
            overrides = {**own, **overrides}
        if self.epochs is not None:
            training = replace(training, epochs=self.epochs)
        make_config(self.method, overrides)  # a wrong setting should fail before data is read
        return Plan(dataset, self.method, self.seed, overrides, training, options, self.start)


@dataclass(frozen=True)
class Flags:
    """How to train it; nothing here changes the model."""

    resume: bool = False
    overwrite: bool = False
    devices: int = 1
    precision: str = "32-true"
    report: bool = True
    as_json: bool = False


def demo(folder: Path, seed: int) -> None:
    torch.set_num_threads(1)  # batches this small gain nothing from a second thread, and suffer on a busy machine
    _train(replace(DEMO, seed=seed), folder, None, Flags(overwrite=True))


def train(
    dataset: str,
    request: TrainRequest,
    options: Mapping[str, Any],
    folder: Path | None,
    data: Path | None,
    flags: Flags,
) -> None:
    ranks = [os.environ.get(rank, "0") for rank in ("RANK", "NODE_RANK", "LOCAL_RANK")]
    first = flags.devices == 1 or set(ranks) == {"0"}
    out.quiet = err.quiet = not first  # of several processes one speaks
    check_table_options(dataset, options)
    plan = request.plan(dataset, options)
    chosen = request.epochs is not None or any(setting.startswith("training.epochs=") for setting in request.settings)
    folder = folder or usual_folder(plan)
    labels = [label.strip() for label in str(options.get("label", "")).split(",")]
    metrics: Any = None
    folders = {} if len(labels) == 1 else endpoint_folders(labels)
    for place in folders.values() if folders else ("",):
        if not (flags.resume or flags.overwrite):
            check_new(folder / place)  # before anything is read
    if not folders:
        metrics = _train(plan, folder, data, flags, chosen)
    else:  # a run for each endpoint, in a folder that is a panel; what --resume finds finished stays
        metrics = {}
        plans = {label: replace(plan, data_options={**plan.data_options, "label": label}) for label in folders}
        for label, endpoint in plans.items():
            _check_endpoint(endpoint, label, data)  # all of them before the first is trained
        for label, endpoint in plans.items():
            err.rule(label)
            metrics[label] = _train(endpoint, folder / folders[label], data, flags, chosen)
        if first:
            write_panel(folder, folders)
        say(f"panel   {folder}")
    if flags.as_json and first:
        typer.echo(json.dumps(metrics, indent=1))
    leave_processes()


def usual_folder(plan: Plan) -> Path:
    """In runs, called after the dataset: by its name, or that of its file or folder without what leads there."""
    path = Path(plan.dataset)
    name = path.stem if path.suffix else path.resolve().name if path.exists() else plan.dataset.replace(":", "-")
    return Path("runs") / f"{name}-{plan.method}-{plan.seed}"


def _check_endpoint(plan: Plan, label: str, data: Path | None) -> None:
    """An error that names the column, unless its labels can be learned."""
    try:
        loaded = checked_rows(load(plan.dataset, data=data, seed=plan.seed, **plan.data_options))
        check_labels(loaded.train, loaded.validation)
    except GraphFNPError as error:
        raise type(error)(f"--label {label}: {error.given}", error.expected, error.to_do) from None


def _train(
    plan: Plan, folder: Path, data: Path | None, flags: Flags, epochs_chosen: bool = True
) -> dict[str, Any] | None:
    """The measures, told unless they will be printed as JSON; None in all processes but the first."""
    started = time.perf_counter()
    loaded = checked_rows(load(plan.dataset, data=data, seed=plan.seed, **plan.data_options))
    _describe(loaded)
    if not epochs_chosen:
        plan = _with_enough_epochs(plan, len(loaded.split.train))
    from lightning_fabric import Fabric  # takes seconds: not before the data are known to be there

    precision: Any = flags.precision
    fabric = Fabric(accelerator="cpu" if flags.devices > 1 else "auto", devices=flags.devices, precision=precision)
    fabric.launch()
    held = nullcontext() if fabric.global_rank else _held(folder)  # of several processes the first writes
    with held, training_progress(quiet=flags.as_json or err.quiet) as watch:
        run = execute(plan, folder, loaded, flags.resume, flags.overwrite, watch, fabric)
    if fabric.global_rank:
        return None
    metrics: dict[str, Any] = read_json(folder / METRICS)
    page = _written_report(run, folder, data) if flags.report else None
    if flags.as_json:
        return metrics
    try:
        part = metrics["label_shift"]["estimated"]["part"]  # that of validation where there is no test part
        title = f"{plan.method} on {loaded.name}, {part} part ({time.perf_counter() - started:.0f} s)"
        out.print(metrics_table(metrics, title))
    except (LookupError, TypeError, AttributeError, ValueError) as error:  # --resume found it so
        raise InvalidRun(
            f"{folder / METRICS}, edited by hand ({error!r})", "the measures as they were written",
            f"graphfnp evaluate {folder}",
        ) from error  # fmt: skip
    say(f"run     {folder}", console=out)
    if page:
        say(f"report  {page}", console=out)
    return metrics


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """By one training at a time; a folder in which nothing was begun goes again."""
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder / LOCK, folder):
        try:
            yield
        finally:
            (folder / LOCK).unlink()
            with suppress(OSError):
                folder.rmdir()


def _with_enough_epochs(plan: Plan, num_graphs: int) -> Plan:
    """The plan for so many training graphs, where nobody has chosen the number of epochs."""
    epochs = enough_epochs(num_graphs, plan.training.batch_size)
    if epochs != plan.training.epochs:
        told = f"{epochs} epochs, more than the usual {plan.training.epochs}, for only {num_graphs} training graphs"
        note(f"{told}; --epochs sets the number")
    return replace(plan, training=replace(plan.training, epochs=epochs))


def _describe(dataset: Dataset) -> None:
    head, classes, *remarks = summary(dataset).splitlines()
    say(f"{head}\n{classes}")
    for line in remarks:
        say(line, "yellow")


def evaluate_run(
    folder: Path,
    source: str | None,
    part: str,
    options: Mapping[str, Any],
    mix: str | None,
    weighted: bool,
    data: Path | None,
    as_json: bool,
) -> None:
    """Measures on a part of the run's own data, or on the graphs of another file that were not trained on."""
    run = open_run(folder)
    if part not in PARTS:
        raise InvalidConfig(f"--part {part}", f"one of {', '.join(PARTS)}", "choose one of these")
    if source is None:
        check_no_source_needed(options)
    elif part != "test":
        raise InvalidConfig(f"--part {part} beside {source}", "a part of the run's own data", "leave one of them out")
    dataset, seed = run.dataset(data) if source is None else None, run.plan.seed
    if dataset is not None and not len(getattr(dataset.split, part)):
        there = [one for one in PARTS if len(getattr(dataset.split, one))]
        raise InvalidConfig(
            f"--part {part}, in which {folder} has no graphs", f"one of {', '.join(there)}",
            f"write --part {there[-1]}, or give labelled graphs of another file",
        )  # fmt: skip
    graphs, left_out = (
        (getattr(dataset, part), "") if source is None else unseen_graphs(run, source, options, data, seed)
    )
    model = model_for_mix(weighted_for(run.model, graphs) if weighted else run.model, mix, graphs)
    own_mix = None
    if dataset is not None:
        title, metrics = f"on {run.plan.dataset}, {part} part", evaluate_part(model, dataset, part, seed=seed)
        if part == "test" and mix is None and not weighted and not is_bundled(run):
            write_json(run.folder / METRICS, metrics)
    else:
        judged, title = labelled(graphs), f"of {run.plan.dataset} on {source}"
        metrics = {**evaluate(model, judged, seed=seed)[0], "left_out": left_out}
        name = Path(str(source)).name
        if read_json(run.folder / MODEL_RECORD).get("facts", {}).get("calibrated_on") == name:
            note(f"the run was calibrated on a file called {name}: metrics on the same graphs are too optimistic")
        own_mix = label_shares(judged.y, judged.num_classes)
    if as_json:
        typer.echo(json.dumps(metrics, indent=1))
        return
    if left_out:
        note(f"{left_out}, and are left out")
    out.print(metrics_table(metrics, f"{run.plan.method} {title}", own_mix))


def write_run_report(folder: Path, mix: str | None, data: Path | None) -> None:
    run = open_run(folder)
    page = _written_report(run, own_folder(run), data, mix)
    say(f"report  {page}", console=out)


def _written_report(run: Run, folder: Path, data: Path | None, mix: str | None = None) -> Path:
    from graphfnp.report.assemble import report_of_run  # matplotlib and more: predictions come without
    from graphfnp.report.page import write_report

    report = report_of_run(run, data, lambda model, graphs: model_for_mix(model, mix, graphs))
    return write_report(report, folder)
