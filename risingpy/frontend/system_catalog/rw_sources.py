"""rw_catalog's view of running sources: how far views have read them, and the messages that did not decode."""

from __future__ import annotations

from collections.abc import Iterable

from risingpy.frontend.system_catalog.oids import relation_oid
from risingpy.frontend.system_catalog.system_relation import Row, SystemState, relation


def _lags(state: SystemState) -> Iterable[Row]:
    for lag in state.source_lags():
        job = state.catalog.relations.get(lag.job_id)
        if job is not None:
            behind = None if lag.end is None else max(lag.end - (lag.position or 0), 0)
            yield (
                *(relation_oid(lag.source), lag.source.name, relation_oid(job), job.name, lag.split),
                *(lag.position, lag.end, behind, lag.rejected, lag.failure),
            )


def _errors(state: SystemState) -> Iterable[Row]:
    for kept in state.rejected():
        source = state.catalog.relations.get(kept.source_id)
        if source is not None:
            found = kept.message
            yield relation_oid(source), source.name, found.split, found.position, kept.time, found.reason, found.text


RW_SOURCE_LAG = relation(
    "rw_catalog",
    "rw_source_lag",
    "source_id int4, source_name text, job_id int4, job_name text, split text, position int8, end_position int8,"
    "lag int8, bad_messages int8, failure text",
    _lags,
)
RW_SOURCE_ERRORS = relation(
    "rw_catalog",
    "rw_source_errors",
    "source_id int4, source_name text, partition text, offset int8, time timestamptz, reason text, message text",
    _errors,
)
