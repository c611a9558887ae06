"""What ``graphfnp predict`` does, once the heavy libraries may be imported."""

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import torch
import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from graphfnp.chemistry.read_smiles import read_molecule
from graphfnp.chemistry.smiles import reads_smiles
from graphfnp.cli.console import err
from graphfnp.cli.mix import mix_line, model_for_mix
from graphfnp.cli.prediction_table import show_predictions
from graphfnp.cli.standard_streams import DASH, files_for_streams, shown
from graphfnp.datasets.load import is_name
from graphfnp.datasets.tables import standard_notes
from graphfnp.errors import InvalidConfig
from graphfnp.files import exists, write_json
from graphfnp.graphs.packed import UNLABELLED
from graphfnp.graphs.problem import Problem
from graphfnp.prediction.arrow import column
from graphfnp.prediction.label_mix import ESTIMATE, assumed_mix, estimated_mix, moved_to_mix
from graphfnp.prediction.pick import class_number, pick
from graphfnp.prediction.predict import TrainedModel, predict
from graphfnp.prediction.records import OK, as_text, prediction_records, record_table
from graphfnp.prediction.shift import weighted_for
from graphfnp.runs.bundles import open_run
from graphfnp.runs.panel import is_panel, open_panel
from graphfnp.scoring.object_storage import address_of, copies
from graphfnp.scoring.parts import Counts
from graphfnp.scoring.record_files import ENDINGS, beside, check_target, column_notes, write_record_file
from graphfnp.scoring.rows import can_stream
from graphfnp.scoring.score_file import Execution, Watch, score_file
from graphfnp.scoring.scorer import Settings, about_model

if TYPE_CHECKING:
    from graphfnp.cli.commands import Rows

SHOWN_ROWS, SHOWN_PROBLEMS = 50, 10
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
    as_json: bool
    restart: bool
    strict: bool
    raw: bool
    keep_columns: bool = True
    weighted: bool = False  # conformal sets
    pick: int | None = None  # only so many rows, the most useful to test first
    find: str | None = None  # the class that picks should find; None: they should teach the model


def one_source(given: Sequence[str]) -> str:
    """Several SMILES as one text, a line each; a file or a dataset comes alone."""
    if len(given) > 1 and (others := [one for one in given if exists(one) or is_name(one) or one == DASH]):
        raise InvalidConfig(
            f"{others[0]} among {len(given)} inputs", "SMILES, or one file", "score each file by itself"
        )
    return SEVERAL.join(given)


def predict_rows(folder: Path, request: PredictRequest) -> None:
    """A record for every row; ``-`` is standard input, or output as CSV."""
    streams = files_for_streams(request.source, request.target)
    with streams as (source, target), copies(source, target) as (here, written):
        counts = _predicted(folder, replace(request, source=here, target=written))
    if address := address_of(request.target):
        err.print(f"sent to {address}", highlight=False, markup=False)
    _summarise(counts, request.strict)


def _predicted(folder: Path, request: PredictRequest) -> Counts:
    """As a stream from file to file, or all at once where it is shown or not a table."""
    if request.target is not None:
        check_target(request.target, request.source, (*ENDINGS, ".json"))
    if is_panel(folder):
        from graphfnp.cli.panels import predict_panel

        return predict_panel(open_panel(folder), request)
    model = open_run(folder).model
    schema, settings = model.classifier.schema, request.settings
    if request.mix not in (None, ESTIMATE):
        model = model_for_mix(model, request.mix)
        settings = replace(settings, mix=assumed_mix(model))
    request = replace(request, settings=settings)
    streams = request.target is not None and request.target.suffix in ENDINGS and request.mix != ESTIMATE
    streams = streams and not request.weighted and request.pick is None  # all rows come before the first record
    if streams and not request.as_json and reads_smiles(schema) and can_stream(Path(request.source)):
        counts = score(model, request)
    elif request.execution.engine != "local":
        raise InvalidConfig(
            f"--engine {request.execution.engine} for {request.source}",
            "a file of molecules and --out FILE.csv or FILE.parquet",
            "leave the engine out: this is done at once",
        )
    else:
        counts, model = _predict_at_once(model, request)
    if not request.as_json:
        err.print(mix_line(model), style="dim", highlight=False, markup=False)
        if model.decision is not None:
            told = model.decision.told(model.classifier.schema.class_names)
            err.print(f"decision: {told}", style="dim", highlight=False, markup=False)
        if request.weighted and model.conformal is not None:
            err.print(f"sets: {model.conformal.guarantee}", style="dim", highlight=False, markup=False)
    return counts


def score(model: TrainedModel | Mapping[str, TrainedModel], request: PredictRequest) -> Counts:
    """From file to file."""
    assert request.target is not None
    with _progress() as watch:
        counts = score_file(
            model,
            request.source,
            request.target,
            request.smiles,
            request.settings,
            request.execution,
            request.restart,
            watch,
            request.raw,
            request.keep_columns,
        )
    err.print(f"{counts.rows} rows -> {shown(request.target)}", highlight=False, markup=False)
    return counts


