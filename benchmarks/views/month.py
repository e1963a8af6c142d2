"""A month of events by their own time: how much state grows from the third day on, where it ends.

Events come in order, in epochs of six hours. Rows of `t` end after a day, without a word to views. Windows and sessions
end when the watermark, an hour behind, has passed them; rows of an interval join when no match can come any more.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.measurement import RISINGPY, Measurement, Meter
from benchmarks.throughput import running_server

CASE = "month"
_DAYS, _EPOCHS_OF_DAY = 31, 4
_SETTLED = 3  # days: by then, a day's rows have ended for the first time
_TABLES = (
    "CREATE TABLE t (k INT, v INT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL '1 day' WITH TTL)",
    "CREATE TABLE a (k INT, v INT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL '1 hour') APPEND ONLY",
    "CREATE TABLE b (k INT, v INT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL '1 hour') APPEND ONLY",
)
_VIEWS = {
    "rows of a day": "SELECT date_trunc('hour', ts) AS h, count(*) AS n, max(v) AS v FROM t GROUP BY 1",
    "windows": "SELECT k, window_start, count(*) AS n, max(v) AS v FROM TUMBLE(a, ts, INTERVAL '1 hour') "
    "GROUP BY k, window_start EMIT ON WINDOW CLOSE",
    "interval join": "SELECT a.k, a.ts, b.v FROM a JOIN b "
    "ON a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + INTERVAL '10 minutes'",
    "sessions": "SELECT k, ts, count(*) OVER (PARTITION BY k ORDER BY ts SESSION WITH GAP INTERVAL '2 minutes') AS n "
    "FROM a EMIT ON WINDOW CLOSE",
}


def measure(rows_of_day: int) -> Iterator[Measurement]:
    """Each view alone, with so many rows a day in each table."""
    for name, query in _VIEWS.items():
        with running_server() as server, server.connect() as connection:
            for table in _TABLES:
                connection.execute(table)
            connection.execute(f"CREATE MATERIALIZED VIEW kept AS {query}")
            with Meter(server.process.pid) as meter:
                sizes = [_day(connection, day, rows_of_day) for day in range(_DAYS)]
            early, late = max(sizes[:_SETTLED]), max(sizes[_SETTLED:])
            figures = {"early_kb": early / 1024, "late_kb": late / 1024, "growth": late / early}
            yield Measurement(CASE, variant(name, rows_of_day), RISINGPY, figures | meter.usage.figures())


def variant(name: str, rows_of_day: int) -> str:
    """What is measured of a view."""
    return f"{name}, {rows_of_day:,} rows a day"


def _day(connection: Any, day: int, rows: int) -> int:
    """Adds a day's events; returns the bytes of state after it."""
    for part in range(_EPOCHS_OF_DAY):
        _insert(connection, day * _EPOCHS_OF_DAY + part, rows // _EPOCHS_OF_DAY)
    return _state_bytes(connection)


def _insert(connection: Any, number: int, rows: int) -> None:
    seconds = 86_400 / _EPOCHS_OF_DAY
    time = f"TIMESTAMP '2024-01-01' + ({number * seconds} + n * {seconds / rows}) * INTERVAL '1 second'"
    for table in ("t", "a", "b"):
        query = f"SELECT n % 97, n, {time} FROM generate_series(0, {rows - 1}) n"
        connection.execute(f"INSERT INTO {table} {query}")
    connection.execute("FLUSH")


def _state_bytes(connection: Any) -> int:
    """The bytes of keys and values of all tables of state, and of the rows of `t`."""
    (size,) = connection.execute(
        "SELECT sum(total_key_size + total_value_size)::bigint FROM rw_catalog.rw_table_stats WHERE id NOT IN "
        "(SELECT id FROM rw_catalog.rw_tables WHERE name <> 't' UNION SELECT id FROM rw_catalog.rw_materialized_views)"
    ).fetchone()
    return int(size)
