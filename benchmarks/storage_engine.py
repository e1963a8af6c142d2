"""What the state store and the write-ahead log cost on this machine's disk.

    python -m benchmarks.storage_engine [DIRECTORY]

Rows: key bigint (ascending or random) distributed by itself, values bigint, bigint, varchar of 12 bytes. Each
figure is the median of several epochs, in µs per row, on a table that grows from epoch to epoch.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from risingpy.storage.codec.table_schema import KeyColumn, TableColumn, TableSchema, ValueFormat
from risingpy.storage.engine.read_views import StateStore
from risingpy.storage.engine.shard_store import ShardStore
from risingpy.storage.engine.storage_table import StorageTable
from risingpy.storage.log.write_ahead_log import LogRecord, WriteAheadLog
from risingpy.types import BIGINT, VARCHAR

SCHEMA = TableSchema(
    table_id=1,
    name="bench",
    columns=(
        TableColumn(1, "k", BIGINT),
        TableColumn(2, "a", BIGINT),
        TableColumn(3, "b", BIGINT),
        TableColumn(4, "c", VARCHAR),
    ),
    key=(KeyColumn(0),),
    distribution=(0,),
    value_columns=(1, 2, 3),
    value_format=ValueFormat.ROW,
)


def seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def rows_of(keys: np.ndarray, value: int) -> list[pa.Array]:
    numbers = pa.array(np.full(len(keys), value))
    return [pa.array(keys), numbers, numbers, pa.array(np.full(len(keys), f"text {value:07}"))]


def measure_epochs(directory: Path, rows: int, epochs: int) -> None:
    """Inserts of new keys, then updates of random keys that exist, after reading them."""
    store = ShardStore(directory / "shards" / "0", shard=0, shards=1)
    random = np.random.default_rng(1)
    ones = np.ones(rows, np.int8)
    figures: dict[str, list[float]] = {}
    for epoch in range(1, 2 * epochs + 1):
        inserts = epoch <= epochs
        known = epochs * rows
        keys = np.arange((epoch - 1) * rows, epoch * rows) if inserts else random.integers(0, known, rows)
        kind = "insert" if inserts else "update"
        columns = rows_of(keys, epoch)
        with store.begin(epoch, 0) as transaction:
            table = transaction.state_table(SCHEMA)
            if not inserts:
                took = seconds(lambda: table.get_rows([pa.array(keys)]))  # noqa: B023
                figures.setdefault("get_rows", []).append(took)
            figures.setdefault(f"{kind}: apply", []).append(seconds(lambda: table.apply(ones, columns)))  # noqa: B023
            figures.setdefault(f"{kind}: commit", []).append(seconds(transaction.commit))
    for name, samples in figures.items():
        print(f"  {rows:>9,} rows  {name:<16} {statistics.median(samples) / rows * 1e6:7.3f} µs/row")
    print(f"  {rows:>9,} rows  file {store.size_bytes / (epochs * rows):.0f} bytes per stored row")
    store.close()
    measure_scan(directory, 2 * epochs, epochs * rows)


def measure_scan(directory: Path, epoch: int, rows: int) -> None:
    state = StateStore(directory, 1)
    view = state.open_read_view(epoch)
    table = StorageTable(SCHEMA, view)
    for columns in ([1], [0, 1, 2, 3]):
        took = seconds(lambda: sum(batch.num_rows for batch in table.scan(columns)))  # noqa: B023
        print(f"  {rows:>9,} rows  scan of {len(columns)} columns {took / rows * 1e6:7.3f} µs/row")
    key = [pa.array([5])]
    lookup = statistics.median(seconds(lambda: table.get_rows(key, SCHEMA.value_columns)) for _ in range(500))
    print(f"  {'':>9}       point lookup      {lookup * 1e6:7.1f} µs")
    view.release()
    state.close()


def run_together(crowd: list[threading.Thread]) -> None:
    for thread in crowd:
        thread.start()
    for thread in crowd:
        thread.join()


def measure_log(directory: Path) -> None:
    log = WriteAheadLog(directory / "log")
    one = pa.table({"op": pa.array([1], pa.int8()), **{f"c{i}": c for i, c in enumerate(rows_of(np.arange(1), 1))}})
    samples = [seconds(lambda: log.append([LogRecord.of(1, 1, one)])) for _ in range(1000)]
    samples.sort()
    print(f"  1 row, 1 thread    p50 {samples[500] * 1e3:.3f} ms, p99 {samples[990] * 1e3:.3f} ms")
    for threads in (8, 64):
        first = log.last_lsn
        crowd = [
            threading.Thread(target=lambda: [log.append([LogRecord.of(1, 1, one)]) for _ in range(100)])
            for _ in range(threads)
        ]
        took = seconds(partial(run_together, crowd))
        print(f"  1 row, {threads} threads  {(log.last_lsn - first) / took:,.0f} appends/s")
    first = log.last_lsn
    took = seconds(lambda: [record.table() for record in log.read(0, first)])
    print(f"  read 1-row records {took / first * 1e6:.1f} µs each")
    many = pa.table(
        {"op": pa.array(np.ones(1_000_000, np.int8))}
        | {f"c{i}": c for i, c in enumerate(rows_of(np.arange(1_000_000), 1))}
    )
    took = seconds(lambda: log.append([LogRecord.of(1, 1, many)]))
    print(f"  1,000,000 rows     append {took * 1e3:.0f} ms, {many.nbytes / took / 1e6:.0f} MB/s")
    last = log.last_lsn
    took = seconds(lambda: [record.table() for record in log.read(last - 1, last)])
    print(f"  1,000,000 rows     read {took * 1e3:.0f} ms")
    log.close()


def main() -> None:
    base = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    directory = Path(tempfile.mkdtemp(dir=base))
    try:
        print("write-ahead log")
        measure_log(directory)
        for rows, epochs in ((10_000, 9), (200_000, 5), (1_000_000, 3)):
            print(f"state table, epochs of {rows:,} rows")
            measure_epochs(directory / str(rows), rows, epochs)
    finally:
        shutil.rmtree(directory)


if __name__ == "__main__":
    main()
