"""The log: one line for each request, with its id and without its molecules, as text or as JSON."""

import json
import logging
import re
import sys
import time
from typing import Any
from uuid import uuid4

from graphfnp.errors import plural

ACCESS = logging.getLogger("graphfnp.service")
LIBRARIES = ("uvicorn.error", "asyncio")
LINES, ACCESS_LINES = 60, 6000  # a minute
QUIET = ("/health", "/metrics", "/page")  # asked every few seconds, or files: logged at debug
_ID = re.compile(r"[A-Za-z0-9._:-]{1,64}")
_HEADER = b"x-request-id"


def request_id(headers: Any) -> str:
    """What the client calls its request, if that fits into a log line; else an id of our own."""
    given = next((value for name, value in headers if name == _HEADER), b"").decode("latin-1")
    return given if _ID.fullmatch(given) else uuid4().hex


def start_log(level: str, as_json: bool) -> None:
    """Lines of this level and above go to standard error; no attacker can fill a disk with them."""
    for name, lines in ((ACCESS.name, ACCESS_LINES), *((name, LINES) for name in LIBRARIES)):
        logger, handler = logging.getLogger(name), logging.StreamHandler(sys.stderr)
        handler.setFormatter(JsonLines() if as_json else TextLines())
        handler.addFilter(BoundedLog(lines))
        logger.handlers, logger.propagate = [handler], False
        # At info the libraries say that they have started, which is no news to anybody.
        quiet = name in LIBRARIES and level == "info"
        logger.setLevel("WARNING" if quiet else level.upper())


def log_request(facts: dict[str, Any]) -> None:
    """``facts`` are those of the line; the route is its template, so that no input is in it."""
    level = logging.DEBUG if facts["route"] in QUIET and facts["status"] < 400 else logging.INFO
    text = "{method} {route} {status} {ms} ms, {bytes} bytes".format(**facts)
    if facts.get("rows"):
        text += f", {plural(facts['rows'], 'row')}"
    ACCESS.log(level, text, extra={"facts": facts})


def log_failure(identity: str, error: BaseException) -> None:
    ACCESS.error("request failed", exc_info=error, extra={"facts": {"request_id": identity}})


class BoundedLog(logging.Filter):
    """At most so many lines a minute; what was left out is counted in the next line that is written."""

    def __init__(self, lines: int) -> None:
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


class TextLines(logging.Formatter):
    """2026-01-31T12:00:00Z INFO 5f0c... POST /predict 200 12 ms, 40 bytes, 1 row"""

    def format(self, record: logging.LogRecord) -> str:
        identity = getattr(record, "facts", {}).get("request_id", "-")
        text = f"{_time(record)} {record.levelname} {identity} {record.getMessage()}"
        return text if not record.exc_info else f"{text}\n{self.formatException(record.exc_info)}"


class JsonLines(logging.Formatter):
    """The same, one JSON object a line, with the facts as fields."""

    def format(self, record: logging.LogRecord) -> str:
        line = {"time": _time(record), "level": record.levelname.lower(), "logger": record.name}
        line |= {"message": record.getMessage(), **getattr(record, "facts", {})}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line)


def _time(record: logging.LogRecord) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03}Z"
