"""Predictions in the terminal: a line for each row, its columns in the order one should read them."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from graphfnp.cli.console import domain_cell, out
from graphfnp.methods.rationales import NOTHING, leans_on
from graphfnp.prediction.predict import TrainedModel
from graphfnp.prediction.records import OK

SHOWN_ROWS = 50
NO_CLASS = "no class fits"
ROOM = 35  # of probability, domain and the gaps between columns


def show_predictions(records: Sequence[Mapping[str, Any]], model: TrainedModel, level: float) -> None:
    """Class, probability with its interval, what the conformal set leaves open, domain; 80 columns are enough."""
    named = any(record.get("name") for record in records)
    table = Table("row", box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    longest = _longest(model)
    numbers = max([3, *(len(str(record["row"])) for record in records[:SHOWN_ROWS])])
    room = out.width - ROOM - numbers - longest * (1 if model.conformal is None else 2)  # long names leave the others
    table.add_column("name" if named else "input", overflow="ellipsis", no_wrap=True, max_width=max(8, room))
    table.add_column("class", overflow="fold", min_width=longest)
    table.add_column("probability\n(90 % of draws)", no_wrap=True)
    if model.conformal is not None:
        table.add_column("also possible", overflow="fold", min_width=longest)
    table.add_column("domain", no_wrap=True)
    for record in records[:SHOWN_ROWS]:
        called = str((record.get("name") if named else None) or record["input"])
        cells = [str(record["row"]), escape(called)]
        if record["status"] != OK:
            table.add_row(*cells, "[yellow]failed[/yellow]")
            continue
        cells += [escape(record["class"]), spread(record)]
        cells += [] if model.conformal is None else [escape(also_possible(record))]
        table.add_row(*cells, domain_cell(record))
    out.print(table)
    shown = [record for record in records[:SHOWN_ROWS] if record["status"] == OK]
    reached = [record for record in shown if record["rationales"] is not None]
    if unreached := [str(record["row"]) for record in reached if leans_on(record["distance"])]:
        out.print(f"row {', '.join(unreached)}: {NOTHING}", style="yellow", highlight=False)
    if len(records) > SHOWN_ROWS:
        out.print(f"... and {len(records) - SHOWN_ROWS} more rows; write all of them with --out FILE", highlight=False)
    if not shown:
        return
    if model.conformal is not None:
        names = model.classifier.schema.class_names
        promise = f"also possible: classes that {100 * level:g} % sets keep; each class has its own threshold"
        out.print(promise, style="dim", highlight=False)
        for note in model.conformal.notes(names, level):
            out.print(f"note: {note}", style="yellow", highlight=False, markup=False)
    out.print("domain: is it like the training data? --json or --out FILE tell all", style="dim", highlight=False)


def also_possible(record: Mapping[str, Any]) -> str:
    """The classes of the conformal set beside the predicted one."""
    if record["conformal_set"] is None:
        return "-"
    if not record["conformal_set"]:
        return NO_CLASS
    others = [name for name in record["conformal_set"] if name != record["class"]]
    return ", ".join(others) or "-"


def spread(record: Mapping[str, Any]) -> str:
    low, high = (f"{100 * record[end]:.0f}" for end in ("low", "high"))
    return f"{100 * record['probability']:.1f}% ({low}-{high})"


def _longest(model: TrainedModel) -> int:
    """Room for whole names, as long as they are not sentences."""
    return min(16, max(len("also possible"), *map(len, model.classifier.schema.class_names)))
