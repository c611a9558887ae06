"""Token vectors on disk: computed once, resumable, half precision, memory-mapped, keyed by content."""

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from graphfnp.datasets.sentence_encoder import SentenceEncoder
from graphfnp.datasets.sources import cache_folder
from graphfnp.graphs.pointers import pointer_array

CHUNK = 1024  # sentences between two saves

Encoder = Callable[[Sequence[Sequence[str]]], Tensor]


def token_vectors(
    sentences: Sequence[Sequence[str]],
    encoder: Encoder | None = None,
    name: str = SentenceEncoder.name,
    width: int = 384,
) -> Tensor:
    """[tokens of all sentences, width], float16, mapped from the cache; encodes what is not there yet.

    Stopped in the middle, the next call goes on from the last saved chunk.
    """
    path = cache_folder() / "vectors" / f"{_key(sentences, name)}.f16"
    rows = sum(map(len, sentences))
    if not path.exists():
        _compute(sentences, encoder or SentenceEncoder(), path, (rows, width))
    return mapped(path, (rows, width))


def mapped(path: Path, shape: tuple[int, int]) -> Tensor:
    """A float16 file as a tensor that lives on disk; writing to the tensor never reaches the file."""
    return torch.from_numpy(np.memmap(path, dtype=np.float16, mode="c", shape=shape))


def _compute(sentences: Sequence[Sequence[str]], encoder: Encoder, path: Path, shape: tuple[int, int]) -> None:
    from rich.console import Console  # slow to import, and only this needs it
    from rich.progress import Progress

    path.parent.mkdir(parents=True, exist_ok=True)
    part, progress_file = path.with_suffix(".part"), path.with_suffix(".progress")
    done = _saved(progress_file) if part.exists() and part.stat().st_size == 2 * shape[0] * shape[1] else 0
    store = np.memmap(part, dtype=np.float16, mode="r+" if done else "w+", shape=shape)
    starts = pointer_array([len(tokens) for tokens in sentences])
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("encoding sentences, once", total=len(sentences), completed=done)
        for first in range(done, len(sentences), CHUNK):
            last = min(first + CHUNK, len(sentences))
            store[starts[first] : starts[last]] = encoder(sentences[first:last]).numpy()
            store.flush()  # the vectors reach the disk before the note that says so
            progress_file.write_text(json.dumps(last))
            bar.update(task, completed=last)
    del store
    os.replace(part, path)
    progress_file.unlink(missing_ok=True)


def _saved(progress_file: Path) -> int:
    try:
        return int(json.loads(progress_file.read_text()))
    except (OSError, ValueError, TypeError):
        return 0


def _key(sentences: Sequence[Sequence[str]], name: str) -> str:
    digest = hashlib.blake2b(name.encode(), digest_size=16)
    digest.update("\n".join(chain.from_iterable((*tokens, "") for tokens in sentences)).encode())
    return digest.hexdigest()
