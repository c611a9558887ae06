"""The local engine: processes that parse and featurise beside the one that holds the model."""

import multiprocessing
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import chain, islice

import pyarrow as pa
import torch

from graphfnp.errors import InvalidRun
from graphfnp.scoring.chunk import Chunk, Features, end_with_parent, read_chunk
from graphfnp.scoring.scorer import Scorer

AHEAD = 2  # chunks read for each process before the model needs them: they bound the memory
TRIES = 3  # of a chunk whose process dies


def scored_locally(scorer: Scorer, chunks: Iterable[Chunk], workers: int) -> Iterator[tuple[Chunk, pa.Table]]:
    """The records of each chunk, in order; ``workers`` processes read ahead, none: everything happens here."""
    chunks = iter(chunks)
    first = list(islice(chunks, 2))
    with _one_thread():
        if workers < 1 or len(first) < 2:  # a process takes longer to start than a chunk
            yield from ((chunk, scorer.score(chunk)) for chunk in chain(first, chunks))
            return
        for chunk, features in _read_ahead(chain(first, chunks), scorer.settings.most_atoms, workers):
            yield chunk, scorer.score(chunk, features)


def _read_ahead(chunks: Iterator[Chunk], most_atoms: int, workers: int) -> Iterator[tuple[Chunk, Features]]:
    """Chunks with their features, in order; a process that dies is replaced and its chunks are read again."""
    waiting: deque[tuple[Chunk, Future[Features]]] = deque()
    pool, tries = _pool(workers), 0
    try:
        while True:
            for chunk in islice(chunks, AHEAD * workers - len(waiting)):
                waiting.append((chunk, pool.submit(read_chunk, chunk, most_atoms)))
            if not waiting:
                return
            chunk, future = waiting[0]
            try:
                features = future.result()
            except BrokenProcessPool as error:
                tries += 1
                if tries == TRIES:
                    raise InvalidRun(
                        f"rows {chunk.start} to {chunk.start + len(chunk.texts) - 1}, whose process died {tries} times",
                        "rows that RDKit reads without crashing, and enough memory",
                        "look at these rows; the same command goes on where it stopped",
                    ) from error
                pool.shutdown(wait=False)
                pool = _pool(workers)
                waiting = deque((one, pool.submit(read_chunk, one, most_atoms)) for one, _ in waiting)
                continue
            tries = 0
            waiting.popleft()
            yield chunk, features
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


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
