"""Writing rows of many columns, a row at a time: column-aware ones (`row_encoding`) and plain ones (`value_encoding`).

`columns` are k descriptions of 6 int64 each: column id, width (0: binary), offsets, validity, its first bit, data. Rows
are the outer loop, so a row is written from its first byte to its last, and nothing of it is kept in between.
"""

from __future__ import annotations

from risingpy.storage.kernels.compile import inlined, kernel
from risingpy.storage.kernels.datums import move
from risingpy.storage.kernels.memory import copy, is_valid, load_i32, load_i64, load_u8, store_i64, store_u8, store_u32
from risingpy.storage.kernels.rows import MARK, store_unit, unit, unit_code

COLUMN_WORDS = 6
_COLUMN_BYTES = 8 * COLUMN_WORDS


@inlined
def _length(column: int, row: int) -> int:
    """Bytes of a column's datum in a row, or -1 for NULL."""
    if not is_valid(load_i64(column + 24), load_i64(column + 32) + row):
        return -1
    width = load_i64(column + 8)
    if width == 0:
        offsets = load_i64(column + 16) + 4 * row
        width = load_i32(offsets + 4) - load_i32(offsets)
    return width


@inlined
def _write_datum(target: int, column: int, row: int, length: int) -> None:
    width = load_i64(column + 8)
    data = load_i64(column + 40)
    if width == 0:
        copy(target, data + load_i32(load_i64(column + 16) + 4 * row), length)
    else:
        move(target, data + width * row, width)


@kernel
def measure_rows(columns: int, k: int, n: int, counts: int, flags: int, lengths: int) -> None:
    """Column-aware rows: each one's number of datums, its flag byte (uint8), its whole length (int64)."""
    for i in range(n):
        count = 0
        size = 0
        last_offset = 0
        last_id = 0
        for c in range(k):
            column = columns + _COLUMN_BYTES * c
            length = _length(column, i)
            if length >= 0:
                count += 1
                last_offset = size
                last_id = load_i64(column)
                size += length
        # 256 columns with ids 0 to 255 do not fit a count of one byte.
        id_code = unit_code(max(last_id, count))
        offset_code = unit_code(last_offset)
        store_u8(flags + i, MARK | (id_code << 2) | offset_code)
        store_i64(counts + 8 * i, count)
        header = 1 + unit(id_code) * (count + 1) + unit(offset_code) * max(count - 1, 0)
        store_i64(lengths + 8 * i, header + size)


@kernel
def write_rows(columns: int, k: int, n: int, counts: int, flags: int, positions: int, out: int) -> None:
    """Column-aware rows: writes row i, which was measured, at `out + positions[i]`; `columns` ascend by id."""
    for i in range(n):
        count = load_i64(counts + 8 * i)
        flag = load_u8(flags + i)
        id_code = (flag >> 2) & 3
        offset_code = flag & 3
        row = out + load_i64(positions + 8 * i)
        store_u8(row, flag)
        store_unit(row + 1, id_code, count)
        ids = row + 1 + unit(id_code)
        table = ids + unit(id_code) * count
        first = table + unit(offset_code) * max(count - 1, 0)
        datum = first
        is_first = True
        for c in range(k):
            column = columns + _COLUMN_BYTES * c
            length = _length(column, i)
            if length < 0:
                continue
            store_unit(ids, id_code, load_i64(column))
            ids += unit(id_code)
            if not is_first:
                store_unit(table, offset_code, datum - first)
                table += unit(offset_code)
            is_first = False
            _write_datum(datum, column, i, length)
            datum += length


@kernel
def measure_plain_rows(columns: int, k: int, n: int, lengths: int) -> None:
    """Plain columns: adds a flag for each and the bytes of each datum to `lengths` (int64)."""
    for i in range(n):
        total = load_i64(lengths + 8 * i) + k
        for c in range(k):
            column = columns + _COLUMN_BYTES * c
            length = _length(column, i)
            if length >= 0:
                total += length
                if load_i64(column + 8) == 0:
                    total += 4
        store_i64(lengths + 8 * i, total)


@kernel
def write_plain_rows(columns: int, k: int, n: int, positions: int, out: int) -> None:
    """Plain columns, one after the other: writes row i at `out + positions[i]`."""
    for i in range(n):
        datum = out + load_i64(positions + 8 * i)
        for c in range(k):
            column = columns + _COLUMN_BYTES * c
            length = _length(column, i)
            if length < 0:
                store_u8(datum, 0)
                datum += 1
                continue
            store_u8(datum, 1)
            datum += 1
            if load_i64(column + 8) == 0:
                store_u32(datum, length)
                datum += 4
            _write_datum(datum, column, i, length)
            datum += length
