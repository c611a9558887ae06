"""What the service counts, as Prometheus reads it."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector

from graphfnp.isolation.pool import Pool
from graphfnp.prediction.records import OK

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
ROWS = (1, 2, 4, 8, 16, 32, 64, 128)
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class _Reading(Collector):
    """Counts of a pool, read when they are asked for."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool

    def collect(self) -> Iterable[Metric]:
        lost = CounterMetricFamily(
            "graphfnp_rows_lost",
            "Rows whose reading was stopped: too slow, too large, a crash, an error.",
            labels=["why"],
        )
        for why, count in self.pool.lost.items():
            lost.add_metric([why], count)
        yield lost
        yield CounterMetricFamily(
            "graphfnp_reader_restarts", "Reader processes ended by a row.", value=self.pool.restarts
        )


class Telemetry:
    """One registry for each service, so that several can live in one process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        counter: Any = partial(Counter, registry=self.registry)
        gauge: Any = partial(Gauge, registry=self.registry)
        histogram: Any = partial(Histogram, registry=self.registry)
        self.requests = counter("graphfnp_requests", "Requests answered, by route and status.", ["route", "status"])
        self.seconds = histogram(
            "graphfnp_request_seconds", "From a request's first byte to its answer.", ["route"], buckets=SECONDS
        )
        self.open = gauge("graphfnp_requests_open", "Requests accepted and not answered yet.")
        self.rows = counter("graphfnp_rows", "Rows answered, by status.", ["status"])
        said = "Rows predicted, by most probable class and domain verdict."
        self.predicted = counter("graphfnp_predicted_rows", said, ["class", "domain"])
        self.batch_rows = histogram("graphfnp_batch_rows", "Rows in a batch of the model.", ["kind"], buckets=ROWS)
        self.batch_seconds = histogram(
            "graphfnp_batch_seconds", "Time of one batch in the model thread.", ["kind"], buckets=SECONDS
        )
        self.waiting: Callable[[], float] = float

    def watch(self, waiting: Callable[[], float], pool: Pool | None = None) -> None:
        """The rows that wait, and what became of the processes that read them."""
        self.waiting = waiting
        Gauge("graphfnp_rows_waiting", "Rows waiting for a batch.", registry=self.registry).set_function(waiting)
        if pool is not None:
            self.registry.register(_Reading(pool))

    def watch_connections(self, count: Callable[[], float]) -> Callable[[str], None]:
        """Those of the server, however many models stand behind it; what is returned counts one that was closed."""
        said = "Connections closed on arrival (refused) or without a request (slow)."
        Gauge("graphfnp_connections_open", "Connections that are open.", registry=self.registry).set_function(count)
        closed = Counter("graphfnp_connections_closed", said, ["why"], registry=self.registry)
        for why in ("refused", "slow"):
            closed.labels(why)
        return lambda why: closed.labels(why).inc()

    def count(self, record: Mapping[str, Any]) -> None:
        """A row that was answered."""
        self.rows.labels(record["status"]).inc()
        if record["status"] == OK:
            self.predicted.labels(record["class"], record["domain_verdict"] or "unknown").inc()

    def text(self) -> bytes:
        return generate_latest(self.registry)
