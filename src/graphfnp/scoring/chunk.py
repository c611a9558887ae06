"""A chunk of rows, and reading it: what a process beside the model does, with RDKit and numpy but without torch."""

import multiprocessing
import os
import signal
import threading
from dataclasses import dataclass, field

from graphfnp.datasets.molecule_arrays import Arrays
from graphfnp.datasets.read_smiles import Refusal, featurise_smiles

CHUNK = 2048  # rows that are scored together: part of the result's last digits, hence not a setting
Features = tuple[Arrays, list[Refusal]]


@dataclass(frozen=True)
class Chunk:
    """CHUNK rows of a file, fewer at its end."""

    number: int
    start: int  # row of the first
    texts: tuple[str, ...]
    reasons: dict[int, str] = field(default_factory=dict)  # why a row, counted from the chunk's first, is unreadable


def read_chunk(chunk: Chunk, most_atoms: int) -> Features:
    """The molecules as arrays, and the rows that are none, counted from the chunk's first."""
    texts = ["" if place in chunk.reasons else text for place, text in enumerate(chunk.texts)]
    arrays, refused = featurise_smiles(0, texts, most_atoms)
    return arrays, [(row, chunk.texts[row], chunk.reasons.get(row, why)) for row, _, why in refused]


def end_with_parent() -> None:
    """Ctrl-C is for the parent to handle; and when the parent is killed, nobody should be left behind."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()

    def wait() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
