"""Rows per second of q_agg and q_stateless over a file source, by epoch size, compared with DuckDB and plain Spark.

One epoch is one file of bids. The next file appears when the view shows the one before. FLUSH returns at that
time: everything that the source had is then committed and readable.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.epoch_files import FORMATS, PARQUET, release_epoch, write_epochs
from benchmarks.measurement import DUCKDB, RISINGPY, SPARK, Measurement, Meter, epoch_figures
from benchmarks.nexmark import BID_COLUMNS, Generator
from benchmarks.queries import CHECKS, QUERIES
from benchmarks.yardstick_process import run_job
from risingpy.server_process import ServerProcess

WARM_EPOCHS = 4
SPARK_ENGINE, IN_PROCESS = "spark", "inprocess"


@contextmanager
def running_server(
    data_dir: Path | None = None, *, engine: str = SPARK_ENGINE, warm: bool = True, flags: Sequence[str] = ()
) -> Iterator[ServerProcess]:
    """A server on two shards, stopped at the end; without a directory it gets one that is deleted then.

    `warm`: Spark has started.
    """
    with tempfile.TemporaryDirectory(prefix="risingpy-bench-") as directory:
        server = ServerProcess(data_dir or Path(directory) / "data", parallelism=2, engine=engine, flags=flags)
        try:
            if warm and engine == SPARK_ENGINE:
                server.wait_for_spark()
            yield server
        finally:
            server.stop()


@contextmanager
def epochs_on_disk(rows: int, epochs: int) -> Iterator[Path]:
    """A directory with the files of `epochs` blocks of bids, and those of the warm epochs before them."""
    with tempfile.TemporaryDirectory(prefix="risingpy-bids-") as directory:
        write_epochs((Generator().bids(number, rows) for number in range(WARM_EPOCHS + epochs)), Path(directory))
        yield Path(directory)


def measure(
    query: str, epochs_by_rows: Mapping[int, int], *, spark: bool, engine: str = SPARK_ENGINE
) -> Iterator[Measurement]:
    """Every engine on the same files, for each number of rows per epoch; `engine` is the one that our server runs."""
    for rows, epochs in epochs_by_rows.items():
        with epochs_on_disk(rows, epochs) as directory:
            yield from _measure_size(query, directory, rows, WARM_EPOCHS + epochs, engine)
            if spark:
                yield _measure_spark(query, directory, rows, WARM_EPOCHS + epochs)


def _measure_size(query: str, directory: Path, rows: int, total: int, engine: str) -> Iterator[Measurement]:
    variant = f"{rows:,} rows per epoch"
    same = {"query": query, "directory": str(directory), "epochs": total}
    expected = _checks(run_job("duckdb_yardstick", "expected", **same))
    for file_format in FORMATS:
        figures = run_server(query, directory, rows, total, file_format, engine=engine)
        note = file_format if engine == SPARK_ENGINE else f"{file_format}, engine in process"
        yield Measurement(query, variant, RISINGPY, figures, _checks(figures) == expected, note=note)
    figures = run_job("duckdb_yardstick", "throughput", **same, warm=WARM_EPOCHS)
    yield Measurement(query, variant, DUCKDB, figures, _checks(figures) == expected, note="arrow, recomputed in full")


def _measure_spark(query: str, directory: Path, rows: int, total: int) -> Measurement:
    same = {"query": query, "directory": str(directory), "epochs": total}
    figures = run_job("spark_yardstick", "throughput", **same, warm=WARM_EPOCHS, rows=rows)
    return Measurement(query, f"{rows:,} rows per epoch", SPARK, figures, note=f"{PARQUET}, its own operators")


def run_server(
    query: str,
    directory: Path,
    rows: int,
    total: int,
    file_format: str,
    *,
    engine: str = SPARK_ENGINE,
    flags: Sequence[str] = (),
) -> dict[str, float]:
    """Our server's figures, and the check sums of its view as `check0`, …"""
    # On the same disk as the files: they come as hard links.
    inboxes = tempfile.TemporaryDirectory(dir=directory, prefix="inbox-")
    with running_server(engine=engine, flags=flags) as server, inboxes as name:
        inbox = Path(name)
        with server.connect() as connection:
            create_view(connection, query, inbox, file_format)

            def epoch(number: int) -> float:
                began = time.perf_counter()
                release_epoch(directory, number, file_format, inbox)
                connection.execute("FLUSH")
                return time.perf_counter() - began

            for number in range(WARM_EPOCHS):
                epoch(number)
            with Meter(server.process.pid) as meter:
                seconds = [epoch(number) for number in range(WARM_EPOCHS, total)]
            figures = epoch_figures(rows, seconds, meter.usage)
            return figures | check_sums(connection, query, query)


def create_view(connection: Any, query: str, inbox: Path, file_format: str) -> None:
    """The source `bid` over a directory, and the view of the query's name over it."""
    connection.execute(
        f"CREATE SOURCE bid ({BID_COLUMNS}) "
        f"WITH (connector = 'file', path = '{inbox}/*.{file_format}', format = '{file_format}')"
    )
    connection.execute(f"CREATE MATERIALIZED VIEW {query} AS {QUERIES[query]}")


def check_sums(connection: Any, query: str, view: str) -> dict[str, float]:
    """The check sums of a view, as figures `check0`, …"""
    row = connection.execute(f"{CHECKS[query]} {view}").fetchone()
    return {f"check{position}": int(value) for position, value in enumerate(row)}


def _checks(figures: Mapping[str, float]) -> dict[str, float]:
    return {name: value for name, value in figures.items() if name.startswith("check")}
