"""``graphfnp predict`` for several models at once."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from graphfnp.cli.console import domain_cell, err, out
from graphfnp.cli.mix import mix_line
from graphfnp.cli.predicting import PredictRequest, score, tell
from graphfnp.cli.prediction_table import also_possible, spread
from graphfnp.datasets.columns import row_names
from graphfnp.datasets.load import is_name, load
from graphfnp.errors import InvalidConfig
from graphfnp.files import exists
from graphfnp.prediction.predict import TrainedModel
from graphfnp.prediction.records import OK
from graphfnp.runs.run import Run
from graphfnp.scoring.chunk import CHUNK, Chunk
from graphfnp.scoring.panel import PanelScorer, together
from graphfnp.scoring.parts import Counts
from graphfnp.scoring.record_files import ENDINGS, write_record_file
from graphfnp.scoring.rows import MoleculeFile, can_stream

SHOWN_ROWS, SHOWN_PROBLEMS = 20, 10


def predict_panel(runs: Mapping[str, Run], request: PredictRequest) -> Counts:
    """A record of each model for every row: prefixed columns in files, nested in JSON, a line a model on the screen."""
    models = {name: run.model for name, run in runs.items()}
    if request.weighted or request.pick is not None:
        raise InvalidConfig("--weighted or --pick for a panel", "one model", "ask one model at a time")
    if request.mix is not None:
        raise InvalidConfig(f"--mix {request.mix} for a panel", "the mix of each model's own data", "leave it out")
    to_table = request.target is not None and request.target.suffix in ENDINGS
    if to_table and not request.as_json and can_stream(Path(request.source)):
        counts = score(models, request)
    else:
        counts = _at_once(models, request)
    for name, model in models.items() if not request.as_json else ():
        err.print(f"{name}: {mix_line(model)}", style="dim", highlight=False, markup=False)
    return counts


def _at_once(models: Mapping[str, TrainedModel], request: PredictRequest) -> Counts:
    is_csv = request.target is not None and request.target.suffix == ".csv"
    chunks, names = _rows(request, PanelScorer(models, request.settings).columns)
    if request.target is not None and request.target.suffix in ENDINGS:
        scorer = PanelScorer(models, request.settings, is_csv)
        write_record_file(
            request.target, [scorer.score(chunk) for chunk in chunks], scorer.schema,
            {**scorer.about(), "settings": request.settings.to_json()}, request.raw,
        )  # fmt: skip
    records = list(_records(PanelScorer(models, request.settings), chunks, names))
    tell(records, request, lambda: _show(records))
    bad = [record for record in records if record["status"] != OK]
    return Counts(len(records), len(bad), tuple((r["row"], r["input"], r["reason"]) for r in bad[:SHOWN_PROBLEMS]))


def _rows(request: PredictRequest, beside: Sequence[str]) -> tuple[list[Chunk], Sequence[str | None]]:
    """SMILES on the command line, rows of a file, or the molecules of a dataset; and what people call them."""
    source = request.source
    if exists(source) and can_stream(Path(source)):
        file = MoleculeFile(Path(source), request.smiles, beside)
        chunks = list(file.chunks())
        columns: dict[str, list[str]] = {}
        for table in file.columns():
            for name, values in zip(table.column_names, table.columns, strict=True):
                columns.setdefault(name, []).extend(str(one or "") for one in values.to_pylist())
        return chunks, row_names(columns, list(range(sum(len(chunk.texts) for chunk in chunks))))
    texts: Sequence[str] = source.splitlines() or [source]
    if exists(source) or is_name(source):
        graphs = load(source, data=request.data, smiles=request.smiles, allow_unlabelled=True).graphs
        if graphs.smiles is None:
            raise InvalidConfig(f"{source} for a panel", "molecules given as SMILES", "ask one model at a time")
        texts = graphs.smiles
    parts = [tuple(texts[start : start + CHUNK]) for start in range(0, len(texts), CHUNK)]
    return [Chunk(number, number * CHUNK, part) for number, part in enumerate(parts)], [None] * len(texts)


def _records(scorer: PanelScorer, chunks: Sequence[Chunk], names: Sequence[str | None]) -> Iterator[dict[str, Any]]:
    for chunk in chunks:
        tables = {name: table.to_pylist() for name, table in scorer.tables(chunk).items()}
        for rows in zip(*tables.values(), strict=True):
            models = dict(zip(tables, rows, strict=True))
            status, reason = together({name: (one["status"], one["reason"]) for name, one in models.items()})
            row, given = rows[0]["row"], rows[0]["input"]
            own = {name: {k: v for k, v in one.items() if k not in ("row", "input")} for name, one in models.items()}
            named = {"name": names[row]} if names[row] else {}
            yield {"row": row, "input": given, **named, "status": status, "reason": reason, "models": own}


def _show(records: Sequence[Mapping[str, Any]]) -> None:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("row", overflow="ellipsis", no_wrap=True, max_width=16)
    table.add_column("model", overflow="fold")
    table.add_column("class", overflow="fold", min_width=10)
    table.add_column("probability", no_wrap=True)
    table.add_column("also possible", overflow="fold", min_width=6)
    table.add_column("domain", no_wrap=True)
    for record in records[:SHOWN_ROWS]:
        called = f"{record['row']} {record.get('name') or record['input']}"
        for name, one in record["models"].items():
            if one["status"] != OK:
                table.add_row(escape(called), escape(name), "[yellow]failed[/yellow]")
            else:
                said = [escape(one["class"]), spread(one), escape(also_possible(one)), domain_cell(one)]
                table.add_row(escape(called), escape(name), *said)
            called = ""
    out.print(table)
    if len(records) > SHOWN_ROWS:
        out.print(f"... and {len(records) - SHOWN_ROWS} more rows; write all of them with --out FILE", highlight=False)
    out.print("--json or --out FILE tell all: each model's uncertainties, sets, domain and rationales", style="dim")
