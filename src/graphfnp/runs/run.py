"""Run folders: everything one training was made of and left behind, so that it can be judged, resumed and rerun."""

import json
import platform
import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphfnp.datasets.dataset import Dataset, read_split
from graphfnp.errors import InvalidConfig, InvalidRun, MissingData
from graphfnp.files import read_json, read_json_lines, write_atomically, write_json
from graphfnp.methods.registry import make_classifier, make_config
from graphfnp.prediction.predict import TrainedModel
from graphfnp.prediction.provenance import Provenance, data_hash
from graphfnp.prediction.saving import MODEL_FILES, MODEL_RECORD, save_model
from graphfnp.runs.checkpoint import METRICS, load_model
from graphfnp.settings import from_json, to_json
from graphfnp.training.config import TrainingConfig

if TYPE_CHECKING:  # what training needs is slow to import, and predictions need none of it
    from lightning_fabric import Fabric

    from graphfnp.training.train import Event, Training

CONFIG, SPLIT, EPOCHS, PANEL, PAGE = "config.json", "split.json", "epochs.jsonl", "panel.json", "report.html"


@dataclass(frozen=True)
class Start:
    """The model whose backbone a training starts from."""

    run: str  # a run folder, or a bundled model
    freeze: int = 0  # layers that keep its weights


