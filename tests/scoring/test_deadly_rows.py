"""A row that ends the process which reads it is refused; the others are read as ever."""

import os

import numpy as np

from graphfnp.scoring.chunk import Chunk, Features, read_chunk
from graphfnp.scoring.local import DEADLY, read_ahead

DEADLY_TEXTS = ("CCCCF", "CCCCBr")


def read_or_die(chunk: Chunk, most_atoms: int) -> Features:
    """As RDKit would with a fault of its own: the whole process is gone."""
    if any(text in DEADLY_TEXTS and row not in chunk.reasons for row, text in enumerate(chunk.texts)):
        os._exit(1)
    return read_chunk(chunk, most_atoms)


def test_only_the_rows_that_end_a_process_are_refused() -> None:
    texts = ["C" * (1 + row % 5) for row in range(12)]
    texts[5], texts[10] = DEADLY_TEXTS
    chunks = [Chunk(k, 4 * k, tuple(texts[4 * k : 4 * k + 4]), {1: "said before"} if k == 1 else {}) for k in range(3)]
    found = list(read_ahead(iter(chunks), 1000, 2, read_or_die))
    assert [chunk.number for chunk, _ in found] == [0, 1, 2]
    refused = {chunk.start + row: why for chunk, (_, rows) in found for row, _, why in rows}
    assert refused == {5: "said before", 10: DEADLY}
    for chunk, (arrays, rows) in found:
        kept = [row for row in range(4) if row not in {place for place, _, _ in rows}]
        expected, _ = read_chunk(Chunk(0, 0, tuple(chunk.texts[row] for row in kept)), 1000)
        np.testing.assert_array_equal(arrays["x"], expected["x"])
        assert arrays["row"].tolist() == kept
