"""ALTER TABLE on few rows and on many: no stored row is rewritten, so both take the same time.

The clock runs until the statement is answered: the table's epochs are drained, its job is replaced at a barrier, and
the new catalog is durable. A view reads the table, as it would in use.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks.measurement import RISINGPY, Measurement
from benchmarks.throughput import running_server

CASE = "alter"
COLUMNS = 9  # each is added and dropped once
ROWS_PER_COPY = 500_000


def measure(sizes: Sequence[int]) -> Iterator[Measurement]:
    """Our server, for each number of rows in the table."""
    for rows in sizes:
        figures, correct = run_server(rows)
        yield Measurement(CASE, f"{rows:,} rows", RISINGPY, figures, correct)


def run_server(rows: int) -> tuple[dict[str, float], bool]:
    """Medians of ADD COLUMN with a default and of DROP COLUMN, and whether every row had the default."""
    with running_server() as server, server.connect() as connection:
        connection.execute("CREATE TABLE t (id BIGINT PRIMARY KEY, g INT, v BIGINT)")
        connection.execute("CREATE MATERIALIZED VIEW m AS SELECT g, count(*) AS n, sum(v) AS s FROM t GROUP BY g")
        _load(connection, rows)
        adding = [_timed(connection, f"ALTER TABLE t ADD COLUMN c{i} INT DEFAULT {i}") for i in range(COLUMNS)]
        found = connection.execute(f"SELECT count(*) FROM t WHERE c{COLUMNS - 1} = {COLUMNS - 1}").fetchone()
        dropping = [_timed(connection, f"ALTER TABLE t DROP COLUMN c{i}") for i in range(COLUMNS)]
        counted = connection.execute("SELECT sum(n) FROM m").fetchone()
    figures = {"add_ms": statistics.median(adding) * 1000, "drop_ms": statistics.median(dropping) * 1000}
    return figures, (found, counted) == ((rows,), (rows,))


def _load(connection: Any, rows: int) -> None:
    for first in range(0, rows, ROWS_PER_COPY):
        last = min(first + ROWS_PER_COPY, rows)
        with connection.cursor().copy("COPY t FROM STDIN (FORMAT csv)") as copy:
            copy.write("".join(f"{i},{i % 100},{i}\n" for i in range(first, last)))
        connection.execute("FLUSH")


def _timed(connection: Any, statement: str) -> float:
    began = time.perf_counter()
    connection.execute(statement)
    return time.perf_counter() - began
