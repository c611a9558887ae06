"""Featurised molecules on disk, found by the content they were made from."""

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from graphfnp.files import atomic
from graphfnp.graphs.problem import Problem

Made = tuple[dict[str, np.ndarray], list[Problem]]


def cached_arrays(folder: Path | str | None, content: Iterable[str], make: Callable[[], Made]) -> Made:
    """``make()``, kept in ``folder`` under the sha256 of ``content``; a file that cannot be read is made anew."""
    if folder is None:
        return make()
    digest = hashlib.sha256()
    for text in content:  # the length keeps ["ab", "c"] and ["a", "bc"] apart
        encoded = text.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "little") + encoded)
    path = Path(folder) / f"{digest.hexdigest()}.safetensors"
    found = _read(path)
    if found is None:
        found = make()
        _write(path, *found)
    return found


def _read(path: Path) -> Made | None:
    try:
        with safe_open(path, framework="numpy") as file:
            problems = [Problem(**record) for record in json.loads(file.metadata()["problems"])]
            return {name: file.get_tensor(name) for name in file.keys()}, problems  # noqa: SIM118
    except (OSError, SafetensorError, KeyError, TypeError, ValueError):
        return None


def _write(path: Path, arrays: dict[str, np.ndarray], problems: list[Problem]) -> None:
    contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    with atomic(path) as temporary:
        save_file(contiguous, temporary, metadata={"problems": json.dumps([asdict(problem) for problem in problems])})
