"""What ``graphfnp table`` does, once the heavy libraries may be imported."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import typer
from rich.box import SIMPLE_HEAD
from rich.markdown import Markdown
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table as Grid
from rich.text import Text

from graphfnp.cli.console import err, out, say
from graphfnp.errors import InvalidConfig, listed, plural
from graphfnp.experiments.claims import claims
from graphfnp.experiments.outstanding import outstanding
from graphfnp.experiments.overview import claim_parts, render_outstanding
from graphfnp.experiments.render import Part, missing, parts
from graphfnp.experiments.results import Results
from graphfnp.experiments.summary import costs, summaries
from graphfnp.experiments.tables import TABLES, Table
from graphfnp.files import write_atomically

CELLS = "cells"
GAP, EDGES = 2, 2  # blanks between columns of a grid, and beside it
COMMITTED = Path(__file__).parents[3] / "results"  # of a checkout


def open_results(folder: Path | None, new: bool = False) -> Results:
    """The folder given, which only a filling makes ``new``, or ``results`` here, or that of this checkout."""
    if folder is not None and not new and not folder.is_dir():
        raise InvalidConfig(f"--results {folder}", "a folder that exists", "check the path, or --fill it")
    if folder is None:
        folder = Path("results") if Path("results").is_dir() or not COMMITTED.is_dir() else COMMITTED
    return Results(folder / CELLS)


# What is read off all tables at once: as Markdown, and as JSON.
WHOLE: dict[str, tuple[Callable[[Results], list[str | Part]], Callable[[Results], list[dict[str, Any]]]]] = {
    "claims": (claim_parts, lambda results: [claim.to_json() for claim in claims(results)]),
    "missing": (
        lambda results: [render_outstanding(results)],
        lambda results: [one.to_json() for one in outstanding(TABLES.values(), results)],
    ),
}


def chosen(name: str | None, which: Mapping[str, Any]) -> Table:
    if name not in TABLES:
        given = "no table" if name is None else f"table {name!r}"
        known = [*TABLES] if name is None or name in WHOLE else [*TABLES, *WHOLE]
        raise InvalidConfig(given, f"one of {listed(known, len(known))}", "name one, e.g. graphfnp table calibration")
    return TABLES[name].only(**which)


def refuse_filters(name: str | None, which: Mapping[str, Any]) -> None:
    """What is read off all tables has no rows and columns to choose from."""
    if any(which.values()):
        given = "--dataset, --backbone or --method"
        given += " without a table" if name is None else f" for {name}, which reads all tables"
        raise InvalidConfig(given, f"one of {listed(TABLES, len(TABLES))}", "name a table, or leave these options out")


def entries(name: str | None, which: Mapping[str, Any], results: Results) -> list[dict[str, Any]]:
    if name in WHOLE:
        refuse_filters(name, which)
        return WHOLE[name][1](results)
    return summaries(chosen(name, which), results)


def show(name: str | None, which: Mapping[str, Any], results: Results) -> None:
    if name is None or name in WHOLE:
        refuse_filters(name, which)
    if name in WHOLE:
        for shown in WHOLE[name][0](results):
            show_part(shown) if isinstance(shown, Part) else out.print(Markdown(shown))
        return
    if name is not None:
        table = chosen(name, which)
        out.print(f"[bold]{table.title}[/bold]")
        for part in parts(table, results, costs(results.folder.parent)):
            out.print(f"\n[bold]{part.title}[/bold]")
            show_part(part)
        out.print(Markdown(missing(table, results)))
        return
    grid = Grid("table", "rows", "columns", "complete", "to do next", box=SIMPLE_HEAD)
    for table in TABLES.values():
        groups = list(table.groups())
        done = sum(not group.missing(results) for group in groups)
        todo = len(table.missing(results))
        grid.add_row(table.name, str(len(table.rows)), str(len(table.columns)), f"{done} of {len(groups)}", str(todo))
    out.print(grid)


def show_part(part: Part) -> None:
    """As many columns beside each other as the terminal is wide, the others below with the rows' names again."""

    def width(number: int) -> int:  # headings may wrap between words, numbers may not
        words = part.heads[number].split()
        return GAP + max(len(text) for text in [*words, *(row[number].strip("*") for row in part.rows)])

    left = list(range(1, len(part.heads)))
    while left:
        free, shown = out.width - EDGES - width(0), [0]
        while left and (len(shown) == 1 or width(left[0]) <= free):
            free -= width(left[0])
            shown.append(left.pop(0))
        grid = Grid(box=SIMPLE_HEAD, padding=(0, GAP - 1, 0, 0), pad_edge=False)
        for number in shown:
            grid.add_column(part.heads[number], justify="right" if number else "left", min_width=width(number) - GAP)
        for row in part.rows:
            grid.add_row(*(Text(row[n].strip("*"), "bold" if row[n].startswith("**") else "") for n in shown))
        out.print(grid)


def write_document(results: Results, path: Path) -> None:
    """The page at ``path``, and one for each table beside it."""
    from graphfnp.experiments.document import documents, page_name  # draws, with Matplotlib

    for name, text in documents(results, path.parent / "images").items():
        write_atomically(path if name == page_name() else path.with_name(name), text.encode())
    say(f"tables  {path} and pages beside it", console=out)


def fill_table(
    name: str | None,
    which: Mapping[str, Any],
    results: Results,
    keep: Path,
    workers: int,
    minutes: float | None,
    engine: str,
    address: str | None,
) -> None:
    """Train what is missing, with a line for each worker; failures are told at the end and stop nothing."""
    table = chosen(name, which)
    if engine not in ("local", "ray"):
        raise InvalidConfig(f"--engine {engine}", "local or ray", "choose one of these")
    from graphfnp.experiments.fill import CellProgress, Outcome, fill, fill_cluster  # with all that trains and explains

    columns = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()]
    with Progress(*columns, console=err) as progress:
        total = progress.add_task("cells", total=None)
        lines = [progress.add_task(f"worker {number + 1}", total=1) for number in range(workers)]

        def watch(update: CellProgress, outcome: Outcome) -> None:
            state = "" if update.kind == "epoch" else f" ({update.kind})"
            progress.update(
                lines[update.worker], description=f"{update.cell}{state}", completed=update.epoch, total=update.epochs
            )
            if update.kind == "done":
                left = len(table.missing(results))
                progress.update(total, completed=outcome.done, total=outcome.done + left)
                if not err.is_terminal:  # a line for a log file
                    say(f"{plural(outcome.done, 'cell')} done, {left} known to be left: {update.cell}")

        if engine == "ray":
            outcome = fill_cluster(table.missing, results, workers, minutes, watch, address)
        else:
            outcome = fill(table.missing, results, keep, workers, minutes, watch)
    say(f"{outcome.done} cells done, {outcome.left} known to be left")
    for cell, reason in outcome.failed.items():
        say(f"failed: {cell}: {reason}", "yellow")
    if outcome.failed:
        raise typer.Exit(1)
