"""The local engine: molecules are read in processes beside the one that holds the model, ahead of it."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from typing import TypeVar

import pyarrow as pa
import torch

from graphfnp.scoring.rows import Chunk
from graphfnp.scoring.scorer import Scorer

Read = TypeVar("Read")
AHEAD = 2  # chunks read for each process before the model needs them: they bound the memory


def scored_locally(scorer: Scorer, chunks: Iterable[Chunk], workers: int) -> Iterator[tuple[Chunk, pa.Table]]:
    """The records of each chunk, in order; ``workers`` processes read ahead, none: one does, when it is asked."""
    with _one_thread():
        if workers < 1:
            yield from ((chunk, scorer.score(chunk)) for chunk in chunks)
            return
        for chunk, features in read_ahead(iter(chunks), scorer.read, workers):
            yield chunk, scorer.score(chunk, features)


def read_ahead(chunks: Iterator[Chunk], read: Callable[[Chunk], Read], workers: int) -> Iterator[tuple[Chunk, Read]]:
    """Chunks with their features, in order; a thread waits for each process."""
    waiting: deque[tuple[Chunk, Future[Read]]] = deque()
    threads = ThreadPoolExecutor(workers)
    try:
        while True:
            for chunk in islice(chunks, AHEAD * workers - len(waiting)):
                waiting.append((chunk, threads.submit(read, chunk)))
            if not waiting:
                return
            chunk, future = waiting.popleft()
            yield chunk, future.result()
    finally:
        threads.shutdown(wait=False, cancel_futures=True)


@contextmanager
def _one_thread() -> Iterator[None]:
    """How sums are shared out among threads shows in their last digits."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
