"""Serve until told to end, and then answer what was accepted."""

import asyncio
import signal
import socket
from types import FrameType

import uvicorn
from fastapi import FastAPI

from graphfnp.errors import InvalidConfig
from graphfnp.service.config import ServiceConfig
from graphfnp.service.connections import BACKLOG, connections_allowed, protocol
from graphfnp.service.logs import start_log
from graphfnp.service.panel import PanelApp


class PatientServer(uvicorn.Server):
    """On SIGTERM it stays open for a moment, saying that it will end, so that no request meets a closing door."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        app: FastAPI | PanelApp = self.config.app  # type: ignore[assignment]
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
    """A bound socket whose connections send at once."""
    listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    # Connections inherit it. Without it the second packet of an answer waits 40 ms for the client's word on the first.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        raise InvalidConfig(f"{host}:{port}: {error.strerror}", "a free port", "choose another --port") from None
    return listening


def serve(app: FastAPI | PanelApp, config: ServiceConfig, listening: socket.socket) -> None:
    """Serve on a bound socket; returns after a signal, when all that was accepted is answered."""
    make_server(app, config).run([listening])


def make_server(app: FastAPI | PanelApp, config: ServiceConfig) -> PatientServer:
    """With the limits of connections, and a log that cannot fill a disk."""
    telemetry = app.state.telemetry
    start_log(config.log_level, config.log_json)
    most = connections_allowed(config.most_connections)
    settings = uvicorn.Config(
        app,
        http=protocol(most, config.header_seconds, lambda why: telemetry.closed.labels(why).inc()),
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
    telemetry.connections.set_function(lambda: len(server.server_state.connections))
    return server
