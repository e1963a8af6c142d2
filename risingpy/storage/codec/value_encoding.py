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
| timestamp_ns                       | 8: nanoseconds                                   | 00:00:01   00ca9a3b00000000 |
| interval                           | 16: months (4), days (4), nanoseconds (8)        | 1 mon      01000000 00…     |
| numeric without declared digits    | as bytea: 42 of `types.wide_numeric`             | 1      2a000000 01 00…      |
| texts, bytea, uuid, rw_int256      | here a u32 length, then the bytes                | 'ab'   02000000 6162        |
| array, struct, map                 | likewise; the bytes are those of `plain_columns` | {1}    05000000 01 01000000 |

So (258 integer, NULL, 'ab') is `02 01 02010000 00 01 02000000 6162`. The first byte is below 80, which a
column-aware row's never is (`row_encoding`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from risingpy.storage.codec.column_buffers import (
    Bytes,
    ColumnBuffers,
    CorruptData,
    Integers,
    address,
    buffers_of,
    fixed_array,
)
from risingpy.storage.codec.plain_columns import datum_width, encode_columns, read_column, refuse_unfinished
from risingpy.storage.kernels import datums

VERSION_BYTE = 2
FEW_ROWS = 64  # up to here a column's own kernels, which gain nothing from other columns, cost more by their calls


def encode_values(columns: Sequence[pa.Array], *, rows: int | None = None) -> pa.BinaryArray:
    """One plain row per row of `columns`; `rows` says how many if there are no columns."""
    return encode_columns(columns, rows=rows, prefix=VERSION_BYTE)


def decode_values(values: pa.BinaryArray, types: Sequence[pa.DataType]) -> list[pa.Array]:
    """The columns of plain rows, in their Arrow types.

    A NULL row gives NULL in each; CorruptData if bytes are no such rows.
    """
    encoded = buffers_of(values)
    n = encoded.length
    widths = [datum_width(each) for each in types]
    if n <= FEW_ROWS and 0 not in widths:
        return _decode_fixed(encoded, types, widths)
    positions: Integers = np.empty(n, np.int64)
    rows = encoded.data, encoded.offsets, encoded.validity, encoded.bit_offset, n
    wrong = datums.read_first_bytes(VERSION_BYTE, *rows, address(positions))
    if wrong:
        raise CorruptData(f"{wrong} stored values have no version byte {VERSION_BYTE:02x}")
    columns = [read_column(encoded, wanted, positions) for wanted in types]
    refuse_unfinished(encoded, positions, "a stored value is longer than its columns")
    return columns


def _decode_fixed(encoded: ColumnBuffers, types: Sequence[pa.DataType], widths: Sequence[int]) -> list[pa.Array]:
    """The same of a few rows of columns of fixed width, by one kernel instead of two for each column."""
    n = encoded.length
    outs: list[tuple[Bytes, Bytes]] = [(np.empty(n * width, np.uint8), np.empty(n, np.uint8)) for width in widths]
    words = [(width, address(out), address(valid)) for width, (out, valid) in zip(widths, outs, strict=True)]
    described = np.array(words, np.int64)
    malformed = datums.read_fixed_rows(
        VERSION_BYTE, encoded.data, encoded.offsets, encoded.validity, encoded.bit_offset, n,
        address(described), len(words),
    )  # fmt: skip
    if malformed:
        raise CorruptData(f"{malformed} stored values are not of the version {VERSION_BYTE:02x} and their columns")
    return [fixed_array(type_, out, valid) for type_, (out, valid) in zip(types, outs, strict=True)]
