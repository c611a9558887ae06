"""``graphfnp table``: print a table of the paper from what has been measured, or measure what is missing."""

import json
from pathlib import Path
from typing import Annotated

import typer

from graphfnp.cli.options import Address, AsJson
from graphfnp.errors import InvalidConfig

Several = list[str] | None
KEEP = Path("runs/cells")


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
    keep: Annotated[Path, typer.Option(help="Folder of models and unfinished cells.")] = KEEP,
    write: Annotated[Path | None, typer.Option(help="Write all tables as Markdown, e.g. docs/results.md.")] = None,
    as_json: AsJson = False,
) -> None:
    """Tables of the paper, rerun: printed from the results, or filled with --fill."""
    given = {"workers": workers != 1, "budget": budget is not None, "engine": engine != "local"}
    given |= {"address": address is not None, "keep": keep != KEEP}
    if not fill and any(given.values()):
        option = next(name for name, is_given in given.items() if is_given)
        raise InvalidConfig(f"--{option} without --fill", "--fill with it: it says how to train", "add --fill")
    if address is not None and engine != "ray":
        raise InvalidConfig(f"--address {address}", "an address with --engine ray", "add --engine ray")
    which = {"columns": dataset, "backbones": backbone, "methods": method}
    if write is not None and (as_json or (not fill and (name or any(which.values())))):
        given_too = "--json" if as_json else f"table {name}" if name else "--dataset, --backbone or --method"
        raise InvalidConfig(f"--write beside {given_too}", "--write alone: it writes all tables", "leave one out")
    from graphfnp.cli import tables

    found = tables.open_results(results, new=fill)
    if fill:
        tables.fill_table(name, which, found, keep, workers, budget, engine, address)
    if write is not None:
        tables.write_document(found, write)
    elif as_json:
        typer.echo(json.dumps(tables.entries(name, which, found), indent=1))
    elif not fill:
        tables.show(name, which, found)
