"""A chunk of rows, and reading it in processes that can be killed."""

from dataclasses import dataclass, field

from graphfnp.chemistry.molecule_arrays import Arrays
from graphfnp.chemistry.read_rows import Target
from graphfnp.chemistry.reading import read_molecules

CHUNK = 2048  # rows that are scored together: part of the result's last digits, hence not a setting
Features = tuple[Arrays, list[tuple[int, str]]]  # of the molecules; row and reason of what is none


@dataclass(frozen=True)
class Chunk:
    """CHUNK rows of a file, fewer at its end."""

    number: int
    start: int  # row of the first
    texts: tuple[str, ...]
    reasons: dict[int, str] = field(default_factory=dict)  # why a row, counted from the chunk's first, is unreadable


def read_chunk(chunk: Chunk, target: Target) -> Features:
    """The molecules as arrays, and the rows that are none, counted from the chunk's first."""
    texts = ["" if place in chunk.reasons else text for place, text in enumerate(chunk.texts)]
    arrays, refused = read_molecules(texts, target)
    return arrays, [(row, chunk.reasons.get(row, why)) for row, why in refused]
