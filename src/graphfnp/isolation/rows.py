"""Rows that are worked on in pieces; one that ends its process is set aside, and the rest goes on."""

from collections import deque
from typing import Any

from graphfnp.isolation.process import Answer, Lost


class Rows:
    """``while (piece := rows.next()) is not None: rows.settle(piece, pool.call(..., piece of the list, ...))``.

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
