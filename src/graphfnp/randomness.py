"""Named random streams: the same seed gives the same numbers, whatever ran before."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

import torch


def derive_seed(seed: int, *names: object) -> int:
    """A 63-bit seed that belongs to (seed, names) alone."""
    text = "/".join([str(seed), *map(str, names)])
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") >> 1


def stream(seed: int, *names: object) -> torch.Generator:
    """A generator of its own for one purpose, e.g. ``stream(seed, "order", epoch)``."""
    return torch.Generator().manual_seed(derive_seed(seed, *names))


@contextmanager
def isolated(seed: int, *names: object) -> Iterator[None]:
    """Run a block on its own global stream and leave the outer stream untouched.

    Evaluation that consumes the global stream would change the model being trained.
    """
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        if torch.accelerator.is_available():
            torch.manual_seed(derive_seed(seed, *names))
        else:  # the same, without a note of the stack for each kind of device that is not there
            torch.default_generator.manual_seed(derive_seed(seed, *names))
        yield
