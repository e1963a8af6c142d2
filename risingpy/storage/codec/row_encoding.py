"""Column-aware rows, for tables and views (seed 002): ADD and DROP COLUMN touch no stored row.

    flags     1 byte      1000 WWBB
    N         W bytes     number of datums: one per column that is not NULL
    ids       W bytes × N column ids, ascending
    offsets   B bytes × (N-1)  where the 2nd, 3rd … datum starts, counted from the first's start
    datums                one after the other, as in `value_encoding` but strings without their length:
                          a datum ends where the next one, or the row, does

WW is 01, 10 or 11 if ids and N fit 1, 2 or 4 bytes (W); BB likewise for the offsets (B). All integers are
little-endian. A NULL column is absent, so a row looks as if columns added later were NULL in it.

    {id 1: 258 integer, id 2: NULL, id 3: 'ab'}     85 02 01 03 04 02010000 6162
    {id 300: true}                                  89 0100 2c01 01
    {}                                              85 00

The top bit tells these rows from plain ones (`value_encoding`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from risingpy.storage.codec.column_buffers import Bytes, CorruptData, Integers, Output, address, buffers_of
from risingpy.storage.codec.plain_columns import datum_width, datums_of, describe, gather, row_count
from risingpy.storage.kernels import row_writing
from risingpy.storage.kernels import rows as kernels
from risingpy.types import SqlType


def encode_rows(columns: Sequence[pa.Array], column_ids: Sequence[int], *, rows: int | None = None) -> pa.BinaryArray:
    """One column-aware row per row of `columns`; `rows` says how many if there are no columns.

    Ids are from 0 to 2³²-1, in any order, each once (ValueError).
    """
    if len(set(column_ids)) != len(column_ids) or any(not 0 <= column_id < 2**32 for column_id in column_ids):
        raise ValueError(f"column ids must be distinct and fit 32 bits: {list(column_ids)}")
    pairs = zip(column_ids, (datums_of(column) for column in columns), strict=True)
    by_id = sorted(pairs, key=lambda pair: pair[0])
    n = row_count([column for _, column in by_id], rows)
    described = describe(by_id)
    counts: Integers = np.empty(n, np.int64)
    flags: Bytes = np.empty(n, np.uint8)
    lengths: Integers = np.empty(n, np.int64)
    k = len(by_id)
    row_writing.measure_rows(address(described), k, n, address(counts), address(flags), address(lengths))
    output = Output(lengths)
    row_writing.write_rows(
        address(described), k, n, address(counts), address(flags), address(output.positions), output.data
    )
    return output.finish()


def decode_rows(values: pa.BinaryArray, wanted: Sequence[tuple[int, SqlType]]) -> list[pa.Array]:
    """The wanted columns, given as (column id, type).

    NULL where a row has no such column or is itself NULL. CorruptData if bytes are no such rows.
    """
    encoded = buffers_of(values)
    n = encoded.length
    positions: Integers = np.empty(n, np.int64)
    lengths: Integers = np.empty(n, np.int64)
    columns = []
    for column_id, sql_type in wanted:
        malformed = kernels.locate_column(
            encoded.data, encoded.offsets, encoded.validity, encoded.bit_offset, n, column_id,
            datum_width(sql_type.arrow), address(positions), address(lengths),
        )  # fmt: skip
        if malformed:
            raise CorruptData(f"{malformed} stored rows have no valid column {column_id} of type {sql_type}")
        columns.append(gather(encoded, sql_type.arrow, positions, lengths))
    return columns
