"""Where chunks are scored: here, with processes that read ahead of the model, or through Ray Data, on many machines."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from typing import Any, TypeVar

import pyarrow as pa
import torch

from graphfnp.errors import InvalidRun
from graphfnp.ray_session import ray_session
from graphfnp.scoring.rows import CHUNK, Chunk
from graphfnp.scoring.scorer import Scorer

Read = TypeVar("Read")
AHEAD = 2  # chunks read for each process before the model needs them: they bound the memory
_COLUMNS = pa.schema([("number", pa.int64()), ("start", pa.int64()), ("text", pa.string()), ("reason", pa.string())])
BESIDE = "beside "  # before the name of a column of descriptors


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


def scored_by_ray(
    scorer: Scorer, chunks: Iterable[Chunk], workers: int, address: str | None = None
) -> Iterator[tuple[Chunk, pa.Table]]:
    """The records of each chunk, in any order; ``workers`` actors hold the model.

    Without an address a Ray of this machine's own is started, and ended again. Rows wait in Ray's object store, which
    spills to disk; a chunk whose worker dies is scored again by another.
    """
    with ray_session(address, workers) as ray:
        try:
            yield from _scored(ray, scorer, chunks, max(workers, 1))
        except ray.exceptions.RayError as error:
            last = str(error).strip().splitlines()[-1]
            raise InvalidRun(f"Ray: {last}", "a cluster that works", "look at Ray's logs, then run again") from error


def _scored(ray: Any, scorer: Scorer, chunks: Iterable[Chunk], workers: int) -> Iterator[tuple[Chunk, pa.Table]]:
    ray.data.DataContext.get_current().enable_progress_bars = False
    kept = {chunk.number: ray.put(_to_table(chunk)) for chunk in chunks}
    if not kept:
        return
    rows = ray.data.from_arrow_refs(list(kept.values()))
    records = rows.map_batches(
        _Worker,
        fn_constructor_args=(ray.put(scorer),),
        batch_size=None,  # a block is a chunk, and a chunk is scored as a whole
        batch_format="pyarrow",
        compute=ray.data.ActorPoolStrategy(size=workers),
        num_cpus=1,
    )
    for table in records.iter_batches(batch_size=None, batch_format="pyarrow"):
        number = table["row"][0].as_py() // CHUNK
        chunk = _to_chunk(ray.get(kept.pop(number)))
        if len(table) != len(chunk.texts):
            raise InvalidRun(
                f"{len(table)} records of the {len(chunk.texts)} rows of chunk {number}", "one for each", "run again"
            )
        yield chunk, table


class _Worker:
    """An actor of Ray Data: holds the model, scores one chunk after the other."""

    def __init__(self, scorer: Any) -> None:
        import ray

        torch.set_num_threads(1)
        self.scorer: Scorer = ray.get(scorer) if isinstance(scorer, ray.ObjectRef) else scorer

    def __call__(self, rows: pa.Table) -> pa.Table:
        return self.scorer.score(_to_chunk(rows))


def _to_table(chunk: Chunk) -> pa.Table:
    places = range(len(chunk.texts))
    reasons = [chunk.reasons.get(place) for place in places]
    constant = [[chunk.number] * len(places), [chunk.start] * len(places)]
    table = pa.table([*constant, list(chunk.texts), reasons], schema=_COLUMNS)
    for name, values in chunk.columns.items():
        table = table.append_column(BESIDE + name, pa.array(values, pa.string()))
    return table


def _to_chunk(table: pa.Table) -> Chunk:
    reasons = {place: why for place, why in enumerate(table["reason"].to_pylist()) if why is not None}
    number, start = table["number"][0].as_py(), table["start"][0].as_py()
    columns = {
        name.removeprefix(BESIDE): tuple(table[name].to_pylist())
        for name in table.column_names
        if name.startswith(BESIDE)
    }
    return Chunk(number, start, tuple(table["text"].to_pylist()), reasons, columns)
