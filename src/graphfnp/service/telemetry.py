"""What the service counts, as Prometheus reads it."""

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class Telemetry:
    """One registry for each service, so that several can live in one process."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self.requests = Counter(
            "graphfnp_requests", "Requests answered, by route and status.", ["route", "status"], registry=registry
        )
        self.seconds = Histogram(
            "graphfnp_request_seconds", "From a request's first byte to its answer.", ["route"],
            buckets=SECONDS, registry=registry,
        )  # fmt: skip
        self.open = Gauge("graphfnp_requests_open", "Requests accepted and not answered yet.", registry=registry)
        self.rows = Counter("graphfnp_rows", "Rows answered, by status.", ["status"], registry=registry)
        self.batch_rows = Histogram(
            "graphfnp_batch_rows", "Rows the model saw together.", ["kind"],
            buckets=(1, 2, 4, 8, 16, 32, 64, 128), registry=registry,
        )  # fmt: skip
        self.batch_seconds = Histogram(
            "graphfnp_batch_seconds", "Time of one batch in the model thread.", ["kind"],
            buckets=SECONDS, registry=registry,
        )  # fmt: skip
        self.waiting = Gauge("graphfnp_rows_waiting", "Rows that no batch has taken yet.", registry=registry)

    def watch_queue(self, waiting: Callable[[], float]) -> None:
        self.waiting.set_function(waiting)

    def text(self) -> bytes:
        return generate_latest(self.registry)
