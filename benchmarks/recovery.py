"""Back after `kill -9`: a view with one group per key over a file source, killed in the middle of an epoch.

The state is that view's: so many groups, each in the aggregates' state tables and in the view's own. DuckDB opens its
database file and recomputes the query; plain Spark starts again from its checkpoint, and is ready when the next
micro-batch is done.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.epoch_files import ARROW, release_epoch, write_epochs
from benchmarks.measurement import DUCKDB, MEBIBYTE, RISINGPY, SPARK, Measurement
from benchmarks.queries import PER_KEY
from benchmarks.throughput import running_server
from benchmarks.yardstick_process import run_job
from risingpy.server_process import ServerProcess

RECOVERY = "recovery"
ROWS_PER_FILE = 500_000
MOMENT_SECONDS = 0.15  # from the last file's appearance to the kill: the epoch has begun and is not over


def measure(states: Sequence[int], *, spark: bool) -> Iterator[Measurement]:
    """Every engine, for each number of groups."""
    for rows in states:
        variant = f"{rows:,} rows of state"
        with tempfile.TemporaryDirectory(prefix="risingpy-recovery-") as name:
            directory = Path(name)
            files = write_epochs(events(rows), directory) - 1
            figures, correct = run_server(directory, files, rows)
            yield Measurement(RECOVERY, variant, RISINGPY, figures, correct)
            path = str(directory / "yardstick.duckdb")
            run_job("duckdb_yardstick", "save_events", path=path, directory=name, files=files)
            figures = run_job("duckdb_yardstick", "recover", path=path)
            yield Measurement(RECOVERY, variant, DUCKDB, figures, note="recomputed in full")
            if spark:
                yield _measure_spark(directory, files, variant)


def _measure_spark(directory: Path, files: int, variant: str) -> Measurement:
    same = {"state": str(directory / "spark"), "directory": str(directory), "files": files}
    run_job("spark_yardstick", "save_events", **same)
    return Measurement(
        RECOVERY, variant, SPARK, run_job("spark_yardstick", "recover", **same), note="from its checkpoint"
    )


def events(rows: int) -> Iterator[pa.Table]:
    """Files in which each key comes once, and one more file of keys that are already there."""
    size = min(ROWS_PER_FILE, rows)
    for first in range(0, rows, size):
        keys = np.arange(first, min(first + size, rows), dtype=np.int64)
        yield pa.table({"k": keys, "v": keys % 1000})
    again = np.arange(0, rows, max(1, rows // size), dtype=np.int64)
    yield pa.table({"k": again, "v": np.ones(len(again), np.int64)})


def run_server(directory: Path, files: int, rows: int) -> tuple[dict[str, float], bool]:
    """Loads all files but the last, kills the server while it takes the last, starts it again."""
    inbox, data_dir = directory / "inbox", directory / "data"
    inbox.mkdir()
    server = ServerProcess(data_dir, parallelism=2)
    try:
        load_seconds = _load(server, directory, inbox, files)
        release_epoch(directory, files, ARROW, inbox)
        time.sleep(MOMENT_SECONDS)
    finally:
        server.kill()
    size = sum(path.stat().st_blocks * 512 for path in data_dir.rglob("*") if path.is_file())
    with running_server(data_dir, warm=False) as server, server.connect() as connection:
        connection.execute("SELECT n FROM per_key WHERE k = 7").fetchall()
        first_query = time.monotonic() - server.started
        connection.execute("FLUSH")
        first_epoch = time.monotonic() - server.started
        correct = _is_right(connection, rows)
    return {
        "accepting_seconds": server.ready_seconds,
        "first_query_seconds": first_query,
        "first_epoch_seconds": first_epoch,
        "load_seconds": load_seconds,
        "disk_mb": size / MEBIBYTE,
    }, correct


def _load(server: ServerProcess, directory: Path, inbox: Path, files: int) -> float:
    with server.connect() as connection:
        connection.execute(
            f"CREATE SOURCE events (k BIGINT, v BIGINT) WITH (connector = 'file', path = '{inbox}/*.arrow')"
        )
        connection.execute(f"CREATE MATERIALIZED VIEW per_key AS {PER_KEY}")
        began = time.monotonic()
        for number in range(files):
            release_epoch(directory, number, ARROW, inbox)
            connection.execute("FLUSH")
        return time.monotonic() - began


def _is_right(connection: Any, rows: int) -> bool:
    """Every event counted exactly once, those of the killed epoch too."""
    tables = list(events(rows))
    expected = (
        rows,
        sum(table.num_rows for table in tables),
        sum(int(np.sum(table.column("v").to_numpy())) for table in tables),
    )
    row = connection.execute("SELECT count(*), sum(n), sum(s) FROM per_key").fetchone()
    return tuple(int(value) for value in row) == expected
