"""Connections: how many, how long each may take to say what it wants, and how much the log may say about them."""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

BACKLOG = 100  # connections that the system keeps until they are accepted; each needs a descriptor meanwhile
SPARE = 150  # descriptors for the backlog, files, and pipes to the processes that read
LINES_A_MINUTE = 60  # of the log


def connections_allowed(most: int) -> int:
    """``most``, or fewer where the system has not enough descriptors for them."""
    try:
        import resource
    except ImportError:  # not on this system
        return most
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


class BoundedLog(logging.Filter):
    """At most so many lines a minute; what was left out is counted in the next line that is written."""

    def __init__(self, lines: int = LINES_A_MINUTE) -> None:
        super().__init__()
        self.lines, self.minute, self.written, self.left_out = lines, 0, 0, 0

    def filter(self, record: logging.LogRecord) -> bool:
        minute = int(time.monotonic() // 60)
        if minute != self.minute:
            self.minute, self.written = minute, 0
        if self.written >= self.lines:
            self.left_out += 1
            return False
        self.written += 1
        if self.left_out:
            record.msg, record.args = f"{record.getMessage()} ({self.left_out} lines were left out before)", ()
            self.left_out = 0
        return True
