"""A connection to Ray for as long as it is needed: somebody's cluster, or one of this machine's own."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from graphfnp.errors import InvalidConfig


@contextmanager
def ray_session(address: str | None, workers: int) -> Iterator[Any]:
    """The module ``ray``, connected. Without an address a Ray with so many workers is started, and ended again."""
    try:
        import ray
    except ImportError as error:
        raise InvalidConfig(
            "engine ray without Ray", "the optional packages of this engine", "pip install 'graphfnp[cluster]'"
        ) from error
    started = not ray.is_initialized()
    if started:
        ray.init(address=address, include_dashboard=False, log_to_driver=False, num_cpus=None if address else workers)
    try:
        yield ray
    finally:
        if started:
            ray.shutdown()
