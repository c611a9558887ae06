"""What a method is run with: learning rate and one knob, by mean validation NLL, the same rule for all."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import inf
from statistics import fmean
from typing import Any

from graphfnp.experiments.cell import Cell
from graphfnp.experiments.protocol import COLUMNS, FIXED, KNOBS, LEARNING_RATES, TUNED_AS, WITHOUT_NETWORK, Column
from graphfnp.experiments.results import Results

RATE = "training.learning_rate"


@dataclass(frozen=True)
class Tried:
    """A point of the grid and its validation NLL, soft and after the last epoch, averaged over the tuning seeds."""

    overrides: Mapping[str, Any]
    nll: float


@dataclass(frozen=True)
class Choice:
    """``overrides`` are None while ``missing`` cells must be finished before they are known."""

    overrides: Mapping[str, Any] | None
    missing: tuple[Cell, ...] = ()
    tried: tuple[Tried, ...] = ()


def choose(column: Column, backbone: str, method: str, results: Results) -> Choice:
    """Learning rate, then knob at that rate; every backbone has its own."""
    column = COLUMNS[column.tuned_as] if column.tuned_as else column
    method = TUNED_AS.get(method, method)
    if column.settled:
        return Choice(column.settled[method])
    rates: list[Mapping[str, Any]] = [{}] if method in WITHOUT_NETWORK else [{RATE: rate} for rate in LEARNING_RATES]
    choice = _best(column, backbone, method, rates, results)
    if choice.overrides is None or method not in KNOBS:
        return choice
    found = choice.overrides
    further = _best(column, backbone, method, [found, {**found, **KNOBS[method]}], results)
    return Choice(further.overrides, further.missing, (*choice.tried, *further.tried[1:]))


def _best(column: Column, backbone: str, method: str, points: Iterable[Mapping[str, Any]], results: Results) -> Choice:
    tried, missing = [], []
    for point in points:
        cells = [cell_of(column, backbone, method, seed, point) for seed in column.tuning_seeds]
        missing += [cell for cell in cells if cell not in results]
        if all(cell in results for cell in cells):
            tried.append(Tried(point, fmean(_nll(results[cell]) for cell in cells)))
    if missing:
        return Choice(None, tuple(missing), tuple(tried))
    return Choice(min(tried, key=lambda one: one.nll).overrides, (), tuple(tried))


def _nll(record: Mapping[str, Any]) -> float:
    return inf if "diverged" in record else record["validation"]["nll"]


def cell_of(column: Column, backbone: str, method: str, seed: int, overrides: Mapping[str, Any]) -> Cell:
    chosen = {**FIXED.get(method, {}), **overrides, **column.overrides, **column.own.get(method, {})}
    if method in WITHOUT_NETWORK:
        chosen = {name: value for name, value in chosen.items() if not name.startswith("backbone.")}
    return Cell(column.dataset, backbone, method, seed, chosen, column.data)
