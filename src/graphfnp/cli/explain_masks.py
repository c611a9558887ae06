"""``graphfnp explain --explainer NAME``: masks of graphs by a named explainer, or the graphs a generator is sure of."""

import json
from collections.abc import Sequence
from pathlib import Path

import typer
from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.progress import Progress
from rich.table import Column, Table

from graphfnp.cli.console import err, out, say
from graphfnp.cli.progress import log_lines
from graphfnp.errors import InvalidConfig, plural
from graphfnp.explainers.explain import EXPLAINERS, explain
from graphfnp.explainers.scores import GENERATORS
from graphfnp.files import read_json
from graphfnp.graphs.packed import PackedGraphs
from graphfnp.graphs.problem import Problem
from graphfnp.report.explanation_page import RECORDS
from graphfnp.report.mask_page import PAGE, strongest, write_generated, write_masks, written
from graphfnp.runs.run import Run


def explain_with(
    run: Run,
    graphs: PackedGraphs,
    rows: list[int],
    name: str,
    folder: Path,
    seed: int = 0,
    data: Path | None = None,
    as_json: bool = False,
    names: Sequence[str | None] = (),
    refused: Sequence[Problem] = (),
) -> None:
    """Write a page, its numbers as JSON, and a drawing of every graph."""
    if name in GENERATORS:
        _generate(run, name, folder, seed, data, as_json)
        return
    if name not in EXPLAINERS:
        raise InvalidConfig(
            f"--explainer {name}",
            f"rationales, {', '.join((*EXPLAINERS, *GENERATORS))}",
            "choose one of these, or leave the option out",
        )
    training = run.dataset(data).train if name == "pg-explainer" else None
    with Progress(console=err, disable=as_json, transient=True) as progress:
        task, log = progress.add_task(name, total=len(graphs)), log_lines()

        def watch(done: int) -> None:
            progress.update(task, advance=done)
            if not err.is_terminal:
                log(f"{name}: {progress.tasks[task].completed:.0f} of {plural(len(graphs), 'graph')}")

        found = explain(run.model.classifier, graphs, name, training, seed=seed, batch_size=8, watch=watch)
    title = f"{name}: {run.plan.method} on {run.plan.dataset}"
    records = write_masks(folder, title, graphs, found, rows, names, refused)
    table = Table("row", "name" if any(names) else "input", "class", f"strongest {found.scored}", box=SIMPLE_HEAD)
    for record in records:
        shown = strongest(record, found.scored)
        table.add_row(str(record["row"]), escape(record.get("name") or record["input"]), escape(record["class"]), shown)
    _tell(read_json(folder / RECORDS), table, folder, as_json)


def _generate(run: Run, name: str, folder: Path, seed: int, data: Path | None, as_json: bool) -> None:
    """The input has no part in it: nodes and edges to build with are those of the training graphs."""
    with Progress(console=err, disable=as_json, transient=True) as progress:
        progress.add_task(f"{name} generates graphs for each class", total=None)
        found = GENERATORS[name](run.model.classifier, run.dataset(data).train, seed=seed)
    schema = run.model.classifier.schema
    records = write_generated(folder, f"Graphs from {name}: {run.plan.method} on {run.plan.dataset}", found, schema)
    table = Table("class", "probability", "nodes", "edges", Column("graph", overflow="fold"), box=SIMPLE_HEAD)
    for record in records:
        sure = f"{100 * record['probability']:.0f} %"
        size = (str(record["nodes"]), str(len(record["edges"])))
        table.add_row(escape(record["class"]), sure, *size, escape(written(record)))
    _tell(records, table, folder, as_json)


def _tell(records: list[dict], table: Table, folder: Path, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(records, indent=1))
        return
    out.print(table)
    say(f"explanation  {folder / PAGE}", console=out)
