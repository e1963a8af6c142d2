"""Metrics of tables, views, indexes, sources and sinks: rows in and out, lags, failures, backfills."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from prometheus_client.metrics_core import Metric

from risingpy.frontend.monitoring.samples import counter, gauge
from risingpy.frontend.relation_work import work_of_jobs
from risingpy.meta.database import Database
from risingpy.meta.epochs.number import milliseconds
from risingpy.plan.catalog import DEFAULT_DATABASE_ID, Catalog, CreatedRelation, JobRelation

_RELATION = ("schema", "relation", "kind")
_SOURCE = ("schema", "source")
_SINK = ("schema", "sink")


def relation_metrics(database: Database) -> Iterator[Metric]:
    """Of everything in the catalog that has rows."""
    yield from _work(database)
    facts, catalog = database.introspection, database.reads.catalog
    failed = [
        (_labels(catalog, r), n) for i, n in facts.job_errors().items() if (r := catalog.relations.get(i)) is not None
    ]
    yield counter("relation_errors", "Expressions that failed and became NULL.", failed, _RELATION)
    begun = [(_labels(catalog, each.relation), each) for each in facts.ddl_progress()]
    read = [(labels, each.rows) for labels, each in begun]
    totals = [(labels, each.total) for labels, each in begun if each.total is not None]
    yield gauge("backfill_rows", "Rows that a view in creation has read of its upstreams.", read, _RELATION)
    yield gauge("backfill_rows_to_read", "Rows that the upstreams of a view in creation have.", totals, _RELATION)
    jobs = [relation for relation in catalog.relations.values() if isinstance(relation, JobRelation)]
    stopped = [(_labels(catalog, relation), relation.has_stopped) for relation in jobs]
    yield gauge("relation_stopped", "1 if the relation's job has stopped because of an error.", stopped, _RELATION)
    yield from _sources(database)
    yield from _sinks(database)


def schema_label(catalog: Catalog, relation: CreatedRelation) -> str:
    """The schema; behind the name of the database, unless that is the first one."""
    own = relation.database_id
    if own == DEFAULT_DATABASE_ID or own not in catalog.databases:
        return relation.schema_name
    return f"{catalog.databases[own].name}.{relation.schema_name}"


def _labels(catalog: Catalog, relation: CreatedRelation) -> tuple[str, str, str]:
    return schema_label(catalog, relation), relation.name, relation.noun


def _work(database: Database) -> Iterator[Metric]:
    """What the operators of each job have done, and of each source in all jobs that read it."""
    done, state = database.introspection.operator_work(), database.reads.state
    rows_in: Counter[tuple[str, ...]] = Counter()
    rows_out: Counter[tuple[str, ...]] = Counter()
    seconds: defaultdict[tuple[str, ...], float] = defaultdict(float)
    of_sources: Counter[tuple[str, ...]] = Counter()
    for job_id, work in work_of_jobs(state.jobs.values(), done):
        relation = state.catalog.relations.get(job_id)
        if relation is None:
            continue
        key = _labels(state.catalog, relation)
        rows_in[key] += work.rows_in
        rows_out[key] += work.rows_out
        seconds[key] += work.nanoseconds / 1e9
        for source_id, rows in work.of_sources.items():
            if source_id in state.catalog.sources:
                source = state.catalog.sources[source_id]
                of_sources[schema_label(state.catalog, source), source.name] += rows
    yield counter("relation_rows_in", "Changed rows that a relation's job has read.", rows_in.items(), _RELATION)
    yield counter("relation_rows_out", "Rows of the relation that it has changed.", rows_out.items(), _RELATION)
    busy = "Seconds that its operators took, on all shards, without commits."
    yield counter("relation_busy_seconds", busy, seconds.items(), _RELATION)
    yield counter("source_rows", "Rows that jobs have read from a source.", of_sources.items(), _SOURCE)


def _sources(database: Database) -> Iterator[Metric]:
    catalog = database.reads.catalog
    lags: Counter[tuple[str, ...]] = Counter()
    answers: dict[tuple[str, ...], float] = {}
    rejected: dict[tuple[str, ...], int] = {}
    for lag in database.introspection.source_lags():
        source = schema_label(catalog, lag.source), lag.source.name
        answers[source] = answers.get(source, True) and lag.failure is None
        reader = None if lag.job_id is None else catalog.relations.get(lag.job_id)
        if reader is not None:
            key = *source, reader.name
            rejected[key] = lag.rejected
            if lag.end is not None:
                lags[key] += max(lag.end - (lag.position or 0), 0)
    labels = (*_SOURCE, "relation")
    yield gauge("source_lag", "Positions of the source that the relation has not read yet.", lags.items(), labels)
    yield counter("source_rejected", "Messages that did not decode.", rejected.items(), labels)
    yield gauge("source_up", "1 if the system behind the source answers.", answers.items(), _SOURCE)


def _sinks(database: Database) -> Iterator[Metric]:
    committed = database.reads.committed_epoch
    rows, lags, answers = [], [], []
    for sink, status in database.sinks.status():
        key = schema_label(database.reads.catalog, sink), sink.name
        rows.append((key, status.rows))
        answers.append((key, status.failure is None))
        if status.epoch:
            lags.append((key, max(milliseconds(committed) - milliseconds(status.epoch), 0) / 1000))
    yield counter("sink_rows", "Changed rows that a sink has delivered.", rows, _SINK)
    yield gauge("sink_lag_seconds", "How much older than the newest epoch the last delivered one is.", lags, _SINK)
    yield gauge("sink_up", "1 if the system behind the sink answers.", answers, _SINK)
