"""Which learning rate and knob a method gets: by mean validation NLL over the tuning seeds, the same for all."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from graphfnp.experiments.cell import Cell
from graphfnp.experiments.protocol import COLUMNS, FIXED, KNOBS, LEARNING_RATES, TUNED_AS, Column
from graphfnp.experiments.results import Results

RATE = "training.learning_rate"


@dataclass(frozen=True)
class Choice:
    """Overrides a method is run with; ``missing`` holds the cells that must be finished before they are known."""

    overrides: Mapping[str, Any] | None
    missing: tuple[Cell, ...] = ()
    tried: tuple[tuple[Mapping[str, Any], float], ...] = ()  # overrides and their mean validation NLL


def choose(column: Column, method: str, results: Results) -> Choice:
    """First the learning rate, then the knob at that rate, on the first backbone; other backbones take the same."""
    column = COLUMNS[column.tuned_as] if column.tuned_as else column
    method = TUNED_AS.get(method, method)
    rates: list[dict[str, Any]] = [{RATE: rate} for rate in LEARNING_RATES]
    first = _best(column, method, rates, results)
    if first.overrides is None or method not in KNOBS:
        return first
    second = _best(column, method, [first.overrides, {**first.overrides, **KNOBS[method]}], results)
    return Choice(second.overrides, second.missing, (*first.tried, *second.tried[1:]))


def _best(column: Column, method: str, points: Iterable[Mapping[str, Any]], results: Results) -> Choice:
    tried, missing = [], []
    for point in points:
        cells = [cell_of(column, column.backbones[0], method, seed, point) for seed in column.tuning_seeds]
        missing += [cell for cell in cells if cell not in results]
        if all(cell in results for cell in cells):
            tried.append((point, fmean(results[cell]["validation"]["nll"] for cell in cells)))
    if missing:
        return Choice(None, tuple(missing), tuple(tried))
    return Choice(min(tried, key=lambda pair: pair[1])[0], (), tuple(tried))


def cell_of(column: Column, backbone: str, method: str, seed: int, overrides: Mapping[str, Any]) -> Cell:
    return Cell(column.dataset, backbone, method, seed, {**FIXED.get(method, {}), **overrides}, column.data)
