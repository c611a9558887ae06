"""Serve until told to end, and then answer what was accepted; how many connections, and how slow one may be."""

import asyncio
import errno
import resource
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from graphfnp.errors import InvalidConfig
from graphfnp.service.config import ServiceConfig
from graphfnp.service.logs import start_log
from graphfnp.service.panel import PanelApp

BACKLOG = 100  # connections that the system keeps until they are accepted; each needs a descriptor meanwhile
SPARE = 150  # descriptors for the backlog, files, and pipes to the processes that read


class PatientServer(uvicorn.Server):
    """On SIGTERM it stays open for a moment, saying that it will end, so that no request meets a closing door."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        app: FastAPI | PanelApp = self.config.app  # type: ignore[assignment]
        if sig == signal.SIGINT and not self.should_exit:
            self._leave()
            return
        if sig != signal.SIGTERM or app.state.draining:
            super().handle_exit(sig, frame)
            return
        app.state.draining = True
        self.loop.call_soon_threadsafe(self.loop.call_later, self.patience, self._leave)

    def _leave(self) -> None:
        self.should_exit = True  # the signal is not raised again: ending well is exit code 0

    async def serve(self, sockets: list | None = None) -> None:
        self.loop = asyncio.get_running_loop()
        await super().serve(sockets)

    patience: float = 0.0


def listen(host: str, port: int) -> socket.socket:
    """A bound socket whose connections send at once; :func:`open_to_all` when all else is ready."""
    listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    # Connections inherit it. Without it the second packet of an answer waits 40 ms for the client's word on the first.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with _place(host, port):
        listening.bind((host, port))
    return listening


def open_to_all(listening: socket.socket) -> None:
    """Another service may have taken the port since it was bound, if it was started at the same time."""
    with _place(*listening.getsockname()[:2]):
        listening.listen()


@contextmanager
def _place(host: str, port: int) -> Iterator[None]:
    """InvalidConfig where nobody can listen."""
    try:
        yield
    except OSError as error:
        given = f"{host}:{port}: {error.strerror}"
        if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
            raise InvalidConfig(given, "an address of this machine, such as 127.0.0.1", "change --host") from None
        raise InvalidConfig(given, "a free port", "choose another --port") from None


def serve(app: FastAPI | PanelApp, config: ServiceConfig, listening: socket.socket) -> None:
    """Serve on a bound socket; returns after a signal, when all that was accepted is answered."""
    make_server(app, config).run([listening])


def make_server(app: FastAPI | PanelApp, config: ServiceConfig) -> PatientServer:
    """With the limits of connections, and a log that cannot fill a disk."""
    server: PatientServer
    closed = app.state.telemetry.watch_connections(lambda: len(server.server_state.connections))
    start_log(config.log_level, config.log_json)
    most = connections_allowed(config.most_connections)
    settings = uvicorn.Config(
        app,
        http=protocol(most, config.header_seconds, closed),
        ws="none",
        log_config=None,
        access_log=False,  # ours has ids, and no address with a molecule in it
        timeout_graceful_shutdown=config.shutdown_seconds,
        server_header=False,
        backlog=BACKLOG,
        timeout_keep_alive=75,  # closing sooner crosses with a request that is on its way
    )
    server = PatientServer(settings)
    server.patience = config.drain_seconds
    return server


def connections_allowed(most: int) -> int:
    """``most``, or fewer where the system has not enough descriptors for them."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return most if soft == resource.RLIM_INFINITY else max(1, min(most, soft - BACKLOG - SPARE))


def protocol(most: int, header_seconds: float, count: Callable[[str], None]) -> type[H11Protocol]:
    """HTTP as uvicorn speaks it, with these limits; ``count`` is told "refused" or "slow" for each one closed."""

    class Limited(H11Protocol):
        """Beyond ``most`` a connection is closed at once; so is one whose request has no end of headers in time."""

        timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            if len(self.connections) >= most:
                count("refused")
                self.transport = transport
                transport.abort()
                return
            super().connection_made(transport)
            self._watch()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._watch()

        def connection_lost(self, exc: Exception | None) -> None:
            self._unwatch()
            super().connection_lost(exc)

        def _watch(self) -> None:
            """The clock runs from the first byte, whatever drips in after it, until a request is whole."""
            if self.cycle is not None and not self.cycle.response_complete:
                self._unwatch()
            elif self.timer is None:
                self.timer = self.loop.call_later(header_seconds, self._late)

        def _unwatch(self) -> None:
            if self.timer is not None:
                self.timer.cancel()
                self.timer = None

        def _late(self) -> None:
            self.timer = None
            count("slow")
            self.transport.abort()

    return Limited
