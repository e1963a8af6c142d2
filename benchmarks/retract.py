"""q_retract: q_agg over a table with a primary key, of which a third of the rows is updated or deleted later.

Loads come with COPY over the wire, one COPY of `rows` rows an epoch. Changes are statements that hit `rows` rows each,
an UPDATE and a DELETE by turns. The clock of an epoch runs until FLUSH has answered, so CSV decoding, the durable log
and the epoch are all in it. Plain Spark cannot take changes of its input.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv

from benchmarks.measurement import DUCKDB, RISINGPY, Measurement, Meter, epoch_figures, slowdown
from benchmarks.nexmark import BID_COLUMNS, Generator
from benchmarks.queries import QUERIES
from benchmarks.throughput import check_sums, running_server
from benchmarks.yardstick_process import run_job

CASE = "q_retract"
LOADS_PER_CHANGE = 3  # so a third of the bids is changed


def changes(rows: int, loads: int) -> list[str]:
    """Statements that change `rows` rows each, together every third bid."""
    statements = []
    for number in range(loads // LOADS_PER_CHANGE):
        first = number * LOADS_PER_CHANGE * rows
        mine = f"id >= {first} AND id < {first + LOADS_PER_CHANGE * rows} AND id % {LOADS_PER_CHANGE} = 0"
        update = f"UPDATE bid SET price = price / 2 WHERE {mine}"
        statements.append(update if number % 2 == 0 else f"DELETE FROM bid WHERE {mine}")
    return statements


def measure(loads_by_rows: Mapping[int, int]) -> Iterator[Measurement]:
    """Our server and DuckDB, for each number of rows per epoch."""
    for rows, loads in loads_by_rows.items():
        variant = f"{rows:,} rows per epoch"
        statements = changes(rows, loads)
        with tempfile.TemporaryDirectory(prefix="risingpy-bids-") as directory:
            for number in range(loads):
                (Path(directory) / f"{number:06}.csv").write_bytes(csv_block(number, rows))
            theirs = run_job(
                "duckdb_yardstick", "retract", directory=directory, loads=loads, statements=statements, rows=rows
            )
            ours = run_server(Path(directory), loads, statements, rows)
        correct = _checks(ours) == _checks(theirs)
        yield Measurement(CASE, variant, RISINGPY, ours, correct)
        yield Measurement(CASE, variant, DUCKDB, theirs, note="recomputed in full")


def csv_block(number: int, rows: int) -> bytes:
    """One load: bids with ids."""
    bids = Generator().bids(number, rows)
    table = bids.add_column(0, "id", pa.array(range(number * rows, (number + 1) * rows), pa.int64()))
    sink = pa.BufferOutputStream()
    options = pyarrow.csv.WriteOptions(include_header=False, quoting_style="needed")
    pyarrow.csv.write_csv(table, sink, options)
    return bytes(sink.getvalue())


def run_server(directory: Path, loads: int, statements: list[str], rows: int) -> dict[str, float]:
    """Our server's figures, and the check sums of its view."""
    with running_server() as server, server.connect() as connection:
        connection.execute(f"CREATE TABLE bid (id BIGINT PRIMARY KEY, {BID_COLUMNS})")
        connection.execute(f"CREATE MATERIALIZED VIEW answer AS {QUERIES['q_agg']}")
        connection.execute("INSERT INTO bid VALUES (-1, 0, 0, 0, '', NULL)")
        connection.execute("DELETE FROM bid WHERE id = -1")
        connection.execute("FLUSH")
        with Meter(server.process.pid) as meter:
            copying, loading = [], []
            for number in range(loads):
                block = (directory / f"{number:06}.csv").read_bytes()
                began = time.perf_counter()
                copy_block(connection, block)
                copying.append(time.perf_counter() - began)
                connection.execute("FLUSH")
                loading.append(time.perf_counter() - began)
            changing = [_timed(connection, statement) for statement in statements]
        figures = epoch_figures(rows, loading + changing, meter.usage)
        figures |= {
            "slowdown": slowdown(loading),
            "copy_rows_per_second": rows * len(copying) / sum(copying),
            "load_rows_per_second": rows * len(loading) / sum(loading),
            "change_rows_per_second": rows * len(changing) / sum(changing),
        }
        return figures | check_sums(connection, "q_agg", "answer")


def copy_block(connection: Any, block: bytes) -> None:
    """One COPY, acknowledged on return."""
    with connection.cursor().copy("COPY bid FROM STDIN (FORMAT csv)") as copy:
        copy.write(block)


def _timed(connection: Any, statement: str) -> float:
    began = time.perf_counter()
    connection.execute(statement)
    connection.execute("FLUSH")
    return time.perf_counter() - began


def _checks(figures: Mapping[str, float]) -> dict[str, float]:
    return {name: value for name, value in figures.items() if name.startswith("check")}
