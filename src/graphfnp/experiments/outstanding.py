"""What has not been run, and what it would cost: cells of every table, in core-hours of finished cells like them."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

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
    unknown: int  # cells of a kind of which none has been measured

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "core_hours": round(self.core_hours, 2)}


def outstanding(tables: Iterable[Table], results: Results) -> list[Outstanding]:
    """A cell that several tables share is counted for the first of them, as is a model that several explain.

    Such a model is trained for the first that explains it, unless it was kept.
    """
    expected, counted, explained, found = expected_seconds(results), set[str](), set[str](), []

    def seconds(cell: Cell) -> float | None:
        costs = [expected(cell)]
        if cell.explain and cell.trained.key not in counted | explained:
            explained.add(cell.trained.key)
            costs.append(expected(cell.trained))
        return None if None in costs else sum(cost for cost in costs if cost is not None)

    for table in tables:
        todo: dict[str, list[float | None]] = {}
        for group in table.groups():
            new = {cell.key: cell for cell in _to_do(group, results) if cell.key not in counted}
            counted |= set(new)
            costs = [seconds(cell) for cell in new.values()]
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


Facets = tuple[str, ...]  # dataset and limit, backbone, method or explainer, width, decoder: what a cell's cost goes by


def expected_seconds(results: Results) -> Callable[[Cell], float | None]:
    """Median of finished cells alike; else a product of one factor for each facet, fitted to those medians.

    Where a facet has no finished cell, that of an earlier rule counts; without one, nothing is known.
    """
    path = results.folder.parent / SECONDS
    earlier: Mapping[str, float] = json.loads(path.read_text()) if path.is_file() else {}
    finished: dict[Facets, list[float]] = {}
    whole = (record for record in results.records.values() if "diverged" not in record)
    for record in whole:
        finished.setdefault(_facets(Cell.from_json(record)), []).append(record["provenance"]["seconds"])
    medians = {facets: median(values) for facets, values in finished.items()}
    product = _product(medians)

    def seconds(cell: Cell) -> float | None:
        facets = _facets(cell)
        known = medians.get(facets) or product(facets)
        return earlier.get(" ".join(filter(None, facets))) if known is None else known

    return seconds


def _product(medians: Mapping[Facets, float]) -> Callable[[Facets], float | None]:
    """log seconds = sum over facets of one term each, by least squares."""
    terms = {term: number for number, term in enumerate({one: 0 for facets in medians for one in enumerate(facets)})}
    design = np.zeros((len(medians), len(terms)))
    for row, facets in enumerate(medians):
        design[row, [terms[one] for one in enumerate(facets)]] = 1
    logs = np.log(np.maximum([*medians.values()], 0.1))
    fitted = np.linalg.lstsq(design, logs, rcond=None)[0] if medians else logs

    def product(facets: Facets) -> float | None:
        if any(one not in terms for one in enumerate(facets)):
            return None
        return float(np.exp(sum(fitted[terms[one]] for one in enumerate(facets))))

    return product


def _facets(cell: Cell) -> Facets:
    what = f"{cell.explain['explainer']} {cell.explain['measure']}" if cell.explain else cell.method
    width = cell.overrides.get("backbone.width")
    limit = f" ({cell.data['limit']})" if "limit" in cell.data else ""
    learns = not cell.explain and cell.overrides.get("generation_weight", 0.0)
    return (
        f"{cell.dataset}{limit}", cell.backbone, what, f"{width} wide" if width else "",
        "with decoder" if learns else "",
    )  # fmt: skip
