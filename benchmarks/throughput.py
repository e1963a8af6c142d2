"""Rows per second of the benchmark queries, by epoch size, beside DuckDB and plain Spark on the same rows.

One epoch is one file of bids, renamed into the directory of a file source: the next comes when the view shows the one
before. `q_retract` needs rows that can change, so its bids are a table's, written with COPY.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from benchmarks.nexmark import BID_COLUMNS, Generator
from benchmarks.process_tree import cpu_seconds, pss_bytes
from risingpy.server_process import ServerProcess

QUERIES = {
    "q_agg": "SELECT auction, count(*) AS bids, sum(price) AS total, max(price) AS highest FROM bid GROUP BY auction",
    "q_stateless": "SELECT auction, bidder, price * 908 / 1000 AS euros, channel, date_time FROM bid "
    "WHERE auction % 3 <> 0",
}
WARM_EPOCHS = 3


@dataclass(frozen=True, slots=True)
class Throughput:
    """One run. `slowdown`: mean time of the last fifth of the epochs over that of the first fifth."""

    query: str
    rows_per_epoch: int
    epochs: int
    rows_per_second: float
    rows_per_cpu_second: float
    epoch_ms_p50: float
    slowdown: float
    pss_mb: float
    duckdb_rows_per_second: float
    correct: bool


def prepare_epoch(table: pa.Table, directory: Path, number: int) -> None:
    """Writes the file of one epoch beside the source's directory."""
    with pa.OSFile(str(_ready(directory, number)), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


def release_epoch(connection: Any, directory: Path, number: int) -> None:
    """Moves the file to where the source finds it, and waits until the view has its rows."""
    os.rename(_ready(directory, number), directory / f"{number:06}.arrow")
    connection.execute("FLUSH")


def _ready(directory: Path, number: int) -> Path:
    return directory.parent / f"{number:06}.ready"


@contextmanager
def running_server(parallelism: int = 2) -> Iterator[ServerProcess]:
    with tempfile.TemporaryDirectory(prefix="risingpy-bench-") as directory:
        server = ServerProcess(Path(directory) / "data", parallelism=parallelism)
        try:
            yield server
        finally:
            server.stop()


def measure_source(query: str, rows_per_epoch: int, epochs: int) -> Throughput:
    """A query over a file source."""
    generator = Generator()
    total = epochs + WARM_EPOCHS
    blocks = [generator.bids(number, rows_per_epoch) for number in range(total)]
    with running_server() as server, tempfile.TemporaryDirectory(prefix="risingpy-bids-") as scratch:
        directory = Path(scratch) / "bid"
        directory.mkdir()
        with server.connect() as connection:
            connection.execute(
                f"CREATE SOURCE bid ({BID_COLUMNS}) WITH (connector = 'file', path = '{directory}/*.arrow')"
            )
            connection.execute(f"CREATE MATERIALIZED VIEW {query} AS {QUERIES[query]}")
            # Files are written beforehand: the clock runs from the rename to the commit.
            for number, block in enumerate(blocks):
                prepare_epoch(block, directory, number)
            for number in range(WARM_EPOCHS):
                release_epoch(connection, directory, number)
            times, cpu = [], cpu_seconds(server.process.pid)
            for number in range(WARM_EPOCHS, total):
                began = time.perf_counter()
                release_epoch(connection, directory, number)
                times.append(time.perf_counter() - began)
            cpu = cpu_seconds(server.process.pid) - cpu
            memory = pss_bytes(server.process.pid)
            correct = _same_answer(connection, query, blocks)
    return _summary(query, rows_per_epoch, times, cpu, memory, _duckdb_rate(query, blocks), correct)


def _summary(
    query: str, rows: int, times: list[float], cpu: float, memory: int, duckdb_rate: float, correct: bool
) -> Throughput:
    fifth = max(1, len(times) // 5)
    return Throughput(
        query=query,
        rows_per_epoch=rows,
        epochs=len(times),
        rows_per_second=rows * len(times) / sum(times),
        rows_per_cpu_second=rows * len(times) / cpu,
        epoch_ms_p50=statistics.median(times) * 1000,
        slowdown=statistics.mean(times[-fifth:]) / statistics.mean(times[:fifth]),
        pss_mb=memory / 2**20,
        duckdb_rows_per_second=duckdb_rate,
        correct=correct,
    )


def _duckdb_rate(query: str, blocks: list[pa.Table]) -> float:
    """DuckDB computing the whole answer once: what a full refresh of the view would cost per epoch."""
    connection = duckdb.connect()
    bid = pa.concat_tables(blocks)
    connection.register("bid", bid)
    began = time.perf_counter()
    connection.sql(_for_duckdb(QUERIES[query])).to_arrow_table()
    return bid.num_rows / (time.perf_counter() - began)


def _for_duckdb(query: str) -> str:
    return query.replace(" / ", " // ")


def _same_answer(connection: Any, query: str, blocks: list[pa.Table]) -> bool:
    sums = {
        "q_agg": "SELECT count(*), sum(bids), sum(total), sum(highest) FROM",
        "q_stateless": "SELECT count(*), sum(auction), sum(bidder), sum(euros) FROM",
    }[query]
    judge = duckdb.connect()
    judge.register("bid", pa.concat_tables(blocks))
    expected = judge.sql(f"{sums} ({_for_duckdb(QUERIES[query])})").fetchall()
    found = connection.execute(f"{sums} {query}").fetchall()
    return [int(value) for value in found[0]] == [int(value) for value in expected[0]]
