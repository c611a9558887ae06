"""A connection to Ray for as long as it is needed: somebody's cluster, or one of this machine's own."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from graphfnp.errors import InvalidConfig

SECONDS = 10  # to wait for an answer of a cluster


@contextmanager
def ray_session(address: str | None, workers: int) -> Iterator[Any]:
    """The module ``ray``, connected. Without an address a Ray with so many workers is started, and ended again."""
    try:
        import ray
    except ImportError as error:
        raise InvalidConfig(
            "engine ray without Ray", "the optional packages of this engine", "pip install 'graphfnp[cluster]'"
        ) from error
    started, cpus = not ray.is_initialized(), None if address else workers
    if started:
        try:
            _check_reachable(address)
            ray.init(address=address, include_dashboard=False, log_to_driver=False, num_cpus=cpus)
        except (OSError, ValueError) as error:
            raise InvalidConfig(
                f"address {address}: {str(error).splitlines()[0]}",
                "HOST:PORT of a Ray cluster that runs, as its ray start has printed it, or auto on a machine of it",
                "start one with ray start --head, or leave the address out for a Ray of this machine alone",
            ) from error
    try:
        yield ray
    finally:
        if started:
            ray.shutdown()


def _check_reachable(address: str | None) -> None:
    """Does anybody listen there? Ray itself waits for minutes before it gives up."""
    host, _, port = (address or "").removeprefix("ray://").rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host, int(port)), SECONDS).close()
