"""Rows of molecules read in processes that can be killed: arrays of the good ones, a reason for each of the others."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from graphfnp.chemistry.molecule_arrays import Arrays, joined
from graphfnp.chemistry.read_rows import Target, read_rows
from graphfnp.isolation.pool import Pool, Rows, shared_pool
from graphfnp.isolation.process import Limits

if TYPE_CHECKING:  # torch: a process may read before it is imported
    from graphfnp.graphs.packed import Schema

MODULES = ("graphfnp.chemistry.read_rows",)
READ, ARE_MOLECULES, READ_RECORDS = (f"{MODULES[0]}:{name}" for name in ("read_rows", "are_molecules", "read_records"))
PIECE = 2048  # rows a process takes at a time
Read = tuple[Arrays, list[tuple[int, str]]]  # with the row of each graph; row and reason of what is none


def reading_pool() -> Pool:
    """The processes that read files of molecules."""
    return shared_pool(Limits(), MODULES)


def target_of(schema: "Schema", most_atoms: int | None = None) -> Target:
    columns = len(schema.edge_sizes)
    return Target(
        schema.features, schema.node_types, schema.edge_types, columns, most_atoms, schema.standardise,
        schema.descriptors,
    )  # fmt: skip


def read_molecules(rows: Sequence[Any], target: Target, processes: int = 1, pool: Pool | None = None) -> Read:
    """SMILES, or graphs as :mod:`~graphfnp.chemistry.read_rows` takes them, in the schema that ``target`` describes."""
    pool, work = pool or reading_pool(), Rows(len(rows), PIECE)

    def read_all() -> None:
        while (some := work.next()) is not None:
            work.settle(some, pool.call(READ, rows[some.start : some.stop], target))

    if processes > 1 and len(rows) > PIECE:
        with ThreadPoolExecutor(processes) as threads:
            for done in [threads.submit(read_all) for _ in range(processes)]:
                done.result()
    else:
        read_all()
    return gathered(work, target)


def gathered(work: Rows, target: Target) -> Read:
    """What was read in pieces, as one."""
    parts: list[Arrays] = []
    refused = [(row, lost.reason) for row, lost in work.lost.items()]
    for piece, answer in work.in_order():
        parts.append({**answer.arrays, "row": answer.arrays["row"] + piece.start})
        refused += [(piece[row], why) for row, why in answer.value]
    return joined(parts) if parts else read_rows([], target, lambda row: True)[1], sorted(refused)


def are_molecules(texts: Sequence[str]) -> list[bool]:
    """Which of the texts are SMILES; one that ends its process is none."""
    return _answers(ARE_MOLECULES, texts, lambda reason: False)


def smiles_of_records(records: Sequence[str]) -> list[tuple[str, str]]:
    """SMILES of each record of an SDF file, and why there is none."""
    return [(smiles, reason) for smiles, reason in _answers(READ_RECORDS, records, lambda reason: ("", reason))]


def _answers(function: str, rows: Sequence[str], otherwise: Callable[[str], Any]) -> list[Any]:
    """What the function says of each row; of one that ended its process, what ``otherwise`` makes of the reason."""
    work = reading_pool().run(function, rows, None)
    found: list[Any] = [None] * len(rows)
    for piece, answer in work.in_order():
        found[piece.start : piece.stop] = answer.value
    for row, lost in work.lost.items():
        found[row] = otherwise(lost.reason)
    return found
