"""``graphfnp explain --explainer NAME``: masks of graphs by a named explainer, or the graphs a generator is sure of."""

import json
from pathlib import Path

import typer
from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.progress import Progress
from rich.table import Table

from graphfnp.checkpoint import write_atomically, write_json
from graphfnp.cli.console import err, number, out
from graphfnp.errors import InvalidConfig
from graphfnp.explainers.explain import EXPLAINERS, explain
from graphfnp.explainers.records import explanation_records
from graphfnp.graphs import PackedGraphs
from graphfnp.report.drawing import picture_graph
from graphfnp.run import Run


def explain_with(
    run: Run,
    graphs: PackedGraphs,
    rows: list[int],
    name: str,
    folder: Path,
    seed: int = 0,
    data: Path | None = None,
    as_json: bool = False,
) -> None:
    """Write explanations.json and a drawing of every graph with the kept half of its edges marked."""
    if name not in EXPLAINERS:
        raise InvalidConfig(
            f"--explainer {name}",
            f"rationales, {', '.join(EXPLAINERS)}",
            "choose one of these, or leave the option out",
        )
    training = run.dataset(data).train if name == "pg-explainer" else None
    with Progress(console=err, disable=as_json, transient=True) as progress:
        task = progress.add_task(name, total=len(graphs))
        found = explain(
            run.model.classifier, graphs, name, training, seed=seed, batch_size=16,
            watch=lambda done: progress.update(task, advance=done),
        )  # fmt: skip
    records = explanation_records(graphs, found, rows)
    for g, record in enumerate(records):
        marked = {(i, j) for i, j in record["kept"]} | {(j, i) for i, j in record["kept"]}
        write_atomically(folder / f"graph-{record['row']}.svg", picture_graph(graphs, g, edges=marked).svg().encode())
    write_json(folder / "explanations.json", records)
    if as_json:
        typer.echo(json.dumps(records, indent=1))
        return
    table = Table("row", "input", "class", "strongest edges", box=SIMPLE_HEAD)
    for record in records:
        best = sorted(record["edges"], key=lambda edge: -edge[2])[:3]
        shown = ", ".join(f"{i}-{j} ({number(mask)})" for i, j, mask in best)
        table.add_row(str(record["row"]), escape(record["input"]), escape(record["class"]), shown)
    out.print(table)
    out.print(
        f"drawings and explanations.json in {folder}; {found.seconds:.2f} s a graph", highlight=False, markup=False
    )
