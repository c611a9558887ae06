"""How far long work is: bars on a terminal, and lines where standard error is a log file."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from graphfnp.cli.console import err, say

if TYPE_CHECKING:
    from graphfnp.scoring.score_file import Watch
    from graphfnp.training.train import Event

LOG_SECONDS = 30.0  # between the lines of a log


def log_lines() -> Callable[[str], None]:
    """What a bar is on a terminal, in a log file: a line now and then."""
    last = time.monotonic()

    def log(text: str) -> None:
        nonlocal last
        if (now := time.monotonic()) - last >= LOG_SECONDS:
            last = now
            say(text)

    return log


@contextmanager
def training_progress(quiet: bool = False) -> "Iterator[Callable[[Event], None]]":
    """A watcher that draws a bar for the epochs and one for the batches, on standard error; in a file, lines."""
    if not quiet and not err.is_terminal:
        yield _print_epoch
        return
    columns = (
        TextColumn("[bold]{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
        TimeRemainingColumn(), TextColumn("{task.fields[facts]}"),
    )  # fmt: skip
    with Progress(*columns, console=err, disable=quiet) as progress:
        epochs = progress.add_task("epochs", total=None, facts="")
        steps = progress.add_task("batches", total=None, facts="")

        def watch(event: "Event") -> None:
            progress.update(steps, total=event.steps, completed=event.step)
            if event.stage != "training":
                progress.update(steps, description=event.stage)
                progress.update(epochs, description=event.stage, total=event.epochs, completed=event.epoch)
                return
            progress.update(epochs, total=event.epochs, completed=event.epoch)
            if event.record is not None:
                progress.update(epochs, completed=event.epoch + 1, facts=_epoch_words(event.record))

        yield watch


def _epoch_words(record: Mapping[str, float]) -> str:
    if "validation_nll" not in record:  # not in every epoch when the last one is known beforehand
        return ""
    return f"validation NLL {record['validation_nll']:.3f}, accuracy {record['validation_accuracy']:.1%}"


def _print_epoch(event: "Event") -> None:
    """A line for a log file: each epoch of training, and that the end begins."""
    if event.record is not None:
        words = _epoch_words(event.record)
        seconds = f"{event.record['seconds']:.1f} s" if "seconds" in event.record else ""
        said = ", ".join(word for word in (words, seconds) if word)
        err.print(f"epoch {event.epoch + 1} of {event.epochs}: {said}", soft_wrap=True)
    elif event.stage != "training" and event.step == event.steps:
        err.print(f"{event.stage} {event.epoch + 1} of {event.epochs}")


@contextmanager
def scoring_progress() -> "Iterator[Watch]":
    """Rows done, how many a second, and the time left, on standard error; in a file, lines."""
    if not err.is_terminal:
        yield _log_rows()
        return
    columns = (
        TextColumn("[bold]rows"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn(),
        TextColumn("{task.fields[rate]}"),
    )  # fmt: skip
    with Progress(*columns, console=err) as progress:
        task = progress.add_task("rows", total=None, rate="")

        def watch(done: int, before: int, total: int) -> None:
            rate = _rate(done, before, progress.tasks[0].elapsed or 0)
            progress.update(task, completed=done, total=total, rate=rate)

        yield watch


def _log_rows() -> "Watch":
    log, began = log_lines(), time.monotonic()

    def watch(done: int, before: int, total: int) -> None:
        log(f"{done:,} of {total:,} rows: {_rate(done, before, time.monotonic() - began)}")

    return watch


def _rate(done: int, before: int, seconds: float) -> str:
    rate = f"{(done - before) / seconds:,.0f} rows/s" if seconds else ""
    return rate + (f", {before:,} were done before" if before else "")
