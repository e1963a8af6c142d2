"""Plain rows, for internal state: a version byte, then each column in order.

    02 | column …        column: 00 for NULL, or 01 and the datum

A datum is the column's value as Arrow holds it, little-endian:

| type                               | bytes                                            | example                     |
|------------------------------------|--------------------------------------------------|-----------------------------|
| boolean                            | 1                                                | true   01                   |
| smallint / integer / bigint        | 2 / 4 / 8                                        | 258    0201 / 02010000 / …  |
| real / double precision            | 4 / 8: IEEE, every bit kept                      | 1.5    0000c03f             |
| numeric                            | 16: unscaled; the scale is the type's            | 1.00 of numeric(5,2) 64 00… |
| date                               | 4: days since 1970-01-01                         | 1970-01-02 01000000         |
| time, timestamp, timestamptz       | 8: microseconds                                  | 00:00:01   40420f0000000000 |
| interval                           | 16: months (4), days (4), nanoseconds (8)        | 1 mon      01000000 00…     |
| varchar, bytea                     | here a u32 length, then the bytes                | 'ab'   02000000 6162        |

So (258 integer, NULL, 'ab') is `02 01 02010000 00 01 02000000 6162`. The first byte is below 80, which a
column-aware row's never is (`row_encoding`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from risingpy.storage.column_buffers import (
    BinaryOutput,
    Bytes,
    ColumnBuffers,
    CorruptData,
    Form,
    Integers,
    Output,
    address,
    buffers_of,
    fixed_array,
    physical,
)
from risingpy.storage.kernels import datums, key_reading, sizing
from risingpy.types import SqlType

VERSION_BYTE = 2


def encode_values(columns: Sequence[pa.Array], *, rows: int | None = None) -> pa.BinaryArray:
    """One plain row per row of `columns`; `rows` says how many if there are no columns."""
    buffers = [buffers_of(column) for column in columns]
    n = row_count(buffers, rows)
    output = _plain_room(buffers, n)
    data = np.frombuffer(output.buffer, np.uint8)
    data[output.positions] = VERSION_BYTE
    output.positions += 1
    targets: Integers = np.empty(n, np.int64)
    for column in buffers:
        datums.write_flags(
            column.validity, column.bit_offset, n, column.width, column.offsets,
            output.data, address(output.positions), address(targets),
        )  # fmt: skip
        scatter(column, output, targets)
    return output.finish()


def decode_values(values: pa.BinaryArray, types: Sequence[SqlType]) -> list[pa.Array]:
    """The columns of plain rows. A NULL row gives NULL in each; CorruptData if bytes are no such rows."""
    encoded = buffers_of(values)
    n = encoded.length
    positions: Integers = np.empty(n, np.int64)
    key_reading.start_positions(encoded.offsets, n, 0, address(positions))
    _check_version(encoded, positions)
    columns = [_read_column(encoded, wanted.arrow, positions) for wanted in types]
    if ((positions != encoded.ends) & encoded.present).any():
        raise CorruptData("a stored value is longer than its columns")
    return columns


def row_count(buffers: Sequence[ColumnBuffers], rows: int | None) -> int:
    """The number of rows that all columns have; ValueError if they differ or nothing tells it."""
    counts = {column.length for column in buffers} | ({rows} if rows is not None else set())
    if len(counts) != 1:
        raise ValueError(f"columns of different lengths, or no columns and no row count: {sorted(counts)}")
    return counts.pop()


def scatter(column: ColumnBuffers, output: Output, targets: Integers) -> None:
    """Writes a column's datums at `targets` (-1: none) of `output`."""
    if column.form is Form.BINARY:
        datums.scatter_binary(column.data, column.offsets, column.length, output.data, address(targets))
    else:
        datums.scatter_fixed(column.data, column.width, column.length, output.data, address(targets))


def gather(encoded: ColumnBuffers, arrow_type: pa.DataType, starts: Integers, lengths: Integers) -> pa.Array:
    """A column of the datums at `starts` (-1: NULL); `lengths` count for binary columns only."""
    width = physical(arrow_type).width
    n = encoded.length
    valid: Bytes = np.empty(n, np.uint8)
    if width == 0:
        output = BinaryOutput(arrow_type, lengths)
        missing = datums.gather_binary(encoded.data, address(starts), output.offsets, n, output.data, address(valid))
        return output.finish(valid, missing)
    out: Bytes = np.empty(n * width, np.uint8)
    missing = datums.gather_fixed(encoded.data, address(starts), width, n, address(out), address(valid))
    return fixed_array(arrow_type, out, valid, missing)


def _plain_room(buffers: Sequence[ColumnBuffers], n: int) -> Output:
    lengths: Integers = np.full(n, 1 + len(buffers), np.int64)
    for column in buffers:
        if column.form is Form.BINARY:
            sizing.add_binary_lengths(
                column.offsets, column.data, column.validity, column.bit_offset, n, 4, 0, address(lengths)
            )
        elif column.validity:
            sizing.add_fixed_lengths(column.validity, column.bit_offset, n, column.width, address(lengths))
        else:
            lengths += column.width
    return Output(lengths)


def _check_version(encoded: ColumnBuffers, positions: Integers) -> None:
    """Moves past the version byte of each row that is there."""
    present = encoded.present
    starts = positions[present]
    if not len(starts):
        return
    if (starts >= encoded.ends[present]).any():
        raise CorruptData("a stored value is empty")
    if (np.frombuffer(encoded.owner.buffers()[2], np.uint8)[starts] != VERSION_BYTE).any():
        raise CorruptData(f"a stored value has no version byte {VERSION_BYTE:02x}")
    positions += 1


def _read_column(encoded: ColumnBuffers, arrow_type: pa.DataType, positions: Integers) -> pa.Array:
    n = encoded.length
    starts: Integers = np.empty(n, np.int64)
    lengths: Integers = np.empty(n, np.int64)
    malformed = datums.read_flags(
        encoded.data, encoded.offsets + 4, n, physical(arrow_type).width, encoded.validity, encoded.bit_offset,
        address(positions), address(starts), address(lengths),
    )  # fmt: skip
    if malformed:
        raise CorruptData(f"{malformed} stored values have no valid column of type {arrow_type}")
    return gather(encoded, arrow_type, starts, lengths)
