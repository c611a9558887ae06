"""Children that are kept for the next call, shared by threads; rows in pieces, of which one may end its process."""

import atexit
import os
import threading
import weakref
from collections import deque
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Any

from graphfnp.isolation.process import Answer, IsolatedProcess, Limits, Lost

PIECE = 2048  # rows of a call
available = hasattr(os, "fork")  # elsewhere (Windows) the work is done in the process that asks


class Rows:
    """Rows that are worked on in pieces; one that ends its process is set aside, and the rest goes on.

        while (piece := rows.next()) is not None: rows.settle(piece, pool.call(..., piece of the list, ...))

    Pieces are handed out one at a time, so that whoever shares processes with others can wait their turn in between.
    """

    def __init__(self, count: int, piece: int) -> None:
        self.todo = deque(range(start, min(start + piece, count)) for start in range(0, count, piece))
        self.answers: dict[range, Answer] = {}
        self.lost: dict[int, Lost] = {}  # by row

    def next(self) -> range | None:
        return self.todo.popleft() if self.todo else None

    def settle(self, piece: range, outcome: Answer | Lost) -> None:
        if isinstance(outcome, Answer):
            self.answers[piece[: outcome.done]] = outcome
            self.todo += [piece[outcome.done :]] if outcome.done < len(piece) else []
            return
        self.lost[piece[outcome.row]] = outcome
        self.todo += [part for part in (piece[: outcome.row], piece[outcome.row + 1 :]) if part]

    def in_order(self) -> list[tuple[range, Any]]:
        """The answers by their first row."""
        return sorted(self.answers.items(), key=lambda pair: pair[0].start)


class Pool:
    """As many children as threads call at the same time; ``lost`` counts rows by what they did, ``restarts`` forks."""

    def __init__(self, limits: Limits | None = None, modules: Sequence[str] = ()) -> None:
        self.limits, self.modules = limits or Limits(), tuple(modules)
        self.idle: list[IsolatedProcess] = []
        self.lock = threading.Lock()
        self.lost: dict[str, int] = {"time": 0, "memory": 0, "crash": 0, "error": 0}
        _pools.add(self)

    def call(self, function: str, rows: Sequence[Any], options: Any, seconds: float | None = None) -> Answer | Lost:
        """In a child that nobody else uses meanwhile."""
        if not available:
            module, _, name = function.partition(":")
            value, arrays = getattr(import_module(module), name)(list(rows), options, lambda row: True)
            return Answer(value, arrays, len(rows))
        with self.lock:
            process = self.idle.pop() if self.idle else IsolatedProcess(self.limits, self.modules)
        try:
            outcome = process.call(function, rows, options, seconds)
        except BaseException:  # e.g. Ctrl-C: an answer may still come, which is nobody's
            process.close()
            raise
        with self.lock:
            self.idle.append(process)
            if isinstance(outcome, Lost):
                self.lost[outcome.why] += 1
        return outcome

    def start(self) -> None:
        """A child before the first call, so that both processes import at the same time."""
        if available:
            process = IsolatedProcess(self.limits, self.modules)
            process.started()
            with self.lock:
                self.idle.append(process)

    def run(self, function: str, rows: Sequence[Any], options: Any, piece: int = PIECE) -> Rows:
        """All rows, piece after piece."""
        work = Rows(len(rows), piece)
        while (some := work.next()) is not None:
            work.settle(some, self.call(function, rows[some.start : some.stop], options))
        return work

    @property
    def restarts(self) -> int:
        """Children that a row ended; one that only failed lives on."""
        return sum(count for why, count in self.lost.items() if why != "error")

    def close(self) -> None:
        with self.lock:
            idle, self.idle = self.idle, []
        for process in idle:
            process.close()

    def _forget(self) -> None:
        """In a forked process: the children are the other's."""
        self.idle, self.lock = [], threading.Lock()


_pools: "weakref.WeakSet[Pool]" = weakref.WeakSet()


@cache
def shared_pool(limits: Limits, modules: tuple[str, ...]) -> Pool:
    """One pool for all callers with these limits."""
    return Pool(limits, modules)


@atexit.register
def _close_all() -> None:
    for pool in _pools:
        pool.close()


def _forget_all() -> None:
    for pool in _pools:
        pool._forget()


if available:
    os.register_at_fork(after_in_child=_forget_all)
