"""Columns of Arrow without pandas, which ``pa.array`` imports to ask whether it is given any of its own."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa


def column(values: Any, kind: pa.DataType) -> pa.Array:
    """Numbers or texts of this kind; None among texts is null."""
    if isinstance(values, pa.Array):
        return values
    if pa.types.is_string(kind):
        return _texts(values)
    numbers = np.ascontiguousarray(values, kind.to_pandas_dtype())
    return pa.Array.from_buffers(kind, len(numbers), [None, pa.py_buffer(numbers)])


def _texts(values: Sequence[str | None]) -> pa.Array:
    encoded = [b"" if text is None else text.encode() for text in values]
    ends = np.zeros(len(encoded) + 1, dtype=np.int32)
    np.cumsum([len(text) for text in encoded], out=ends[1:])
    known = np.packbits(np.array([text is not None for text in values], dtype=bool), bitorder="little")
    buffers = [pa.py_buffer(known), pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(encoded), buffers)
