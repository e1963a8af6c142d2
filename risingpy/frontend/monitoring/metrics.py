"""What /metrics gives: text in Prometheus's format, made of the database's own figures at the moment of the request."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from risingpy.frontend.monitoring.clients import client_metrics
from risingpy.frontend.monitoring.epochs import epoch_metrics
from risingpy.frontend.monitoring.memory import memory_metrics
from risingpy.frontend.monitoring.readiness import Readiness
from risingpy.frontend.monitoring.relations import relation_metrics
from risingpy.frontend.monitoring.samples import gauge, one
from risingpy.meta.database import Database

_FAMILIES: tuple[Callable[[Database], Iterator[Metric]], ...] = (
    epoch_metrics,
    relation_metrics,
    client_metrics,
    memory_metrics,
)


def exposition(readiness: Readiness) -> str:
    """All metrics. While the server recovers the database, those of the process only."""
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)  # process_cpu_seconds_total, process_open_fds, …
    registry.register(_OneScrape(readiness))
    return generate_latest(registry).decode()


class _OneScrape(Collector):
    def __init__(self, readiness: Readiness) -> None:
        self._readiness = readiness

    def describe(self) -> Iterator[Metric]:
        """Nothing: else the registry would collect everything when it is told of this."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        ready = self._readiness.obstacle() is None
        yield gauge("ready", "1 if /readyz says that clients can come.", one(ready))
        database = self._readiness.database
        if database is not None:
            for families in _FAMILIES:
                yield from families(database)
