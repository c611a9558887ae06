"""Lists as JSON, column by column: the same text as value by value."""

import json

import pyarrow as pa
import pytest

from graphfnp.prediction.arrow import json_texts

NEIGHBOUR = pa.struct([("row", pa.int64()), ("input", pa.string()), ("similarity", pa.float64())])
NEAR = [
    [{"row": 1, "input": 'C/C=C\\"é{}', "similarity": 0.1234}, {"row": 2, "input": None, "similarity": 1e-7}],
    None,
    [],
    [{"row": 3, "input": "C", "similarity": 1.0}],
]


@pytest.mark.parametrize(
    "column",
    [
        pa.array(NEAR, pa.list_(NEIGHBOUR)),
        pa.array(NEAR, pa.list_(NEIGHBOUR))[1:],
        pa.array(NEAR, pa.list_(NEIGHBOUR))[:2],
        pa.array([], pa.list_(NEIGHBOUR)),
        pa.array([["in", "out"], [], None, [None]], pa.list_(pa.string())),
        pa.nulls(3, pa.list_(pa.string())),
    ],
)
def test_it_is_what_json_writes(column: pa.Array) -> None:
    expected = [
        None if value is None else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        for value in column.to_pylist()
    ]
    assert json_texts(column) == expected
