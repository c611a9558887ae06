"""What a method is run with: learning rate, knob and number of epochs, by mean validation NLL, the same for all."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from graphfnp.experiments.cell import Cell
from graphfnp.experiments.protocol import COLUMNS, FIXED, KNOBS, LEARNING_RATES, TUNED_AS, Column
from graphfnp.experiments.results import Results

Curve = list[float | None]  # validation NLL of each epoch; None before the method was complete
RATE, STOP = "training.learning_rate", "training.stop_at"


@dataclass(frozen=True)
class Tried:
    """A point of the grid: its validation NLL at the best common epoch, averaged over the tuning seeds."""

    overrides: Mapping[str, Any]
    epochs: int
    nll: float


@dataclass(frozen=True)
class Choice:
    """``overrides`` are None while ``missing`` cells must be finished before they are known."""

    overrides: Mapping[str, Any] | None
    missing: tuple[Cell, ...] = ()
    tried: tuple[Tried, ...] = ()


def choose(column: Column, backbone: str, method: str, results: Results) -> Choice:
    """Learning rate, then knob at that rate, on the first backbone; every backbone has its own number of epochs."""
    column = COLUMNS[column.tuned_as] if column.tuned_as else column
    method = TUNED_AS.get(method, method)
    if column.settled:
        return Choice(column.settled[method])
    rates: list[Mapping[str, Any]] = [{RATE: rate} for rate in LEARNING_RATES]
    choice = _best(column, column.backbones[0], method, rates, results)
    if choice.overrides is not None and method in KNOBS:
        found = _without_epochs(choice)
        further = _best(column, column.backbones[0], method, [found, {**found, **KNOBS[method]}], results)
        choice = Choice(further.overrides, further.missing, (*choice.tried, *further.tried[1:]))
    if choice.overrides is not None and backbone != column.backbones[0]:
        return _best(column, backbone, method, [_without_epochs(choice)], results)
    return choice


def _without_epochs(choice: Choice) -> dict[str, Any]:
    return {name: value for name, value in (choice.overrides or {}).items() if name != STOP}


def _best(column: Column, backbone: str, method: str, points: Iterable[Mapping[str, Any]], results: Results) -> Choice:
    tried, missing = [], []
    for point in points:
        cells = [cell_of(column, backbone, method, seed, point) for seed in column.tuning_seeds]
        missing += [cell for cell in cells if cell not in results]
        if all(cell in results for cell in cells):
            tried.append(_at_best_epoch(point, [results[cell]["curve"] for cell in cells]))
    if missing:
        return Choice(None, tuple(missing), tuple(tried))
    best = min(tried, key=lambda one: one.nll)
    return Choice({**best.overrides, STOP: best.epochs}, (), tuple(tried))


def _at_best_epoch(point: Mapping[str, Any], curves: list[Curve]) -> Tried:
    """Of epochs that every seed reached and in which the method was complete, that of the lowest mean NLL.

    An epoch is judged with the one before and the one after: a single one may be low by luck. Of equal ones the first.
    """
    means = {
        epoch: fmean(values)
        for epoch, values in enumerate(zip(*curves, strict=False), start=1)
        if all(value is not None for value in values)
    }
    smooth = {epoch: fmean(means[near] for near in range(epoch - 1, epoch + 2) if near in means) for epoch in means}
    best = min(smooth, key=smooth.__getitem__)
    return Tried(point, best, smooth[best])


def cell_of(column: Column, backbone: str, method: str, seed: int, overrides: Mapping[str, Any]) -> Cell:
    return Cell(column.dataset, backbone, method, seed, {**FIXED.get(method, {}), **overrides}, column.data)
