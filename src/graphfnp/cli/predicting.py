"""What ``graphfnp predict`` does, once the heavy libraries may be imported."""

import json
import os
import shlex
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import torch
import typer

from graphfnp.chemistry.smiles import reads_smiles
from graphfnp.cli.console import note, say
from graphfnp.cli.inputs import Rows, mix_line, models_for_mix, read_input
from graphfnp.cli.prediction_table import show_predictions
from graphfnp.cli.progress import scoring_progress
from graphfnp.cli.standard_streams import DASH, files_for_streams, shown
from graphfnp.datasets.columns import row_names
from graphfnp.datasets.load import is_name
from graphfnp.datasets.tables import standard_notes
from graphfnp.errors import GraphFNPError, InvalidConfig, plural, shortened
from graphfnp.files import end_of_link, exists, write_json
from graphfnp.graphs.packed import UNLABELLED
from graphfnp.prediction.arrow import column
from graphfnp.prediction.label_mix import ESTIMATE, assumed_mix, estimated_mix, moved_to_mix
from graphfnp.prediction.pick import class_number, pick
from graphfnp.prediction.predict import TrainedModel, predict
from graphfnp.prediction.records import as_dictionaries, as_text, record_table
from graphfnp.prediction.shift import weighted_for
from graphfnp.runs.bundles import open_run
from graphfnp.runs.panel import is_panel, load_panel
from graphfnp.scoring.object_storage import address_of, fetched, sent
from graphfnp.scoring.parts import SHOWN_PROBLEMS, Counts
from graphfnp.scoring.record_files import ENDINGS, beside, check_target, column_notes, write_record_file
from graphfnp.scoring.rows import can_stream
from graphfnp.scoring.score_file import Execution, score_file
from graphfnp.scoring.scorer import ALONE, SHARED, Settings, about, side_by_side, together

Models = dict[str, TrainedModel]  # by name; one by itself is called ALONE
Record = dict[str, Any]
SEVERAL = "\n"  # between SMILES


@dataclass(frozen=True)
class PredictRequest:
    """What to predict and where to, as said on the command line."""

    source: str
    target: Path | None
    smiles: str | None
    settings: Settings
    mix: str | None
    execution: Execution
    data: Path | None
    as_json: bool = False
    restart: bool = False
    strict: bool = False
    raw: bool = False
    keep_columns: bool = True
    weighted: bool = False  # conformal sets
    pick: int | None = None  # only so many rows, the most useful to test first
    find: str | None = None  # the class that picks should find; None: they should teach the model

    @property
    def table(self) -> Path | None:
        """The target, if it is a table."""
        return self.target if self.target is not None and self.target.suffix in ENDINGS else None


def one_source(given: Sequence[str]) -> str:
    """Several SMILES as one text, a line each; a file or a dataset comes alone."""
    if len(given) > 1 and (others := [one for one in given if exists(one) or is_name(one) or one == DASH]):
        raise InvalidConfig(
            f"{others[0]} among {len(given)} inputs", "SMILES, or one file", "score each file by itself"
        )
    return SEVERAL.join(given)


def predict_rows(folder: Path, request: PredictRequest) -> None:
    """A record for every row; ``-`` is standard input, or output as CSV."""
    if request.as_json and str(request.target) == DASH:
        raise InvalidConfig(
            "--json beside --out -", "one of them: both are standard output", "leave --json out for CSV, --out for JSON"
        )
    with (
        files_for_streams(request.source, request.target) as (source, target),
        fetched(source) as here,
        nullcontext() if target is None else sent(target, source) as written,
    ):
        counts = _predicted(folder, replace(request, source=here, target=written))
    if address := address_of(request.target):
        say(f"sent to {address}")
    _summarise(counts, request.strict)


