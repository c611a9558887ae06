"""A chunk of rows, and reading it in processes that can be killed."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from graphfnp.chemistry.molecule_arrays import Arrays
from graphfnp.chemistry.read_rows import Target
from graphfnp.chemistry.reading import read_molecules
from graphfnp.graphs.descriptors import columns_in, table_values, with_values

CHUNK = 2048  # rows that are scored together: part of the result's last digits, hence not a setting
Features = tuple[Arrays, list[tuple[int, str]]]  # of the molecules; row and reason of what is none


@dataclass(frozen=True)
class Chunk:
    """CHUNK rows of a file, fewer at its end."""

    number: int
    start: int  # row of the first
    texts: tuple[str, ...]
    reasons: dict[int, str] = field(default_factory=dict)  # why a row, counted from the chunk's first, is unreadable
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # descriptors that stand beside the texts


def read_chunk(chunk: Chunk, target: Target) -> Features:
    """The molecules as arrays, and the rows that are none, counted from the chunk's first."""
    values, reasons = table_values(columns_in(target.descriptors), chunk.columns, len(chunk.texts))
    reasons = {row: why for row, why in reasons.items() if chunk.texts[row]} | chunk.reasons
    texts = ["" if place in reasons else text for place, text in enumerate(chunk.texts)]
    arrays, refused = read_molecules(texts, target)
    return with_values(arrays, values[arrays["row"]]), [(row, reasons.get(row, why)) for row, why in refused]
