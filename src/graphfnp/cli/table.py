"""``graphfnp table``: print a table of the paper from what has been measured, or measure what is missing."""

import json
from pathlib import Path
from typing import Annotated

import typer

from graphfnp.cli.options import Address, AsJson

Several = list[str] | None


def table(
    name: Annotated[
        str | None, typer.Argument(help="calibration, temperature, parts, ablation, claims, missing ...")
    ] = None,
    fill: Annotated[
        bool, typer.Option("--fill", help="Train the missing cells; can be interrupted and resumed.")
    ] = False,
    workers: Annotated[int, typer.Option(min=1, help="Processes, one thread each.")] = 1,
    budget: Annotated[float | None, typer.Option(min=0, help="Stop after this many minutes.")] = None,
    engine: Annotated[str, typer.Option(help="local, or ray: workers anywhere on a Ray cluster.")] = "local",
    address: Address = None,
    dataset: Annotated[Several, typer.Option(help="Only this column; repeatable.")] = None,
    backbone: Annotated[Several, typer.Option(help="Only this backbone; repeatable.")] = None,
    method: Annotated[Several, typer.Option(help="Only this row; repeatable.")] = None,
    results: Annotated[Path | None, typer.Option(help="Folder of the results; default: results.")] = None,
    keep: Annotated[Path, typer.Option(help="Folder of models and unfinished cells.")] = Path("runs/cells"),
    write: Annotated[Path | None, typer.Option(help="Write all tables as Markdown, e.g. docs/results.md.")] = None,
    as_json: AsJson = False,
) -> None:
    """Tables of the paper, rerun: printed from the results, or filled with --fill."""
    from graphfnp.cli import tables

    which = {"columns": dataset, "backbones": backbone, "methods": method}
    found = tables.open_results(results, new=fill)
    if fill:
        tables.fill_table(name, which, found, keep, workers, budget, engine, address)
    if write is not None:
        tables.write_document(found, write)
    elif as_json:
        typer.echo(json.dumps(tables.entries(name, which, found), indent=1))
    elif not fill:
        tables.show(name, which, found)