def _predicted(folder: Path, request: PredictRequest) -> Counts:
    """As a stream from file to file, or all at once where it is shown or not a table."""
    if request.target is not None:
        check_target(request.target, request.source, (*ENDINGS, ".json"))
    models = load_panel(folder) if is_panel(folder) else {ALONE: open_run(folder).model}
    at_once = request.mix == ESTIMATE or request.weighted or request.pick is not None  # all rows before any record
    if request.mix is not None and request.mix != ESTIMATE:
        models = models_for_mix(models, request.mix)
        if ALONE in models:  # the mixes of several stand in the file by model
            request = replace(request, settings=replace(request.settings, mix=assumed_mix(models[ALONE])))
    at_once = at_once or request.as_json or not can_stream(Path(request.source))
    all_read_smiles = all(reads_smiles(model.classifier.schema) for model in models.values())
    if request.table is not None and all_read_smiles and not at_once:
        counts = _score(models, request, request.table)
    elif request.execution.engine != "local":
        raise InvalidConfig(
            f"--engine {request.execution.engine} for {request.source}",
            "a file of molecules and --out FILE.csv or FILE.parquet",
            "leave the engine out",
        )
    else:
        counts, models = _predict_at_once(models, request)
    for name, model in models.items() if not request.as_json else ():
        whose = f"{name}: " if name else ""
        say(f"{whose}{mix_line(model)}", "dim")
        if model.decision is not None:
            say(f"{whose}decision: {model.decision.told(model.classifier.schema.class_names)}", "dim")
        if request.weighted and model.conformal is not None:
            say(f"{whose}sets: {model.conformal.guarantee}", "dim")
    return counts


def _score(models: Models, request: PredictRequest, target: Path) -> Counts:
    """From file to file."""
    with scoring_progress() as watch:
        counts = score_file(
            models, request.source, target, request.smiles, request.settings, request.execution, request.restart,
            watch, request.raw, request.keep_columns,
        )  # fmt: skip
    say(f"{plural(counts.rows, 'row')} -> {shown(target)}")
    return counts


def _predict_at_once(models: Models, request: PredictRequest) -> tuple[Counts, Models]:
    """The records of all rows, and the models that made them."""
    tables, asked, notes = dict[str, pa.Table](), Models(), list[str]()
    settings, target = request.settings, request.target
    columns: Mapping[str, Sequence[str]] = {}
    picker, find, picked = *_picker(models, request), list[int]()
    for name, model in models.items():
        read = read_input(request.source, model.classifier.schema, request.data, settings.seed, request.smiles)
        try:
            asked[name], tables[name], more, rows = _records(
                model, read.without_larger(settings.most_atoms), request, name == picker, find
            )
        except GraphFNPError as error:
            raise type(error)(f"{name}: {error.given}" if name else error.given, error.expected, error.to_do) from None
        picked, notes, columns = picked or rows, [*notes, *more], read.columns if request.keep_columns else {}
    if picked:
        tables = {name: _in_order(table, picked) for name, table in tables.items()}
    table = side_by_side(tables)
    if request.table is not None:
        if request.table.suffix == ".csv":
            table = side_by_side({name: as_text(one) for name, one in tables.items()})
        counted = {"settings": settings.to_json(), "rows": len(table), "failed": Counts.of(table).failed}
        if columns:
            rows = table["row"].to_pylist()
            texts = [column([values[row] for row in rows], pa.string()) for values in columns.values()]
            notes += column_notes(list(columns), table.column_names)
            table = beside(pa.Table.from_arrays(texts, names=list(columns)), table)
        write_record_file(request.table, [table], {**about(asked), **counted}, request.raw)
    records = _named(_dictionaries(tables, asked), columns)
    if target is not None and target.suffix == ".json":
        write_json(end_of_link(target), records)
    if request.as_json:
        typer.echo(json.dumps(records, indent=1))
    elif target is not None:
        say(f"{plural(len(records), 'row')} -> {shown(target)}")
    else:
        show_predictions(records, asked, settings.level)
    return replace(Counts.of(side_by_side(tables)), notes=tuple(notes)), asked


