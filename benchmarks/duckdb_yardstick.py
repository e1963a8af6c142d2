"""DuckDB doing the same work by recomputing the query in full: `python -m benchmarks.duckdb_yardstick JOB …`.

It gets what the server gets (two threads, the same files, the same statements), and its tables are in a database file
where the server's figure includes durability. See `yardstick_process` for how a job is called.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from benchmarks.epoch_files import read_arrow
from benchmarks.join import AUCTION_COLUMNS, changes, first_auctions
from benchmarks.measurement import Meter, epoch_figures, latency_figures, slowdown, timed_calls
from benchmarks.nexmark import BID_COLUMNS
from benchmarks.queries import CHECKS, JOIN_CHECK, JOIN_QUERY, PER_KEY, QUERIES, SMALL_TABLE, SMALL_VIEW, for_duckdb
from benchmarks.yardstick_process import answer, seconds_since_start

THREADS = 2  # as the server's shards


def connect(path: str = ":memory:") -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(path)
    connection.execute(f"SET threads = {THREADS}")
    return connection


def sums(query: str, relation: str, connection: duckdb.DuckDBPyConnection) -> dict[str, float]:
    """The check sums of a query's answer, as figures `check0`, …"""
    row = connection.execute(f"{CHECKS[query]} {relation}").fetchone()
    assert row is not None
    return {f"check{position}": int(value) for position, value in enumerate(row)}


def throughput(query: str, directory: str, epochs: int, warm: int) -> dict[str, float]:
    """Each epoch: appends the file's rows to a table in memory, and recomputes the view from the whole table."""
    connection = connect()
    connection.execute(f"CREATE TABLE bid ({BID_COLUMNS})")
    refresh = f"CREATE OR REPLACE TABLE answer AS {for_duckdb(QUERIES[query])}"

    def epoch(number: int) -> int:
        chunk = read_arrow(Path(directory), number)
        connection.execute("INSERT INTO bid SELECT * FROM chunk")
        connection.execute(refresh)
        return int(chunk.num_rows)

    for number in range(warm):
        epoch(number)
    seconds, rows = [], 0
    with Meter(os.getpid()) as meter:
        for number in range(warm, epochs):
            began = time.perf_counter()
            rows = epoch(number)
            seconds.append(time.perf_counter() - began)
    return epoch_figures(rows, seconds, meter.usage) | sums(query, "answer", connection)


def expected(query: str, directory: str, epochs: int) -> dict[str, float]:
    """The check sums of the answer over the first `epochs` files, without a clock."""
    connection = connect()
    files = [str(Path(directory) / f"{number:06}.parquet") for number in range(epochs)]
    connection.execute(f"CREATE VIEW bid AS SELECT * FROM read_parquet({files})")
    return sums(query, f"({for_duckdb(QUERIES[query])})", connection)


def retract(directory: str, loads: int, statements: list[str], rows: int) -> dict[str, float]:
    """The table with a primary key in a database file: loads from CSV, then changes, each followed by a refresh."""
    path = Path(directory) / "yardstick.duckdb"
    connection = connect(str(path))
    connection.execute(f"CREATE TABLE bid (id BIGINT PRIMARY KEY, {BID_COLUMNS})")
    refresh = f"CREATE OR REPLACE TABLE answer AS {for_duckdb(QUERIES['q_agg'])}"

    def timed(statement: str) -> float:
        began = time.perf_counter()
        connection.execute(statement)
        connection.execute(refresh)
        return time.perf_counter() - began

    with Meter(os.getpid()) as meter:
        loading = [timed(f"COPY bid FROM '{directory}/{number:06}.csv' (HEADER false)") for number in range(loads)]
        changing = [timed(for_duckdb(statement)) for statement in statements]
    figures = epoch_figures(rows, loading + changing, meter.usage)
    figures |= {"slowdown": slowdown(loading), "load_rows_per_second": rows * len(loading) / sum(loading)}
    figures |= {"change_rows_per_second": rows * len(changing) / sum(changing)}
    return figures | sums("q_agg", "answer", connection)