@dataclass(frozen=True)
class Plan:
    """What to train: enough to do it again."""

    dataset: str  # a catalogue name or a path
    method: str = "graphfnp"
    seed: int = 0
    overrides: Mapping[str, Any] = field(default_factory=dict)  # of the method's settings, by dotted name
    training: TrainingConfig = field(default_factory=TrainingConfig)
    data_options: Mapping[str, Any] = field(default_factory=dict)  # passed to load: split, smiles, label, limit
    start: Start | None = None  # None: from random weights

    @property
    def command(self) -> str:
        """The shell command that runs this plan again; with its epochs, as ``train`` takes more for few graphs."""
        default = {**to_json(TrainingConfig()), "epochs": None}
        chosen = {f"training.{k}": v for k, v in to_json(self.training).items() if v != default[k]}
        words = ["graphfnp", "train", self.dataset, "--method", self.method, "--seed", str(self.seed)]
        for name, value in self.data_options.items():
            words += [f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
        for name, value in {**self.overrides, **chosen}.items():
            words += ["--set", f"{name}={value}"]
        if self.start is not None:
            words += ["--from", self.start.run, "--freeze", str(self.start.freeze)]
        return shlex.join(words)


@dataclass(frozen=True, eq=False)
class Run:
    """An existing run folder."""

    folder: Path

    def __post_init__(self) -> None:
        if not (self.folder / CONFIG).is_file() and not (self.folder / MODEL_RECORD).is_file():
            wrong = f"holds no {CONFIG}" if self.folder.is_dir() else "is not a folder"
            to_do = "give the folder that `graphfnp train` wrote, e.g. runs/demo"
            raise InvalidRun(f"{self.folder}, which {wrong}", "a run folder", to_do)

    @cached_property
    def record(self) -> dict[str, Any]:
        if not (self.folder / CONFIG).is_file():
            return _of_saved_model(read_json(self.folder / MODEL_RECORD))
        return read_json(self.folder / CONFIG)

    @cached_property
    def plan(self) -> Plan:
        record = self.record
        try:
            return Plan(
                record["dataset"], record["method"], record["seed"], record["overrides"],
                from_json(TrainingConfig, record["training"]), record["data_options"],
                Start(**record["start"]) if record.get("start") else None,
            )  # fmt: skip
        except (KeyError, TypeError, AttributeError, OverflowError, InvalidConfig) as error:
            wrong = f"with {error.given}" if isinstance(error, InvalidConfig) else f"without {error}"
            raise InvalidRun(f"{self.folder / CONFIG} {wrong}", "a record of this version", "train again") from None

    @cached_property
    def model(self) -> TrainedModel:
        return load_model(self.folder)

    @property
    def history(self) -> list[dict[str, float]]:
        path = self.folder / EPOCHS
        return read_json_lines(path) if path.exists() else []

    @property
    def has_data(self) -> bool:
        """Does it know what it was trained on, or is it a model by itself?"""
        return (self.folder / SPLIT).is_file()

    def dataset(self, data: str | Path | None = None) -> Dataset:
        """The graphs the run was trained on, with the run's own split."""
        if not self.has_data:
            raise MissingData(
                f"{self.folder}, which has a model but not its training data",
                "a folder that `graphfnp train` wrote",
                "give the graphs to predict or explain instead",
            )
        from graphfnp.datasets.load import load

        loaded = load(self.plan.dataset, data=data, seed=self.plan.seed, **self.plan.data_options)
        split = read_split(self.folder / SPLIT)
        last = max((int(part.max()) for part in (split.train, split.validation, split.test) if len(part)), default=0)
        if last >= len(loaded.graphs) or self._has_other_graphs(loaded):
            raise InvalidRun(
                f"{self.plan.dataset}, which has changed since {self.folder} was trained on it",
                "the same graphs, since the run's split counts them",
                "restore the file, or train again; for other graphs use graphfnp evaluate RUN FILE",
            )
        return replace(loaded, split=split)

    def _has_other_graphs(self, loaded: Dataset) -> bool:
        """Files may have other bytes and hold the same graphs; those of an unfinished run are known by the file."""
        if not loaded.has_other_files(self.record.get("facts", {})):
            return False
        known = self.model.provenance if (self.folder / METRICS).is_file() else None
        return known is None or known.data_sha256 != data_hash(loaded.graphs)


def _of_saved_model(model: Mapping[str, Any]) -> dict[str, Any]:
    """What stands for the record of a run in a folder that ``model.save`` wrote: it knows no data."""
    known = (model.get("provenance") or {}).get("dataset") or model.get("facts", {}).get("dataset")
    return {
        "dataset": known or "graphs given in Python", "method": model.get("method"), "seed": 0, "overrides": {},
        "training": {}, "data_options": {}, "versions": library_versions(), "started": "",
    }  # fmt: skip


def execute(
    plan: Plan,
    folder: Path,
    dataset: Dataset | None = None,
    resume: bool = False,
    overwrite: bool = False,
    watch: "Callable[[Event], None] | None" = None,
    fabric: "Fabric | None" = None,
) -> Run:
    """Train as planned into a folder, judge the model on the test part, and leave the record of it.

    Of several processes the first alone writes.
    """
    from graphfnp.datasets.load import load
    from graphfnp.training.class_balance import check_labels
    from graphfnp.training.train import one_process, train

    fabric = fabric or one_process()
    dataset = dataset or load(plan.dataset, seed=plan.seed, **plan.data_options)
    if fabric.global_rank == 0:
        _check_folder(plan, folder, dataset, resume, overwrite)
    is_resumed = resume and (folder / CONFIG).exists()
    fabric.barrier()
    if is_resumed and (folder / METRICS).exists():  # there is nothing left to do
        return Run(folder)
    if is_resumed:
        dataset = replace(dataset, split=read_split(folder / SPLIT))
    classifier = make_classifier(plan.method, dataset.graphs.schema, plan.overrides, plan.seed)
    if plan.start is not None:
        from graphfnp.runs.bundles import load_model as load_named  # which imports this module
        from graphfnp.training.start import start_from

        start_from(classifier, load_named(plan.start.run), plan.start.freeze)
    check_labels(dataset.train, dataset.validation)
    if fabric.global_rank == 0 and not is_resumed:
        _begin(plan, folder, dataset)  # not before all is known to fit: what is refused leaves and takes no run
    fabric.barrier()
    if fabric.global_rank == 0:
        watch = _written_as_it_grows(folder, watch)
    training = train(
        classifier, dataset.train, dataset.validation, plan.training, plan.seed, folder, resume, watch, fabric
    )
    if fabric.global_rank == 0:
        _close(plan, folder, dataset, training)
    fabric.barrier()
    return Run(folder)


def check_new(folder: Path) -> None:
    """InvalidRun if the folder holds a run, or files that one would write over."""
    if taken := [name for name in (CONFIG, METRICS, EPOCHS, PAGE, *MODEL_FILES) if (folder / name).exists()]:
        what = "a run" if taken[0] == CONFIG else taken[0]
        to_do = "choose another --out, or --resume to go on, or --overwrite to start again"
        raise InvalidRun(f"{folder}, which already holds {what}", "an empty or new folder", to_do)


def _check_folder(plan: Plan, folder: Path, dataset: Dataset, resume: bool, overwrite: bool) -> None:
    """InvalidRun unless the folder is new, may be overwritten, or holds this very plan."""
    if resume and (folder / CONFIG).exists():
        record = read_json(folder / CONFIG)
        _check_same(_planned(plan), record, folder)
        if dataset.has_other_files(record.get("facts", {})) and not (folder / METRICS).exists():
            changed = f"{plan.dataset}, which has changed since {folder} was begun"
            raise InvalidRun(changed, "the file as it was", "restore the file, or --overwrite to start again")
    elif not (resume or overwrite):
        check_new(folder)


def _begin(plan: Plan, folder: Path, dataset: Dataset) -> None:
    """Write down what will be done, in place of what an earlier run has left."""
    from graphfnp.rationales.store import DECODED
    from graphfnp.training.state import STATE_FILE

    for name in (STATE_FILE, EPOCHS, METRICS, DECODED, PAGE, *MODEL_FILES):
        (folder / name).unlink(missing_ok=True)
    write_json(folder / SPLIT, dataset.split.to_json())
    record = {
        **_planned(plan),
        "overrides": dict(plan.overrides),
        "facts": dict(dataset.facts),
        "problems": [vars(problem) for problem in dataset.problems],
        "command": plan.command,
        "versions": library_versions(),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    write_json(folder / CONFIG, record)  # last: it makes the folder a run


def _written_as_it_grows(folder: Path, watch: "Callable[[Event], None] | None") -> "Callable[[Event], None]":
    """A watcher that adds each epoch to the run's file as it ends, so that a run can be followed from outside."""

    def told(event: "Event") -> None:
        if event.record is not None:
            with open(folder / EPOCHS, "a" if event.epoch else "w", encoding="utf-8") as file:
                file.write(json.dumps(event.record) + "\n")
        if watch is not None:
            watch(event)

    return told


def _close(plan: Plan, folder: Path, dataset: Dataset, training: "Training") -> None:
    """Write down what came out; the measures last, since they make the run a finished one."""
    from graphfnp.metrics.evaluation import evaluate_part
    from graphfnp.training.state import STATE_FILE

    write_atomically(folder / EPOCHS, "".join(json.dumps(epoch) + "\n" for epoch in training.history).encode())
    facts = {"dataset": dataset.name, "epochs": len(training.history), "split": dataset.split.how}
    part = "test" if len(dataset.split.test) else "validation"
    metrics = evaluate_part(training.model, dataset, part, seed=plan.seed)
    known = Provenance(dataset.name, data_hash(dataset.graphs), dataset.split.how)
    model = replace(training.model, provenance=known.with_measures(f"{part} part", metrics))
    if model.domain is not None:  # its graphs are numbered by the rows of the source, not by the training part
        graph = dataset.split.train
        rows = graph if dataset.rows is None else dataset.rows[graph]
        model = replace(model, domain=model.domain.renumbered(rows))
    save_model(model, folder, plan.method, facts)
    write_json(folder / METRICS, metrics)
    (folder / STATE_FILE).unlink(missing_ok=True)


def _planned(plan: Plan) -> dict[str, Any]:
    """What must be the same for a run to go on."""
    return {
        "dataset": plan.dataset,
        "method": plan.method,
        "seed": plan.seed,
        "settings": to_json(make_config(plan.method, plan.overrides)),
        "training": to_json(plan.training),
        "data_options": dict(plan.data_options),
        **({} if plan.start is None else {"start": vars(plan.start)}),
    }


def _check_same(new: dict[str, Any], old: dict[str, Any], folder: Path) -> None:
    old = {**old, "training": to_json(from_json(TrainingConfig, old.get("training", {})))}  # settings added since
    if changed := [name for name, value in new.items() if json.loads(json.dumps(value)) != old.get(name)]:
        raise InvalidRun(
            f"{folder}, started with another {', '.join(changed)}",
            "the plan the run was started with",
            f"resume with: {old.get('command', 'the same command')} --out {shlex.quote(str(folder))} --resume",
        )


def library_versions() -> dict[str, str]:
    packages = ("graphfnp", "torch", "torch_geometric", "lightning_fabric", "rdkit", "numpy", "scikit-learn")
    return {"python": platform.python_version(), **{name: version(name) for name in packages}, "platform": sys.platform}