def _picker(models: Models, request: PredictRequest) -> tuple[str | None, int | None]:
    """The model that picks, and the class it should find; of several models ``--find`` names both."""
    find = request.find
    if request.pick is None:
        return None, None
    for name, model in models.items():
        own, before = model.classifier.schema.class_names, f"{name}:" if name else ""
        if find is not None and find.startswith(before):
            return name, class_number(find.removeprefix(before), own)
        if find is None and name == ALONE:
            return name, None
    raise InvalidConfig(
        f"--pick {request.pick}{'' if find is None else f' --find {find}'} for several models",
        f"--find MODEL:CLASS, with one of {', '.join(models)}: that model picks, and all answer",
        f"write for example --find {shlex.quote(f'{name}:{own[-1]}')}, or ask one model by itself",
    )


def _records(
    model: TrainedModel, read: Rows, request: PredictRequest, picks: bool, find: int | None
) -> tuple[TrainedModel, pa.Table, list[str], list[int]]:
    """The model for the rows' own mix or with sets weighted for them, its records, notes, and rows if it picks."""
    graphs, rows, problems, settings = read.graphs, read.rows, read.problems, request.settings
    if graphs is None or not len(graphs):
        return model, record_table(model, None, None, rows, problems, settings.level), [], []
    # Labels a file may hold are not looked at: they need not even be the model's classes.
    graphs = replace(graphs, y=torch.full_like(graphs.y, UNLABELLED))
    if request.weighted:
        model = weighted_for(model, graphs, settings.seed)
    predictions = predict(model, graphs, settings.draws, settings.seed)
    if request.mix == ESTIMATE:
        model, predictions = moved_to_mix(model, predictions, estimated_mix(model, predictions))
    picked, notes = list[int](), standard_notes(graphs)
    if picks and request.pick is not None:
        picked = [rows[one] for one in pick(predictions, graphs, request.pick, find)]
        lost = f"{plural(len(problems), 'row')} could not be read, and could not be picked"
        notes = [lost, *notes] if problems else notes
    return model, record_table(model, predictions, graphs, rows, problems, settings.level), notes, picked


def _in_order(table: pa.Table, rows: Sequence[int]) -> pa.Table:
    """The records of these rows."""
    places = {row: place for place, row in enumerate(table["row"].to_pylist())}
    return table.take(column([places[row] for row in rows], pa.int64())).combine_chunks()


def _dictionaries(tables: Mapping[str, pa.Table], models: Models) -> list[Record]:
    """Records for JSON and the screen; those of several models are nested, by name."""
    if ALONE in tables:
        return as_dictionaries(models[ALONE], tables[ALONE])
    records = []
    for rows in zip(*(table.to_pylist() for table in tables.values()), strict=True):
        by_model = dict(zip(tables, rows, strict=True))
        status, reason = together({name: (one["status"], one["reason"]) for name, one in by_model.items()})
        own = {name: {k: v for k, v in one.items() if k not in SHARED} for name, one in by_model.items()}
        records.append({**{name: rows[0][name] for name in SHARED}, "status": status, "reason": reason, "models": own})
    return records


def _named(records: list[Record], columns: Mapping[str, Sequence[str]]) -> list[Record]:
    """With the name of each row, where a column says it, and the cells of its columns."""
    if not columns:
        return records
    names = row_names(columns, [record["row"] for record in records])
    return [
        {**record, "name": name, "columns": {own: values[record["row"]] for own, values in columns.items()}}
        for record, name in zip(records, names, strict=True)
    ]


def _summarise(counts: Counts, strict: bool) -> None:
    """What could not be used; exit code 1 if that is everything, or anything where the user is strict."""
    for one in counts.notes:
        note(one)
    if not counts.failed:
        return
    say(f"{counts.failed} of {plural(counts.rows, 'row')} could not be read:", "yellow")
    for row, given, reason in counts.problems:
        say(f"  row {row}: {shortened(given)!r}: {reason}", "yellow")
    if counts.failed > SHOWN_PROBLEMS:
        say(f"  and {counts.failed - SHOWN_PROBLEMS} more: see the column reason", "yellow")
    if strict or counts.failed == counts.rows:
        raise typer.Exit(1)


def processes() -> int:
    """Processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
