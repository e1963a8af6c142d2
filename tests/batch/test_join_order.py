"""DuckDB joins in the order of the SQL: it cannot know how many rows a reader has, and takes them for one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pyarrow as pa
import pytest

from risingpy.batch.lookups.looked_up_rows import rows_of_inputs
from risingpy.batch.plan import BatchPlan, Input
from risingpy.batch.planner import plan_query
from risingpy.batch.reads import PlanRun, Rows
from risingpy.functions.evaluation.duckdb_connection import connect, query_over
from risingpy.functions.evaluation.query_engines import LEAST_MEMORY, QueryEngines
from risingpy.meta.database import Database
from risingpy.optimizer.rules import optimize
from tests.batch.conftest import opened
from tests.frontend.binder.bench import bind
from tests.frontend.session.conftest import Client

SIDE_ROWS = 30_000  # of each of two dimensions, which have 900 million pairs
DIMENSIONS = "SELECT count(*) FROM f JOIN x ON f.a = x.id JOIN y ON f.b = y.id WHERE x.v <> y.v"


@pytest.fixture(scope="module")
def opened_database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Database, Client]]:
    with opened(tmp_path_factory.mktemp("join_order") / "data") as (database, client):
        client.run("CREATE TABLE f (id INT PRIMARY KEY, a INT, b INT, c INT)")
        for name in "xyz":
            client.run(f"CREATE TABLE {name} (id INT PRIMARY KEY, v INT)")
        client.run("INSERT INTO f SELECT i, i * 7, i * 11, i % 3 FROM generate_series(1, 1000) AS t(i)")
        for name in "xy":
            client.run(f"INSERT INTO {name} SELECT i, i % 5 FROM generate_series(1, {SIDE_ROWS}) AS t(i)")
        client.run("INSERT INTO z VALUES (0, 0), (1, 1), (2, 2)")
        client.run("FLUSH")
        yield database, client


@pytest.fixture
def client(opened_database: tuple[Database, Client]) -> Client:
    return opened_database[1]


@pytest.mark.parametrize(
    "sql",
    [
        DIMENSIONS,
        DIMENSIONS.replace(" WHERE", " JOIN z ON f.c = z.id WHERE"),  # z has few rows, which is known
    ],
)
def test_no_product_of_dimensions_that_are_compared(client: Client, sql: str) -> None:
    """TPC-DS's q64 compared each marital status with each other one, before any sale: `cd1.status <> cd2.status`."""
    expected = sum(i * 7 % 5 != i * 11 % 5 for i in range(1, 1001))
    client.run("SET statement_timeout = '5s'")  # the product takes longer than that, the joins by key a hundredth of it
    try:
        assert client.run(sql) == [(expected,)]
    finally:
        client.run("RESET statement_timeout")


def test_duckdb_would_begin_with_a_product(tmp_path: Path) -> None:
    """If its own order is no product any more, it may be better than that of the SQL."""
    sql = "EXPLAIN SELECT * FROM (f JOIN x ON f.a = x.a) JOIN y ON f.b = y.b AND x.v <> y.v"
    columns = {"f": ["a", "b"], "x": ["a", "v"], "y": ["b", "v"]}
    rows = {name: pa.table({column: [1] for column in of}).to_reader() for name, of in columns.items()}
    with connect() as connection:
        assert "Nested Loop Join" in str(query_over(connection, sql, rows).fetchall())
    engines = QueryEngines(tmp_path)
    with engines.lease(LEAST_MEMORY) as lease:
        assert "Nested Loop Join" not in str(query_over(lease.cursor, sql, rows).fetchall())
    engines.close()


@dataclass(frozen=True, slots=True)
class _Given:
    """Stands for the reads of a run: the rows by the number of columns that an input has."""

    given: dict[int, Rows]

    def rows(self, input_: Input) -> Rows:
        return self.given[len(_columns(input_))]


def _columns(input_: Input) -> tuple[int, ...]:
    return tuple(getattr(input_, "columns", ()))


def test_all_inputs_are_tables_or_all_are_readers(opened_database: tuple[Database, Client]) -> None:
    """DuckDB took three rows that it knew of for more than the reader's, and made the hash table from the reader."""
    catalog = opened_database[0].reads.catalog
    query = bind("SELECT z.v, f.* FROM z JOIN f ON f.c = z.id", (), catalog)
    plan: BatchPlan = plan_query(optimize(query.plan), catalog)
    few = pa.table({"c0": [1, 2], "c1": [3, 4]})
    many = pa.table({"c0": [5], "c1": [6], "c2": [7], "c3": [8]})
    assert [len(_columns(each)) for each in plan.inputs] == [2, 4]
    without = BatchPlan(plan.query, plan.inputs, plan.answer)

    def rows(given: dict[int, Rows]) -> dict[int, Rows]:
        return rows_of_inputs(without, cast("PlanRun", _Given(given)))

    assert rows({2: few, 4: many}) == {0: few, 1: many}
    mixed = rows({2: few, 4: many.to_reader()})
    assert all(isinstance(each, pa.RecordBatchReader) for each in mixed.values())
    assert [cast("pa.RecordBatchReader", each).read_all() for each in mixed.values()] == [few, many]
