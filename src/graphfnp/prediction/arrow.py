"""Columns of Arrow without pandas, which ``pa.array`` imports if it is there; and as JSON, for CSV."""

import json
from collections.abc import Sequence
from itertools import pairwise
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


def json_texts(values: pa.Array) -> list[str | None]:
    """JSON of each value, None where there is none."""
    there = values.is_valid().to_pylist()
    return [text if known else None for text, known in zip(_items(values), there, strict=True)]


def _items(values: pa.Array) -> list[str]:
    """The same with ``null``, as it stands inside a list or a structure."""
    if pa.types.is_list(values.type):
        items = _items(values.values)
        return [f"[{','.join(items[start:end])}]" for start, end in pairwise(values.offsets.to_pylist())]
    if pa.types.is_struct(values.type):
        names = [json.dumps(field.name) for field in values.type]
        columns = [_items(values.field(place)) for place in range(len(names))]
        form = "{" + ",".join(f"{name}:%s" for name in names) + "}"
        return [form % parts for parts in zip(*columns, strict=True)]
    known = values.to_pylist()
    if pa.types.is_string(values.type):
        written = {text: json.dumps(text, ensure_ascii=False) for text in set(known)}
        return [written[text] for text in known]
    return ["null" if number is None else repr(number) for number in known]
