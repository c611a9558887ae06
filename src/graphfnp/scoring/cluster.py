"""The engine ray: the same chunks through Ray Data, on this machine or on many; no disk need be shared."""

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import torch

from graphfnp.errors import InvalidRun
from graphfnp.ray_session import ray_session
from graphfnp.scoring.rows import CHUNK, Chunk
from graphfnp.scoring.scorer import Scorer

_COLUMNS = pa.schema([("number", pa.int64()), ("start", pa.int64()), ("text", pa.string()), ("reason", pa.string())])


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
    return pa.table([*constant, list(chunk.texts), reasons], schema=_COLUMNS)


def _to_chunk(table: pa.Table) -> Chunk:
    reasons = {place: why for place, why in enumerate(table["reason"].to_pylist()) if why is not None}
    number, start = table["number"][0].as_py(), table["start"][0].as_py()
    return Chunk(number, start, tuple(table["text"].to_pylist()), reasons)
