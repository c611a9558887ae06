"""What parent and child say to each other: JSON and numeric arrays, no pickle, since a crashing child may lie."""

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

Arrays = Mapping[str, np.ndarray]
LARGEST = 1 << 31  # bytes
NUMERIC = {f"<{kind}{size}" for kind in "iuf" for size in (2, 4, 8)} | {"|i1", "|u1", "|b1"}


def packed(record: Any, arrays: Arrays) -> bytes:
    """One message: length of the head, head (JSON, with name, type and shape of each array), the arrays."""
    plain = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    shapes = [[name, array.dtype.str, list(array.shape)] for name, array in plain.items()]
    head = json.dumps({"record": record, "arrays": shapes}).encode()
    return b"".join([len(head).to_bytes(8, "little"), head, *(array.tobytes() for array in plain.values())])


def unpacked(read: Callable[[int], bytes]) -> tuple[Any, dict[str, np.ndarray]]:
    """The message that ``read(count)`` gives; EOFError at the end, ValueError if it is none."""
    length = int.from_bytes(read(8), "little")
    if length > LARGEST:
        raise ValueError(f"a head of {length} bytes")
    head = json.loads(read(length))
    arrays = {}
    for name, kind, shape in head["arrays"]:
        count = math.prod(shape)
        if kind not in NUMERIC or not 0 <= count <= LARGEST:
            raise ValueError(f"an array of type {kind} and shape {shape}")
        arrays[name] = np.frombuffer(bytearray(read(count * np.dtype(kind).itemsize)), kind).reshape(shape)
    return head["record"], arrays


def exactly(read: Callable[[int], bytes]) -> Callable[[int], bytes]:
    """``read`` that gives as many bytes as asked for, or EOFError."""

    def whole(count: int) -> bytes:
        parts = []
        while count:
            part = read(min(count, 1 << 20))
            if not part:
                raise EOFError
            parts.append(part)
            count -= len(part)
        return b"".join(parts)

    return whole
