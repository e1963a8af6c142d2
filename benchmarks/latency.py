"""How long a client waits: until one INSERT is visible, until it is acknowledged, for a point SELECT; and COPY's rate.

Everything here runs on one server, on small tables; DuckDB has its tables in a database file, so that its INSERT is
durable too.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.measurement import DUCKDB, RISINGPY, SPARK, Measurement, Meter, latency_figures, timed_calls
from benchmarks.queries import SMALL_TABLE, SMALL_VIEW
from benchmarks.throughput import running_server
from benchmarks.yardstick_process import run_job
from risingpy.server_process import ServerProcess

FRESHNESS = "freshness"
ACKNOWLEDGED = "INSERT acknowledged"
POINT_SELECT = "point SELECT"
COPY = "COPY"
ROWS_BEFORE = 100_000  # in t0, before the first INSERT is timed


@dataclass(frozen=True, slots=True)
class Views:
    """How many views over how many tables."""

    views: int
    tables: int

    @property
    def variant(self) -> str:
        return "1 view" if self.views == 1 else f"{self.views} views over {self.tables} tables"


FEW = Views(1, 1)
MANY = Views(20, 5)


def measure_freshness(samples: int, idle_seconds: float, *, spark: bool) -> Iterator[Measurement]:
    """From sending an INSERT until a SELECT of a view over its table, which shows it, has answered."""
    for size in (FEW, MANY):
        with running_server() as server, server.connect() as connection:
            create_views(connection, size)
            with Meter(server.process.pid) as meter:
                figures = freshness(connection, samples)
            yield Measurement(FRESHNESS, size.variant, RISINGPY, figures | meter.usage.figures(), correct=True)
        with tempfile.TemporaryDirectory() as directory:
            path = f"{directory}/yardstick.duckdb"
            theirs = {"path": path, "tables": size.tables, "views": size.views, "rows": ROWS_BEFORE}
            figures = run_job("duckdb_yardstick", "freshness", **theirs, samples=samples)
            yield Measurement(FRESHNESS, size.variant, DUCKDB, figures, note="the table's views recomputed in full")
    if spark:
        yield from _measure_spark(samples, idle_seconds)


def _measure_spark(samples: int, idle_seconds: float) -> Iterator[Measurement]:
    """Freshness, and what the same process shows besides: idle cost and start."""
    figures = run_job("spark_yardstick", "freshness", rows=ROWS_BEFORE, samples=samples, idle_seconds=idle_seconds)
    idle, started = figures.pop("idle_cores"), figures.pop("first_epoch_seconds")
    yield Measurement(FRESHNESS, FEW.variant, SPARK, figures, note="from writing a file until foreachBatch")
    yield Measurement("idle", FEW.variant, SPARK, {"idle_cores": idle}, note="one query, default trigger")
    yield Measurement("start", "", SPARK, {"first_epoch_seconds": started})


def create_views(connection: Any, size: Views) -> None:
    """Tables t0, t1, … and views v0, v1, … over them in turn; t0 has ROWS_BEFORE rows."""
    for number in range(size.tables):
        connection.execute(f"CREATE TABLE t{number} {SMALL_TABLE}")
    copy_rows(connection, "t0", ROWS_BEFORE)
    for number in range(size.views):
        query = SMALL_VIEW.format(table=f"t{number % size.tables}")
        connection.execute(f"CREATE MATERIALIZED VIEW v{number} AS {query}")
    connection.execute("FLUSH")


def freshness(connection: Any, samples: int) -> dict[str, float]:
    """Raises AssertionError if the SELECT does not show the INSERT."""

    def insert_and_see(number: int) -> None:
        connection.execute(f"INSERT INTO t0 VALUES ({ROWS_BEFORE + number}, 1)")
        row = connection.execute("SELECT sum(n) FROM v0").fetchone()
        assert row[0] == ROWS_BEFORE + number + 1, (row, number)

    return latency_figures(timed_calls(insert_and_see, samples))


def measure_statements(samples: int, copy_rows_number: int) -> Iterator[Measurement]:
    """Acknowledgement, point SELECT and COPY, on one server."""
    with running_server() as server:
        yield Measurement(ACKNOWLEDGED, "", RISINGPY, _acknowledgement(server, samples))
        yield Measurement(POINT_SELECT, "", RISINGPY, _point_select(server, samples))
        yield Measurement(COPY, "", RISINGPY, _copy_rate(server, copy_rows_number))
    with tempfile.TemporaryDirectory() as directory:
        paths = {name: f"{directory}/{name}.duckdb" for name in ("insert", "select", "copy")}
        figures = run_job("duckdb_yardstick", "acknowledgement", path=paths["insert"], samples=samples)
        yield Measurement(ACKNOWLEDGED, "", DUCKDB, figures, note="in its own process")
        figures = run_job("duckdb_yardstick", "point_select", path=paths["select"], rows=ROWS_BEFORE, samples=samples)
        yield Measurement(POINT_SELECT, "", DUCKDB, figures, note="in its own process")
        csv = Path(directory) / "rows.csv"
        csv.write_bytes(csv_rows(copy_rows_number))
        figures = run_job("duckdb_yardstick", "copy", path=paths["copy"], csv=str(csv), rows=copy_rows_number)
        yield Measurement(COPY, "", DUCKDB, figures, note="from a file")


def _acknowledgement(server: ServerProcess, samples: int) -> dict[str, float]:
    """One INSERT of one row after the other, durable, with nobody reading; epochs run meanwhile."""
    with server.connect() as connection:
        connection.execute(f"CREATE TABLE acks {SMALL_TABLE}")
        connection.execute("FLUSH")
        return latency_figures(
            timed_calls(lambda number: connection.execute(f"INSERT INTO acks VALUES ({number}, 1)"), samples)
        )


def _point_select(server: ServerProcess, samples: int) -> dict[str, float]:
    """SELECT by primary key, each a text of its own, so that no plan is used twice."""
    with server.connect() as connection:
        connection.execute(f"CREATE TABLE points {SMALL_TABLE}")
        copy_rows(connection, "points", ROWS_BEFORE)
        connection.execute("FLUSH")

        def select(number: int) -> None:
            key = number * 97 % ROWS_BEFORE
            assert connection.execute(f"SELECT v FROM points WHERE k = {key}").fetchall() == [(key * 7,)]

        return latency_figures(timed_calls(select, samples))


def _copy_rate(server: ServerProcess, rows: int) -> dict[str, float]:
    with server.connect() as connection:
        connection.execute(f"CREATE TABLE copied {SMALL_TABLE}")
        connection.execute("FLUSH")
        with Meter(server.process.pid) as meter:
            seconds = copy_rows(connection, "copied", rows)
        connection.execute("FLUSH")
        return {"rows_per_second": rows / seconds} | meter.usage.figures()


def copy_rows(connection: Any, table: str, rows: int) -> float:
    """COPY of rows (k, 7 k) as CSV; the seconds until it was acknowledged."""
    block = csv_rows(rows)
    began = time.perf_counter()
    with connection.cursor().copy(f"COPY {table} FROM STDIN (FORMAT csv)") as copy:
        copy.write(block)
    return time.perf_counter() - began


def csv_rows(rows: int) -> bytes:
    """Rows (k, 7 k) with k from 0."""
    return "".join(f"{number},{number * 7}\n" for number in range(rows)).encode()
