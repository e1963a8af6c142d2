"""Metrics of epochs, of the log and of the state store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from prometheus_client.metrics_core import Metric

from risingpy.frontend.monitoring.relations import schema_label
from risingpy.frontend.monitoring.samples import counter, gauge, histogram, one
from risingpy.meta.database import Database
from risingpy.meta.epochs.number import milliseconds
from risingpy.meta.statistics import TableStatistics
from risingpy.plan.catalog import Catalog


def epoch_metrics(database: Database) -> Iterator[Metric]:
    """Of epochs since the start, and of what the newest committed one takes on disk."""
    facts = database.introspection
    times = facts.epoch_times
    phases = {phase.value: durations for phase, durations in times.phases().items()}
    yield histogram("epoch_phase_seconds", "How long the phases of committed epochs took.", "phase", phases)
    yield counter("epoch_rows", "Rows that epochs had: logged, read from sources and backfilled.", one(times.rows))
    yield counter("epoch_failures", "Tries of an epoch that failed.", one(times.failures))
    yield gauge(
        "epoch_busy_seconds", "For how long the loop works on its epoch; 0: it sleeps.", one(times.busy_seconds)
    )
    parameters = facts.parameters()
    epoch = int(parameters["committed_epoch"])
    yield gauge("committed_epoch", "The number of the newest committed epoch.", one(epoch))
    began = "When the newest committed epoch began, in seconds since 1970."
    yield gauge("committed_epoch_timestamp_seconds", began, one(milliseconds(epoch) / 1000))
    yield gauge("log_bytes", "The write-ahead log on disk.", one(int(parameters["log_bytes"])))
    yield gauge("state_file_bytes", "The files of the state store.", one(int(parameters["data_bytes"])))
    pinned = facts.pinned_epochs()
    yield gauge("pinned_epochs", "Committed epochs that queries read.", one(len(pinned)))
    oldest = max((view.outdated_seconds or 0.0 for view in pinned), default=0.0)
    yield gauge("oldest_pinned_epoch_seconds", "For how long the oldest of them has been outdated.", one(oldest))
    yield from _stored(database)


def _stored(database: Database) -> Iterator[Metric]:
    snapshot = database.reads.snapshot()
    try:
        tables = snapshot.view.statistics()
    finally:
        snapshot.view.release()
    rows, sizes = _by_relation(snapshot.catalog, tables)
    labels = ("schema", "relation", "kind", "part")
    yield gauge("state_rows", "Rows of a relation, and of the state of its operators.", rows.items(), labels)
    yield gauge("state_bytes", "Their keys and values in bytes.", sizes.items(), labels)


def _by_relation(
    catalog: Catalog, tables: Mapping[int, TableStatistics]
) -> tuple[dict[tuple[str, ...], float], dict[tuple[str, ...], float]]:
    """Rows and bytes, by the values of the labels. A relation's internal tables together are its `state`."""
    rows: dict[tuple[str, ...], float] = {}
    sizes: dict[tuple[str, ...], float] = {}
    for table_id, table in tables.items():
        internal = catalog.internal_tables.get(table_id)
        owner = catalog.relations.get(table_id if internal is None else internal.job_id)
        if owner is not None:
            key = schema_label(catalog, owner), owner.name, owner.noun, "rows" if internal is None else "state"
            rows[key] = rows.get(key, 0) + table.rows
            sizes[key] = sizes.get(key, 0) + table.key_bytes + table.value_bytes
    return rows, sizes
