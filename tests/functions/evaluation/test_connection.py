"""What connections to DuckDB have in common."""

from __future__ import annotations

import os
import subprocess
import sys

from risingpy.functions.evaluation.duckdb_connection import connect, joins_by_bounds

_PROGRAM = """
from risingpy.functions.evaluation.duckdb_connection import connect
print(connect().cursor().execute("SELECT timestamptz '2026-07-01 12:00:00+00'::timestamp").fetchall())
"""


def test_cursors_have_utc_wherever_the_server_is() -> None:
    """A cursor does not inherit what SET has said to its connection: casts of timestamptz took the machine's zone."""
    environment = {**os.environ, "TZ": "America/New_York"}
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM], env=environment, capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.strip() == "[(datetime.datetime(2026, 7, 1, 12, 0),)]"


def test_queries_that_compare_bounds_sort_their_sides_and_others_do_not() -> None:
    asked = "EXPLAIN SELECT * FROM a JOIN b ON a.low <= b.high AND b.low <= a.high -- "
    with connect() as connection, connection.cursor() as cursor:
        for side in "ab":
            cursor.execute(f"CREATE TABLE {side} AS SELECT i AS low, i + 1 AS high FROM range(3) t(i)")
        for function in ("range_low", "lower", "range_low", "lower"):
            with joins_by_bounds(cursor, asked + function):
                (plan,) = cursor.execute(asked).fetchall()
            assert ("IE Join" in plan[1]) is (function == "range_low")
