"""Columns of lists and structures as JSON, for CSV; column by column, which is quicker than value by value."""

import json
from itertools import pairwise

import pyarrow as pa


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
