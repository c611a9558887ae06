"""Predictions in the terminal: a line for each row, its columns in the order one should read them."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from graphfnp.cli.console import note, out
from graphfnp.methods.rationales import NOTHING
from graphfnp.prediction.domain import VERDICTS
from graphfnp.prediction.predict import TrainedModel
from graphfnp.prediction.records import OK
from graphfnp.scoring.scorer import ALONE

SHOWN_ROWS = 50
NO_CLASS, NO_OTHER = "no class fits", "-"  # a class may be called so too, and is quoted
ROOM = 35  # of probability, domain and the gaps between columns


def show_predictions(records: Sequence[Mapping[str, Any]], models: Mapping[str, TrainedModel], level: float) -> None:
    """Class, probability with its interval, what the conformal set leaves open, domain; 80 columns are enough.

    The records of several models are nested: a line for the row, and one below it for each model.
    """
    named, several = any(record.get("name") for record in records), ALONE not in models
    shown, sets = records[:SHOWN_ROWS], [one for one in models.values() if one.conformal is not None]
    longest = max(map(_longest, models.values()))
    numbers = max([3, *(len(str(record["row"])) for record in shown)])
    room = out.width - ROOM - numbers - longest * (2 if sets else 1)  # long names leave the others
    table = Table("row", box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    what = ("name" if named else "input") + (", model" if several else "")
    table.add_column(what, overflow="ellipsis", no_wrap=True, max_width=max(8, room))
    table.add_column("class", overflow="fold", min_width=longest)
    table.add_column("probability\n(90 % of draws)", no_wrap=True)
    if sets:
        table.add_column("also possible", overflow="fold", min_width=longest)
    table.add_column("domain", no_wrap=True)
    for record in shown:
        cells = [str(record["row"]), escape(str((record.get("name") if named else None) or record["input"]))]
        if several:
            table.add_row(*cells)
        for name, one in record["models"].items() if several else ((ALONE, record),):
            cells = ["", f"  {escape(name)}"] if several else cells
            if one["status"] != OK:
                table.add_row(*cells, "[yellow]failed[/yellow]")
            else:
                kept = [escape(also_possible(one))] if sets else []
                table.add_row(*cells, escape(one["class"]), spread(one), *kept, domain_cell(one))
    out.print(table)
    if not several:
        _unreached([record for record in shown if record["status"] == OK], models[ALONE])
    if len(records) > SHOWN_ROWS:
        out.print(f"... and {len(records) - SHOWN_ROWS} more rows; write all of them with --out FILE")
    if all(record["status"] != OK for record in shown):
        return
    if sets:
        out.print(
            f"also possible: other classes in the {100 * level:g} % conformal set; each class has its own threshold",
            style="dim",
        )
    for name, model in models.items():
        for one in model.conformal.notes(model.classifier.schema.class_names, level) if model.conformal else ():
            note(f"{name}: {one}" if name else one, out)
    out.print("domain: is it like the training data? --json or --out FILE give all fields", style="dim")


def _unreached(records: Sequence[Mapping[str, Any]], model: TrainedModel) -> None:
    """Rows that no rationale of the model speaks for."""
    if model.classifier.rationale_model is None:
        return
    rationales = model.classifier.rationale_model.rationales()
    if rows := [str(record["row"]) for record in records if rationales.leans_on(record["distance"])]:
        who = f"row {rows[0]}:" if len(rows) == 1 else f"rows {', '.join(rows)}: each"
        out.print(f"{who} {NOTHING}", style="yellow")


def also_possible(record: Mapping[str, Any]) -> str:
    """The classes of the conformal set beside the predicted one; "only" them, where that one is ruled out."""
    if record["conformal_set"] is None:
        return NO_OTHER
    if not record["conformal_set"]:
        return NO_CLASS
    others = [name for name in record["conformal_set"] if name != record["class"]]
    only = "" if record["class"] in record["conformal_set"] else "only "
    return only + ", ".join(repr(name) if name == NO_OTHER or "," in name else name for name in others) or NO_OTHER


def spread(record: Mapping[str, Any]) -> str:
    low, high = (f"{100 * record[end]:.0f}" for end in ("low", "high"))
    return f"{100 * record['probability']:.1f}% ({low}-{high})"


def domain_cell(record: Mapping[str, Any]) -> str:
    """The first words of the domain's verdict on a row, in a colour that warns."""
    verdict = record["domain_verdict"]
    if verdict is None:
        return "-"
    said = verdict.removesuffix(" the training data")
    colour = {VERDICTS[1]: "yellow", VERDICTS[2]: "red"}.get(verdict)
    return said if colour is None else f"[{colour}]{said}[/{colour}]"


def _longest(model: TrainedModel) -> int:
    """Room for whole names, as long as they are not sentences."""
    return min(16, max(len("also possible"), *map(len, model.classifier.schema.class_names)))
