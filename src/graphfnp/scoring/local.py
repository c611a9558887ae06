"""The local engine: processes that parse and featurise beside the one that holds the model."""

import multiprocessing
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain, islice

import pyarrow as pa
import torch

from graphfnp.errors import InvalidRun
from graphfnp.scoring.chunk import Chunk, Features, end_with_parent, read_chunk
from graphfnp.scoring.scorer import Scorer

AHEAD = 2  # chunks read for each process before the model needs them: they bound the memory
DEADLY = "reading it ends the process (RDKit crashes, or memory is short)"


def scored_locally(scorer: Scorer, chunks: Iterable[Chunk], workers: int) -> Iterator[tuple[Chunk, pa.Table]]:
    """The records of each chunk, in order; ``workers`` processes read ahead, none: everything happens here."""
    chunks = iter(chunks)
    first = list(islice(chunks, 2))
    with _one_thread():
        if workers < 1 or len(first) < 2:  # a process takes longer to start than a chunk
            yield from ((chunk, scorer.score(chunk)) for chunk in chain(first, chunks))
            return
        for chunk, features in read_ahead(chain(first, chunks), scorer.settings.most_atoms, workers):
            yield chunk, scorer.score(chunk, features)


def read_ahead(
    chunks: Iterator[Chunk], most_atoms: int, workers: int, read: Callable[[Chunk, int], Features] = read_chunk
) -> Iterator[tuple[Chunk, Features]]:
    """Chunks with their features, in order; where a process dies, the next chunk is read with care."""
    waiting: deque[tuple[Chunk, Future[Features]]] = deque()
    pool = _pool(workers)
    try:
        while True:
            for chunk in islice(chunks, AHEAD * workers - len(waiting)):
                waiting.append((chunk, pool.submit(read, chunk, most_atoms)))
            if not waiting:
                return
            chunk, future = waiting.popleft()
            try:
                features = future.result()
            except BrokenProcessPool:  # this chunk's doing, or that of another
                pool.shutdown(wait=False)
                features = _read_carefully(chunk, most_atoms, read)
                pool = _pool(workers)
                waiting = deque((one, pool.submit(read, one, most_atoms)) for one, _ in waiting)
            yield chunk, features
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _read_carefully(chunk: Chunk, most_atoms: int, read: Callable[[Chunk, int], Features]) -> Features:
    """In processes of its own, without the rows that end one: those are refused, the others lose nothing."""

    def alone(rows: range) -> Features | None:
        """Only these rows of the chunk; None if the process died."""
        others = {row: chunk.reasons.get(row, "") for row in range(len(chunk.texts)) if row not in rows}
        with _pool(1) as pool:
            try:
                return pool.submit(read, replace(chunk, reasons=reasons | others), most_atoms).result()
            except BrokenProcessPool:
                return None

    reasons, whole = dict(chunk.reasons), range(len(chunk.texts))
    if (features := alone(whole)) is not None:
        return features
    suspects = [whole]
    while suspects:
        rows = suspects.pop()
        if len(rows) == 1:
            reasons[rows[0]] = DEADLY
            continue
        halves = rows[: len(rows) // 2], rows[len(rows) // 2 :]
        suspects += [half for half in halves if alone(half) is None]
    if (features := alone(whole)) is None:
        raise InvalidRun(
            f"rows {chunk.start} to {chunk.start + len(chunk.texts) - 1}, whose process dies again and again",
            "processes that live",
            "look whether memory is short; the same command goes on where it stopped",
        )
    return features


def _pool(workers: int) -> ProcessPoolExecutor:
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(workers, mp_context=context, initializer=end_with_parent)


@contextmanager
def _one_thread() -> Iterator[None]:
    """How sums are shared out among threads shows in their last digits."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