@contextmanager
def _progress() -> Iterator[Watch]:
    """Rows done, how many a second, and the time left, on standard error."""
    columns = (
        TextColumn("[bold]rows"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn(),
        TextColumn("{task.fields[rate]}"),
    )  # fmt: skip
    with Progress(*columns, console=err) as progress:
        task = progress.add_task("rows", total=None, rate="")

        def watch(done: int, before: int, total: int) -> None:
            elapsed = progress.tasks[0].elapsed or 0
            rate = f"{(done - before) / elapsed:,.0f} rows/s" if elapsed else ""
            kept = f", {before:,} were done before" if before else ""
            progress.update(task, completed=done, total=total, rate=rate + kept)

        yield watch


def _none_too_large(read: "Rows", most_atoms: int) -> "Rows":
    """Molecules of too many atoms are refused, as the stream does; graphs that are none may have any size."""
    graphs, rows = read.graphs, read.rows
    if graphs is None or graphs.text is None or not reads_smiles(graphs.schema):
        return read
    suspects = torch.nonzero(graphs.node_ptr.diff() > most_atoms)[:, 0].tolist()  # hydrogens may be among their nodes
    reasons = {one: read_molecule(graphs.text[one], most_atoms) for one in suspects}
    refused = {one: Problem(rows[one], graphs.text[one], why) for one, why in reasons.items() if isinstance(why, str)}
    kept = [one for one in range(len(graphs)) if one not in refused]
    if not refused:
        return read
    return replace(
        read,
        graphs=graphs.select(torch.tensor(kept, dtype=torch.long)),
        rows=[rows[one] for one in kept],
        problems=(*read.problems, *refused.values()),
    )


def _predict_at_once(model: TrainedModel, request: PredictRequest) -> tuple[Counts, TrainedModel]:
    from graphfnp.cli.commands import read_input  # also reads datasets, which a stream does not need

    settings, schema = request.settings, model.classifier.schema
    read = read_input(request.source, schema, request.data, settings.seed, request.smiles)
    read = _none_too_large(read, settings.most_atoms)
    graphs, rows, problems = read.graphs, read.rows, read.problems
    columns = read.columns if request.keep_columns else {}
    predictions, notes = None, tuple[str, ...]()
    if graphs is not None and len(graphs):
        # Labels a file may hold are not looked at: they need not even be the model's classes.
        graphs = replace(graphs, y=torch.full_like(graphs.y, UNLABELLED))
        if request.weighted:
            model = weighted_for(model, graphs, settings.seed)
        predictions = predict(model, graphs, settings.draws, settings.seed)
        if request.mix == ESTIMATE:
            model, predictions = moved_to_mix(model, predictions, estimated_mix(model, predictions))
    ranks: dict[int, int] = {}  # of the rows picked
    if request.pick is not None and graphs is not None and predictions is not None:
        find = None if request.find is None else class_number(request.find, schema.class_names)
        chosen = pick(predictions, graphs, request.pick, find)
        graphs, predictions, rows = graphs.select(chosen), predictions.select(chosen), [rows[g] for g in chosen]
        ranks, notes, problems = {row: rank for rank, row in enumerate(rows)}, _left_out(problems), ()
    if request.target is not None and request.target.suffix in ENDINGS:
        table = record_table(model, predictions, graphs, rows, problems, settings.level)
        table = as_text(table) if request.target.suffix == ".csv" else table
        order = sorted(range(len(table)), key=lambda place: ranks.get(table["row"][place].as_py(), place))
        table = table.take(column(order, pa.int64())) if ranks else table
        if columns:
            shown_rows = table["row"].to_pylist()
            texts = [column([values[row] for row in shown_rows], pa.string()) for values in columns.values()]
            own = pa.Table.from_arrays(texts, names=list(columns))
            notes = (*notes, *column_notes(own.column_names, table.column_names))
            table = beside(own, table)
        about = {**about_model(model), "settings": settings.to_json(), "rows": len(table), "failed": len(problems)}
        write_record_file(request.target, [table], table.schema, about, request.raw)
    records = prediction_records(model, predictions, graphs, rows, problems, settings.level)
    records = sorted(records, key=lambda record: ranks[record["row"]]) if ranks else records
    if columns:
        names = read.names([record["row"] for record in records])
        records = [
            {**record, "name": name, "columns": {own: values[record["row"]] for own, values in columns.items()}}
            for record, name in zip(records, names, strict=True)
        ]
    tell(records, request, lambda: show_predictions(records, model, settings.level))
    notes += tuple(standard_notes(graphs)) if graphs is not None else ()
    bad = [record for record in records if record["status"] != OK]
    problems_shown = tuple((r["row"], r["input"], r["reason"]) for r in bad[:SHOWN_PROBLEMS])
    return Counts(len(records), len(bad), problems_shown, notes), model


def tell(records: Sequence[Mapping[str, Any]], request: PredictRequest, show: Callable[[], None]) -> None:
    """Write records to the JSON file that was asked for, print them, or show them as a table."""
    if request.target is not None and request.target.suffix == ".json":
        write_json(request.target, records)
    if request.as_json:
        typer.echo(json.dumps(records, indent=1))
    elif request.target is not None:
        err.print(f"{len(records)} rows -> {shown(request.target)}", highlight=False, markup=False)
    else:
        show()


def _left_out(problems: Sequence[Problem]) -> tuple[str, ...]:
    return (f"{len(problems)} rows could not be read, and could not be picked",) if problems else ()


def _summarise(counts: Counts, strict: bool) -> None:
    """What could not be used; exit code 1 if that is everything, or anything where the user is strict."""
    for note in counts.notes:
        err.print(f"note: {note}", style="yellow", highlight=False, markup=False)
    if not counts.failed:
        return
    err.print(f"{counts.failed} of {counts.rows} rows could not be read:", style="yellow")
    for row, given, reason in counts.problems[:SHOWN_PROBLEMS]:
        shown = given if len(given) <= 80 else f"{given[:77]}..."
        err.print(f"  row {row}: {shown!r}: {reason}", style="yellow", markup=False)
    if counts.failed > SHOWN_PROBLEMS:
        err.print(f"  and {counts.failed - SHOWN_PROBLEMS} more: see the column reason", style="yellow")
    if strict or counts.failed == counts.rows:
        raise typer.Exit(1)


def processes() -> int:
    """Processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
