"""Views with filters on now(), and by the rows of subqueries: at every epoch each equals its query at that time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from risingpy.batch.sql import to_duckdb_sql
from risingpy.executors.relation import backfill as table_scan
from risingpy.frontend.binder import bind_query
from risingpy.frontend.parser import parse_query
from risingpy.functions.evaluation.duckdb_connection import connect
from risingpy.functions.evaluation.duckdb_functions import OwnFunctions
from risingpy.optimizer.now import NOW
from risingpy.optimizer.rewrite import map_expressions, rewrite_plan
from risingpy.optimizer.rules import optimize
from risingpy.plan.catalog import IndexedRelation
from risingpy.plan.expression_trees import transform
from risingpy.plan.expressions import Expr, Literal
from risingpy.plan.logical import LogicalPlan, Scan, SystemScan
from risingpy.types import BIGINT, TIMESTAMPTZ
from tests.examples import examples
from tests.executors.bench import Row
from tests.executors.epoch.test_stage_runner import Database, Log, Way

COLUMNS = {"k": BIGINT, "at": TIMESTAMPTZ, "g": BIGINT}
START = datetime(2026, 3, 27, 22, tzinfo=UTC)  # then come the days of which a month before is February 28

QUERIES = (
    "SELECT k, at, g FROM a WHERE at > now() - interval '1 hour'",
    "SELECT k FROM a WHERE at + interval '1 hour' <= now()",
    "SELECT k FROM a WHERE at >= now() - interval '1 month'",
    "SELECT k FROM a WHERE at AT TIME ZONE 'UTC' < now() AT TIME ZONE 'Europe/Berlin' - interval '3 hours'",
    "SELECT k, at FROM a WHERE at BETWEEN now() - interval '1 day' AND now() + interval '2 hours' AND g > 0",
    "SELECT k FROM a WHERE at::date = current_date",
    "SELECT k FROM a WHERE at > now() OR g = 1",
    "SELECT k FROM a WHERE at > now() + interval '2 hours' OR at < now() - interval '2 hours' OR g = 1",
    "SELECT k FROM a WHERE at NOT BETWEEN now() - interval '1 hour' AND now() OR at <> now() AND g = 2",
    "SELECT k FROM a WHERE NOT (at > now() AND g = 1 OR at <= now() - interval '3 hours' AND k > 3)",
    "SELECT k FROM a WHERE (at = now() OR g > 0) AND (at > now() - interval '1 hour' OR at = now() - interval '1 day')",
    "SELECT k FROM a WHERE now() - at < interval '1 hour' AND at - now() <= interval '2 hours'",
    "SELECT g, count(*), max(k) FROM a WHERE at < date_trunc('hour', now()) GROUP BY g",
    "SELECT g, count(*) FROM a GROUP BY g HAVING max(at) > now() - interval '2 hours'",
    "SELECT a.k, b.k AS l FROM a JOIN b ON a.g = b.g AND greatest(a.at, b.at) > now() - interval '1 hour'",
    "SELECT a.k, b.k AS l FROM a LEFT JOIN (SELECT * FROM b WHERE at > now()) b ON a.g = b.g",
    "SELECT k FROM a WHERE EXISTS (SELECT FROM b WHERE b.g = a.g AND b.at < now())",
    "SELECT k FROM a WHERE at > (SELECT max(at) FROM b WHERE at < now())",
    "SELECT k, g FROM a WHERE g >= (SELECT min(g) FROM b)",
    "SELECT k FROM a WHERE NOT g > (SELECT max(g) FROM b) AND k < (SELECT count(*) FROM b)",
    "SELECT g, sum(k) FROM a GROUP BY g HAVING sum(k) > (SELECT avg(k) FROM b)",
)

moments = st.none() | st.integers(-30, 30).map(lambda quarters: START + quarters * timedelta(minutes=30))
writes = st.lists(
    st.tuples(
        st.sampled_from([1, 1, -1]),
        st.tuples(st.integers(0, 9), moments | st.just(START - timedelta(days=27.5)), st.sampled_from([None, 0, 1, 2])),
    ),
    max_size=8,
)
steps = st.sampled_from([timedelta(0), timedelta(minutes=30), timedelta(hours=2), timedelta(hours=23)])


@pytest.mark.parametrize("way", Way, ids=lambda way: way.value)
@given(
    shards=st.integers(1, 3),
    epochs=st.lists(st.tuples(writes, writes, steps), min_size=1, max_size=6),
    created=st.integers(0, 3),
    chunk_rows=st.sampled_from([2, 100]),
)
@examples(5)
def test_views_equal_their_queries_as_time_passes(
    way: Way, shards: int, epochs: list[tuple[Log, Log, timedelta]], created: int, chunk_rows: int
) -> None:
    with pytest.MonkeyPatch.context() as patch, Database(shards, way, list(COLUMNS.values())) as database:
        patch.setattr(table_scan, "ROWS_PER_EPOCH", chunk_rows)
        a, b = (database.planner.table(name, COLUMNS, ["k"]) for name in ("a", "b"))
        models: dict[int, dict[object, Row]] = {a.relation_id: {}, b.relation_id: {}}
        views: list[tuple[IndexedRelation, LogicalPlan]] = []
        time = START
        for number, (log_a, log_b, step) in enumerate([*epochs, *[([], [], timedelta(hours=1))] * 5]):
            if number == min(created, len(epochs) - 1):
                views = [_view(database, number, sql) for number, sql in enumerate(QUERIES)]
            time += step
            logs = {a.relation_id: log_a, b.relation_id: log_b}
            finished = database.run(logs, milliseconds=int(time.timestamp() * 1000))
            for table, log in logs.items():
                for op, row in log:
                    models[table].pop(row[0], None)
                    if op > 0:
                        models[table][row[0]] = row
            for view, plan in views if finished else []:
                assert database.rows(view) == answer(plan, models, time), (view.name, time)


def _view(database: Database, number: int, sql: str) -> tuple[IndexedRelation, LogicalPlan]:
    plan = optimize(bind_query(parse_query(sql), database.planner.catalog, ("public",)).plan)
    return database.planner.view(f"view_{number}", plan), plan


def answer(plan: LogicalPlan, models: Mapping[int, Mapping[object, Row]], time: datetime) -> list[Row]:
    """The rows of a query at a time, sorted."""
    scans: dict[str, pa.Table] = {}

    def scan_name(scan: Scan | SystemScan) -> str:
        assert isinstance(scan, Scan)
        types = list(COLUMNS.values())
        rows = list(models[scan.relation_id].values())
        columns = [pa.array([row[i] for row in rows], types[i].arrow) for i in scan.columns]
        scans[f"scan_{len(scans)}"] = pa.table(columns, names=[f"c{i}" for i in range(len(columns))])
        return f"scan_{len(scans) - 1}"

    sql = to_duckdb_sql(rewrite_plan(plan, lambda node: map_expressions(node, lambda e: _at(e, time))), scan_name).text
    connection, functions = _duckdb()
    functions.make_known(sql)
    cursor = connection.cursor()
    for name, rows in scans.items():
        cursor.register(name, rows)
    found = cursor.sql(sql).to_arrow_table()
    cursor.close()
    typed = [column.cast(each.type.arrow) for column, each in zip(found.columns, plan.schema, strict=True)]
    return sorted(_rows(typed), key=repr)


@cache
def _duckdb() -> tuple[duckdb.DuckDBPyConnection, OwnFunctions]:
    connection = connect()
    return connection, OwnFunctions(connection)


def _rows(columns: Sequence[pa.ChunkedArray]) -> list[Row]:
    return list(zip(*(column.to_pylist() for column in columns), strict=True))


def _at(expr: Expr, time: datetime) -> Expr:
    return transform(expr, lambda part: Literal(time, TIMESTAMPTZ) if part == NOW else None)
