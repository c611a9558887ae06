"""Dynamic batching: one model thread takes rows of all waiting requests in turns, so that none waits for a long one."""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class Kind(NamedTuple):
    """Rows of one kind may share a batch."""

    name: str
    level: float  # of the conformal sets
    rows: int  # in a batch
    mix: tuple[float, ...] | str | None = None  # label mix, where it is not the model's own
    alone: int = 0  # a number of its own: such a request shares no batch
    weighted: bool = False  # conformal sets for rows such as these
    pick: int | None = None  # so many of the rows, the most useful to test first
    find: int | None = None  # the class that picks should find; None: they should teach the model


class Busy(Exception):
    """More rows wait than the service takes."""


@dataclass(eq=False)
class Job:
    """One request: its rows, and the answers so far."""

    kind: Kind
    rows: Sequence[Any]
    future: "Future[list[Any]]" = field(default_factory=Future)
    taken: int = 0
    answers: list[Any] = field(default_factory=list)

    @property
    def left(self) -> int:
        return len(self.rows) - self.taken


class Batcher:
    """``await batcher.run(kind, rows)`` gives an answer for each row; ``work(kind, rows)`` runs in the thread."""

    def __init__(self, work: Callable[[Kind, list[Any]], list[Any]], most_waiting: int) -> None:
        self.work, self.most_waiting = work, most_waiting
        self.jobs: deque[Job] = deque()
        self.changed = threading.Condition()
        self.closing = False
        self.thread: threading.Thread | None = None  # starts with the first request

    @property
    def waiting(self) -> int:
        """Rows that no batch has taken yet."""
        with self.changed:
            return sum(job.left for job in self.jobs)

    def check_room(self, rows: int, elsewhere: int = 0) -> None:
        """Busy if these rows are too many beside those that wait here and ``elsewhere``."""
        waiting = self.waiting + elsewhere
        if self.closing or (waiting and waiting + rows > self.most_waiting):
            raise Busy(f"{waiting} rows wait already")

    async def run(self, kind: Kind, rows: Sequence[Any]) -> list[Any]:
        job = Job(kind, rows)
        with self.changed:
            self.check_room(len(rows))
            self.jobs.append(job)
            if self.thread is None:
                self.thread = threading.Thread(target=self._serve, name="model", daemon=True)
                self.thread.start()
            self.changed.notify()
        return await asyncio.wrap_future(
            job.future
        )  # cancelled if the client leaves or its time is over; the thread then drops the rest

    def close(self) -> None:
        """Answer what was accepted, then end the thread."""
        with self.changed:
            self.closing, thread = True, self.thread
            self.changed.notify()
        if thread is not None:
            thread.join()
        with self.changed:
            self.closing, self.thread = False, None

    # ---------------------------------------------------------------- in the model thread

    def _serve(self) -> None:
        while True:
            with self.changed:
                self.changed.wait_for(lambda: self.jobs or self.closing)
                if not self.jobs:
                    return
                batch = self._next_batch()
            if batch:
                self._answer(batch)

    def _next_batch(self) -> list[tuple[Job, Sequence[Any]]]:
        """An even share for every request of the kind that is next; who got some goes to the end of the queue."""
        self.jobs = deque(job for job in self.jobs if not job.future.cancelled())
        if not self.jobs:
            return []
        kind = self.jobs[0].kind
        alike = [job for job in self.jobs if job.kind == kind][: kind.rows]
        room, batch = kind.rows, []
        for position, job in enumerate(sorted(alike, key=lambda job: job.left)):  # small ones leave room to the others
            some = job.rows[job.taken : job.taken + room // (len(alike) - position)]
            job.taken += len(some)
            room -= len(some)
            batch.append((job, some))
        served = {id(job) for job, _ in batch}
        rest = [job for job in self.jobs if id(job) not in served]
        self.jobs = deque([*rest, *(job for job, _ in batch if job.left)])
        return batch

    def _answer(self, batch: list[tuple[Job, Sequence[Any]]]) -> None:
        kind = batch[0][0].kind
        try:
            answers = self.work(kind, [row for _, some in batch for row in some])
        except Exception as error:
            if len(batch) > 1:  # one request's trouble is not the others'
                for one in batch:
                    self._answer([one])
                return
            job = batch[0][0]
            with self.changed:
                job.taken = len(job.rows)
                self.jobs = deque(other for other in self.jobs if other is not job)
            if job.future.set_running_or_notify_cancel():
                job.future.set_exception(error)
            return
        start = 0
        for job, some in batch:
            job.answers += answers[start : start + len(some)]
            start += len(some)
            if len(job.answers) == len(job.rows) and job.future.set_running_or_notify_cancel():
                job.future.set_result(job.answers)
