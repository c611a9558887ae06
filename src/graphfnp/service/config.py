"""What the service allows: sizes, times and who may ask."""

import re
from dataclasses import dataclass, field

from graphfnp.errors import InvalidConfig

_ABOVE_ZERO = (
    "most_bytes", "most_rows", "batch_rows", "seconds", "readers", "most_connections", "header_seconds", "body_seconds",
)  # fmt: skip
LOG_LEVELS = ("debug", "info", "warning", "error")
LOOPBACK = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True)
class ServiceConfig:
    """Limits of one service; a request beyond them is refused with a reason, and harms no other."""

    host: str = "127.0.0.1"  # loopback: others only if told so
    port: int = 8000
    api_key: str | None = field(default=None, repr=False)  # of every request but for the page's own files and /health
    most_bytes: int = 4_000_000  # of a request's body
    most_rows: int = 2000  # of one request
    most_explained: int = 20  # rows of one request for explanations, which cost about as much as fifty predictions
    most_nodes: int = 400  # of one molecule or graph
    most_edges: int = 2000  # of one graph
    longest_text: int = 2000  # characters of one SMILES
    readers: int = 2  # processes that read rows
    row_seconds: float = 0.5  # of the processor, to read one row
    row_megabytes: int = 512  # of memory, to read one row
    most_waiting: int = 20_000  # rows of all requests together; beyond, new ones are asked to come back
    batch_rows: int = 64  # that the model sees at a time; no request waits for more than a few batches of others
    seconds: float = 120.0  # until a request is answered
    header_seconds: float = 10.0  # until its headers have arrived
    body_seconds: float = 20.0  # until its body has arrived
    most_connections: int = 512  # open at a time; fewer where the system has fewer descriptors
    allowed_hosts: tuple[str, ...] = ()  # names in the Host header, beside this machine's own, on loopback
    drain_seconds: float = 0.5  # after SIGTERM new requests are still taken for so long, until balancers know
    shutdown_seconds: int = 60  # then, to answer what was taken
    log_level: str = "info"  # a line for each request; warning: only for troubles
    log_json: bool = False  # a JSON object a line

    def __post_init__(self) -> None:
        wrong = [name for name, value in vars(self).items() if isinstance(value, int | float) and value < 0]
        wrong += [name for name in _ABOVE_ZERO if getattr(self, name) <= 0]
        if wrong:
            raise InvalidConfig(", ".join(wrong), "limits above zero", "change these settings")
        if self.log_level not in LOG_LEVELS:
            raise InvalidConfig(f"--log-level {self.log_level}", f"one of {', '.join(LOG_LEVELS)}", "choose one")
        if self.api_key is not None and not re.fullmatch(r"[!-~]([ -~]*[!-~])?", self.api_key):
            raise InvalidConfig(
                "an API key that is empty, or has blanks at its ends or other than ASCII characters",
                "a key that fits into a header, or no key at all",
                "check that its variable is set, or leave --api-key out to serve without a key",
            )
