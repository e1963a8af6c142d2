"""rw_catalog's view of sinks: what they are, and how far the other side is behind."""

from __future__ import annotations

from collections.abc import Iterable

from risingpy.executors.epoch.time import milliseconds
from risingpy.frontend.system_catalog.oids import relation_oid, schema_oid
from risingpy.frontend.system_catalog.rights.acls import acl_texts
from risingpy.frontend.system_catalog.system_relation import Row, SystemState, relation
from risingpy.plan.catalog import JobStatus, Sink


def _sinks(state: SystemState) -> Iterable[Row]:
    for sink in state.sinks:
        connector = "TABLE" if sink.into is not None else dict(sink.options).get("connector", "").upper()
        head = relation_oid(sink), sink.name, schema_oid(sink.schema_name), sink.owner
        yield *head, connector, sink.type.value.upper(), None, sink.definition, acl_texts(state, sink.acl), None, None


def _lags(state: SystemState) -> Iterable[Row]:
    running = {sink.relation_id: status for sink, status in state.deliveries()}
    sizes = state.statistics()
    for sink in state.sinks:
        status, waiting = running.get(sink.relation_id), sizes.get(sink.table.table_id)
        if sink.into is not None:  # its rows are in the same epoch as what they come from
            epoch: int | None = state.committed_epoch
        else:
            epoch = status.epoch if status is not None and status.epoch else None
        behind = None if epoch is None else max(milliseconds(state.committed_epoch) - milliseconds(epoch), 0)
        yield (
            *(relation_oid(sink), sink.name, _shown_status(sink), epoch, state.committed_epoch, behind),
            *(waiting.value_bytes if waiting is not None else 0, status.rows if status is not None else 0),
            state.told(sink, status.failure if status is not None else sink.failure),
        )


def _shown_status(sink: Sink) -> str:
    if sink.status is JobStatus.CREATED and dict(sink.options).get("sink_rate_limit") == "0":
        return "paused"
    if sink.has_stopped:
        return "failed"
    return {JobStatus.CREATED: "running"}.get(sink.status, sink.status.value)


RW_SINKS = relation(
    "rw_catalog",
    "rw_sinks",
    "id int4, name text, schema_id int4, owner int4, connector text, sink_type text, connection_id int4,"
    "definition text, acl _text, initialized_at timestamptz, created_at timestamptz",
    _sinks,
)
RW_SINK_LAG = relation(
    "rw_catalog",
    "rw_sink_lag",
    "sink_id int4, sink_name text, status text, delivered_epoch int8, committed_epoch int8, lag_milliseconds int8,"
    "backlog_bytes int8, delivered_rows int8, failure text",
    _lags,
)