def join(directory: str, epochs: int, warm: int) -> dict[str, float]:
    """Each epoch: the statements, the file's rows appended to a table in memory, and the join recomputed."""
    connection = connect()
    connection.execute(f"CREATE TABLE bid ({BID_COLUMNS})")
    connection.execute(f"CREATE TABLE auction ({AUCTION_COLUMNS})")
    connection.execute(first_auctions())

    def epoch(number: int) -> int:
        for statement in changes(number):
            connection.execute(statement)
        chunk = read_arrow(Path(directory), number)
        connection.execute("INSERT INTO bid SELECT * FROM chunk")
        connection.execute(f"CREATE OR REPLACE TABLE answer AS {JOIN_QUERY}")
        return int(chunk.num_rows)

    for number in range(warm):
        epoch(number)
    seconds, rows = [], 0
    with Meter(os.getpid()) as meter:
        for number in range(warm, epochs):
            began = time.perf_counter()
            rows = epoch(number)
            seconds.append(time.perf_counter() - began)
    row = connection.execute(f"{JOIN_CHECK} answer").fetchone()
    assert row is not None
    checks = {f"check{position}": int(value) for position, value in enumerate(row)}
    return epoch_figures(rows, seconds, meter.usage) | checks


@contextmanager
def small_tables(
    path: str, tables: int, views: int, rows: int
) -> Iterator[tuple[duckdb.DuckDBPyConnection, list[str]]]:
    """Tables t0, t1, … with `rows` rows in a database file, and the statements that refresh the views over t0."""
    connection = connect(path)
    for number in range(tables):
        connection.execute(f"CREATE TABLE t{number} {SMALL_TABLE}")
    connection.execute(f"INSERT INTO t0 SELECT range, range * 7 FROM range({rows})")
    refresh = [
        f"CREATE OR REPLACE TABLE v{number} AS {SMALL_VIEW.format(table='t0')}" for number in range(0, views, tables)
    ]
    yield connection, refresh
    connection.close()


def freshness(path: str, tables: int, views: int, rows: int, samples: int) -> dict[str, float]:
    """One INSERT, then every view over its table recomputed, and the answer read."""
    with small_tables(path, tables, views, rows) as (connection, refresh):

        def insert_and_see(number: int) -> None:
            connection.execute(f"INSERT INTO t0 VALUES ({rows + number}, 1)")
            for statement in refresh:
                connection.execute(statement)
            connection.execute("SELECT sum(n) FROM v0").fetchone()

        return latency_figures(timed_calls(insert_and_see, samples))


def acknowledgement(path: str, samples: int) -> dict[str, float]:
    """One INSERT of one row, durable."""
    with small_tables(path, 1, 0, 0) as (connection, _):
        return latency_figures(
            timed_calls(lambda number: connection.execute(f"INSERT INTO t0 VALUES ({number}, 1)"), samples)
        )


def point_select(path: str, rows: int, samples: int) -> dict[str, float]:
    """SELECT of one row by its primary key."""
    with small_tables(path, 1, 0, rows) as (connection, _):
        return latency_figures(
            timed_calls(
                lambda number: connection.execute(f"SELECT v FROM t0 WHERE k = {number * 97 % rows}").fetchall(),
                samples,
            )
        )


def copy(path: str, csv: str, rows: int) -> dict[str, float]:
    """COPY of a CSV file into a table with a primary key."""
    with small_tables(path, 1, 0, 0) as (connection, _), Meter(os.getpid()) as meter:
        began = time.perf_counter()
        connection.execute(f"COPY t0 FROM '{csv}' (HEADER false)")
        seconds = time.perf_counter() - began
    return {"rows_per_second": rows / seconds} | meter.usage.figures()


def start_up() -> dict[str, float]:
    """From the process's start to a first query's answer."""
    connect().execute("SELECT 1").fetchone()
    return {"first_query_seconds": seconds_since_start()}


def save_events(path: str, directory: str, files: int) -> dict[str, float]:
    """Loads the events into a database file, and ends without closing it."""
    connection = connect(path)
    connection.execute("CREATE TABLE events (k BIGINT, v BIGINT)")
    for number in range(files):
        chunk = read_arrow(Path(directory), number)
        connection.execute("INSERT INTO events SELECT * FROM chunk")
        del chunk
    return {}


def recover(path: str) -> dict[str, float]:
    """Opens the file that `save_events` left, and recomputes the query in full."""
    connection = connect(path)
    connection.execute(f"CREATE OR REPLACE TABLE per_key AS {PER_KEY}")
    connection.execute("SELECT n FROM per_key WHERE k = 7").fetchall()
    return {"first_query_seconds": seconds_since_start()}


JOBS = {
    job.__name__: job
    for job in (
        throughput,
        expected,
        retract,
        join,
        freshness,
        acknowledgement,
        point_select,
        copy,
        start_up,
        save_events,
        recover,
    )
}

if __name__ == "__main__":
    answer(JOBS)
