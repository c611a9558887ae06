"""What has not been run, and what it would cost: cells of every table, in core-hours of finished cells like them."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from graphfnp.experiments.cell import Cell
from graphfnp.experiments.choice import cell_of
from graphfnp.experiments.results import Results
from graphfnp.experiments.tables import Group, Table

SECONDS = "seconds.json"  # of cells of an earlier rule, scaled to 30 epochs: for what has no cell of this one yet


@dataclass(frozen=True)
class Outstanding:
    """Cells of a table that are still to do in one column under one backbone."""

    table: str
    place: str
    cells: int
    core_hours: float  # of those whose cost is known
    unknown: int  # cells like which none has been measured

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "core_hours": round(self.core_hours, 2)}


def outstanding(tables: Iterable[Table], results: Results) -> list[Outstanding]:
    """A cell that several tables share is counted for the first of them."""
    seconds, counted, found = measured_seconds(results), set[str](), []
    for table in tables:
        todo: dict[str, list[float | None]] = {}
        for group in table.groups():
            new = {cell.key: cell for cell in _to_do(group, results) if cell.key not in counted}
            counted |= set(new)
            costs = [seconds.get(_like(cell)) for cell in new.values()]
            todo.setdefault(f"{group.column.name} {group.backbone.upper()}", []).extend(costs)
        for place, costs in todo.items():
            known = [cost for cost in costs if cost is not None]
            if costs:
                found.append(Outstanding(table.name, place, len(costs), sum(known) / 3600, len(costs) - len(known)))
    return found


def _to_do(group: Group, results: Results) -> list[Cell]:
    """The missing cells; where a choice is not made yet, those it waits for and one a seed, its settings unknown."""
    missing = group.missing(results)
    if group.choice(results).overrides is not None:
        return missing
    row, column = group.row, group.column
    settings = {"not chosen yet": None, **row.overrides}
    later = [cell_of(column, group.backbone, row.method, seed, settings) for seed in group.seeds]
    return [*missing, *(Cell(**{**vars(cell), "explain": row.explain}) for cell in later)]


def measured_seconds(results: Results) -> dict[str, float]:
    """Median seconds of cells alike: same dataset and limit, backbone, width, and method or explainer."""
    path = results.folder.parent / SECONDS
    earlier: Mapping[str, float] = json.loads(path.read_text()) if path.is_file() else {}
    present: dict[str, list[float]] = {}
    for record in results.records.values():
        present.setdefault(_like(Cell.from_json(record)), []).append(record["provenance"]["seconds"])
    return {**earlier, **{name: median(values) for name, values in present.items()}}


def _like(cell: Cell) -> str:
    what = f"{cell.explain['explainer']} {cell.explain['measure']}" if cell.explain else cell.method
    width = cell.overrides.get("backbone.width")
    limit = f" ({cell.data['limit']})" if "limit" in cell.data else ""
    return f"{cell.dataset}{limit} {cell.backbone} {what}" + (f" {width} wide" if width else "")
