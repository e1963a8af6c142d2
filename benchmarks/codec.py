"""Nanoseconds per row of the storage codecs: `python benchmarks/codec.py [rows]`.

CPU time of this thread, so that other work on the machine counts for less; the median of seven runs.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from risingpy import types
from risingpy.storage.codec.group_keys import group_rows, sort_indices
from risingpy.storage.codec.key_encoding import compute_vnodes, decode_keys, encode_keys
from risingpy.storage.codec.row_encoding import decode_rows, encode_rows
from risingpy.storage.codec.table_schema import KeyColumn, TableColumn, TableSchema, ValueFormat
from risingpy.storage.codec.value_encoding import decode_values, encode_values
from risingpy.types import SqlType

ROWS = 200_000
RUNS = 7

Columns = Sequence[tuple[SqlType, pa.Array]]


def nanoseconds(run: Callable[[], object], rows: int) -> float:
    """CPU time of a run, per row."""
    samples = []
    for _ in range(RUNS):
        start = time.thread_time_ns()
        run()
        samples.append((time.thread_time_ns() - start) / rows)
    return statistics.median(samples)


def columns_of(rows: int) -> dict[str, tuple[SqlType, pa.Array]]:
    """One column per type, and some with NULLs."""
    random = np.random.default_rng(7)
    numbers = random.integers(-(2**62), 2**62, rows)
    nulls = random.random(rows) < 0.1
    texts = [f"customer-{number % 10 ** (4 + number % 12):d}" for number in numbers.tolist()]
    intervals = [pa.MonthDayNano([n % 24, n % 31, n % 10**12 * 1000]) for n in numbers.tolist()]
    return {
        "boolean": (types.BOOLEAN, pa.array(numbers % 2 == 0)),
        "smallint": (types.SMALLINT, pa.array(numbers.astype(np.int16))),
        "integer": (types.INTEGER, pa.array(numbers.astype(np.int32))),
        "bigint": (types.BIGINT, pa.array(numbers)),
        "bigint, 10% NULL": (types.BIGINT, pa.array(numbers, mask=nulls)),
        "real": (types.REAL, pa.array(numbers.astype(np.float32))),
        "double": (types.DOUBLE, pa.array(numbers / 7.0)),
        "numeric(20,2)": (
            types.numeric(20, 2),
            pa.array(numbers // 1000).cast(pa.decimal128(20, 0)).view(pa.decimal128(20, 2)),
        ),
        "varchar": (types.VARCHAR, pa.array(texts)),
        "varchar, 10% NULL": (types.VARCHAR, pa.array(np.array(texts, object), pa.string(), mask=nulls)),
        "bytea with zeros": (
            types.BYTEA,
            pa.array([number.to_bytes(16, "big", signed=True) for number in numbers.tolist()]),
        ),
        "timestamp": (types.TIMESTAMP, pa.array(numbers).view(pa.timestamp("us"))),
        "interval": (types.INTERVAL, pa.array(intervals, pa.month_day_nano_interval())),
    }


def schema_of(columns: Columns, descending: bool) -> TableSchema:
    return TableSchema(
        table_id=1,
        name="t",
        columns=tuple(TableColumn(i, f"c{i}", type_) for i, (type_, _) in enumerate(columns)),
        key=tuple(KeyColumn(i, descending) for i in range(len(columns))),
        distribution=(),
        value_columns=(),
        value_format=ValueFormat.PLAIN,
    )


def line(name: str, *figures: float) -> None:
    print(f"{name:<28}" + "".join(f"{figure:>9.1f}" for figure in figures))


def heading(name: str, *columns: str) -> None:
    print(f"\n{name:<28}" + "".join(f"{column:>9}" for column in columns))


def time_keys(name: str, columns: Columns, rows: int, *, descending: bool = False) -> None:
    """Encoding, decoding, vnodes, sorting and grouping of one kind of key."""
    schema = schema_of(columns, descending)
    arrays = [array for _, array in columns]
    vnodes = compute_vnodes(arrays, rows)
    keys = encode_keys(schema, arrays, vnodes)
    line(
        name,
        nanoseconds(lambda: encode_keys(schema, arrays, vnodes), rows),
        nanoseconds(lambda: decode_keys(schema, keys), rows),
        nanoseconds(lambda: compute_vnodes(arrays, rows), rows),
        nanoseconds(lambda: sort_indices(keys), rows),
        nanoseconds(lambda: group_rows(keys), rows),
        len(keys.buffers()[2]) / rows,
    )


def time_rows(name: str, columns: Columns, rows: int) -> None:
    """Both row encodings of one kind of row."""
    column_types = [type_ for type_, _ in columns]
    arrays = [array for _, array in columns]
    ids = range(1, len(arrays) + 1)
    wanted = list(zip(ids, column_types, strict=True))
    stored, plain = encode_rows(arrays, ids), encode_values(arrays)
    line(
        name,
        nanoseconds(lambda: encode_rows(arrays, ids), rows),
        nanoseconds(lambda: decode_rows(stored, wanted), rows),
        nanoseconds(lambda: decode_rows(stored, wanted[-1:]), rows),
        len(stored.buffers()[2]) / rows,
        nanoseconds(lambda: encode_values(arrays), rows),
        nanoseconds(lambda: decode_values(plain, column_types), rows),
        len(plain.buffers()[2]) / rows,
    )


def start_seconds() -> float:
    """Seconds for a fresh process to import and load everything, from a warm cache."""
    program = "from risingpy.storage import kernels; kernels.load(); import time; print(time.process_time())"
    return min(float(subprocess.check_output([sys.executable, "-c", program])) for _ in range(3))


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    columns = columns_of(rows)
    print(f"{rows} rows; ns per row. A process that loads the kernels: {start_seconds():.2f} s of CPU")
    heading("keys", "encode", "decode", "vnode", "sort", "group", "bytes")
    for name, column in columns.items():
        time_keys(name, [column], rows)
    time_keys("bigint DESC", [columns["bigint"]], rows, descending=True)
    time_keys("bigint, bigint", [columns["bigint"]] * 2, rows)
    time_keys("bigint, varchar", [columns["bigint"], columns["varchar"]], rows)
    five = [columns[name] for name in ("bigint", "integer", "varchar", "timestamp", "numeric(20,2)")]
    nulls = [columns[name] for name in ("bigint, 10% NULL", "integer", "varchar, 10% NULL", "timestamp", "boolean")]
    heading("rows", "encode", "decode", "1 column", "bytes", "plain enc", "plain dec", "bytes")
    time_rows("bigint", [columns["bigint"]], rows)
    time_rows("five columns", five, rows)
    time_rows("five columns, 10% NULL", nulls, rows)
    small = {name: (type_, array.slice(0, 100)) for name, (type_, array) in columns.items()}
    heading("100 rows", "encode", "decode", "vnode", "sort", "group", "bytes")
    time_keys("bigint, varchar", [small["bigint"], small["varchar"]], 100)


if __name__ == "__main__":
    main()
