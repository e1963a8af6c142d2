"""Headers of column-aware rows. Layout: `row_encoding`.

A row's header depends on all its columns, so that writing takes two passes over the columns, in order of
their ids: `tally_*` counts, `size_rows` and `write_headers` lay out, `place_column` fills in.
The per-row state is int64: `counts` of datums, `sizes` of the datums so far, `last_offsets` and `last_ids`
of the last datum.
"""

from __future__ import annotations

from risingpy.storage.kernels.compile import inlined, kernel
from risingpy.storage.kernels.memory import (
    is_valid,
    load_i32,
    load_i64,
    load_u8,
    load_u16,
    load_u32,
    store_i64,
    store_u8,
    store_u16,
    store_u32,
)

MARK = 0x80
MARK_MASK = 0xF0


@kernel
def tally_column(
    column_id: int, width: int, offsets: int, validity: int, bit_offset: int, n: int,
    counts: int, sizes: int, last_offsets: int, last_ids: int,
) -> None:  # fmt: skip
    """Counts one column in; `width` is 0 for a binary one, whose lengths `offsets` tell."""
    for i in range(n):
        if is_valid(validity, bit_offset + i):
            size = load_i64(sizes + 8 * i)
            length = width
            if width == 0:
                length = load_i32(offsets + 4 * i + 4) - load_i32(offsets + 4 * i)
            store_i64(counts + 8 * i, load_i64(counts + 8 * i) + 1)
            store_i64(last_offsets + 8 * i, size)
            store_i64(last_ids + 8 * i, column_id)
            store_i64(sizes + 8 * i, size + length)


@inlined
def _unit_code(largest: int) -> int:
    """1, 2 or 3 for the fewest bytes (1, 2, 4) that hold `largest`."""
    if largest < 0x100:
        return 1
    return 2 if largest < 0x10000 else 3


@inlined
def _unit(code: int) -> int:
    """Bytes of a unit of `code`."""
    return 1 << (code - 1)


@inlined
def _store_unit(address: int, code: int, value: int) -> None:
    if code == 1:
        store_u8(address, value)
    elif code == 2:
        store_u16(address, value)
    else:
        store_u32(address, value)


@inlined
def _load_unit(address: int, code: int) -> int:
    if code == 1:
        return load_u8(address)
    return load_u16(address) if code == 2 else load_u32(address)


@kernel
def size_rows(n: int, counts: int, sizes: int, last_offsets: int, last_ids: int, flags: int, lengths: int) -> None:
    """Sets each row's flag byte in `flags`, and its whole length in `lengths` (int64)."""
    for i in range(n):
        count = load_i64(counts + 8 * i)
        # 256 columns with ids 0 to 255 do not fit a count of one byte.
        id_code = _unit_code(max(load_i64(last_ids + 8 * i), count))
        offset_code = _unit_code(load_i64(last_offsets + 8 * i))
        store_u8(flags + i, MARK | (id_code << 2) | offset_code)
        header = 1 + _unit(id_code) * (count + 1) + _unit(offset_code) * max(count - 1, 0)
        store_i64(lengths + 8 * i, header + load_i64(sizes + 8 * i))


@kernel
def write_headers(n: int, counts: int, flags: int, positions: int, out: int, bases: int) -> None:
    """Writes flags and counts at `positions`; sets `bases[i]` to where the datums start."""
    for i in range(n):
        count = load_i64(counts + 8 * i)
        flag = load_u8(flags + i)
        position = load_i64(positions + 8 * i)
        id_code = (flag >> 2) & 3
        store_u8(out + position, flag)
        _store_unit(out + position + 1, id_code, count)
        header = 1 + _unit(id_code) * (count + 1) + _unit(flag & 3) * max(count - 1, 0)
        store_i64(bases + 8 * i, position + header)


@kernel
def place_column(
    column_id: int, width: int, offsets: int, validity: int, bit_offset: int, n: int, counts: int, flags: int,
    starts: int, bases: int, written: int, filled: int, out: int, targets: int,
) -> None:  # fmt: skip
    """Writes one column's id and offset into each row's header; `targets[i]` is its datum's place or -1.

    `starts` are the rows' starts, `written` and `filled` the datums and their bytes so far (int64, 0 at first).
    """
    for i in range(n):
        if not is_valid(validity, bit_offset + i):
            store_i64(targets + 8 * i, -1)
            continue
        flag = load_u8(flags + i)
        id_code = (flag >> 2) & 3
        index = load_i64(written + 8 * i)
        size = load_i64(filled + 8 * i)
        ids = out + load_i64(starts + 8 * i) + 1 + _unit(id_code)
        _store_unit(ids + _unit(id_code) * index, id_code, column_id)
        if index > 0:
            first_offset = ids + _unit(id_code) * load_i64(counts + 8 * i)
            _store_unit(first_offset + _unit(flag & 3) * (index - 1), flag & 3, size)
        length = width
        if width == 0:
            length = load_i32(offsets + 4 * i + 4) - load_i32(offsets + 4 * i)
        store_i64(targets + 8 * i, load_i64(bases + 8 * i) + size)
        store_i64(written + 8 * i, index + 1)
        store_i64(filled + 8 * i, size + length)


@inlined
def _find(ids: int, code: int, count: int, column_id: int, hint: int) -> int:
    """The index of `column_id` among the sorted ids, or -1. `hint` is tried first."""
    if hint < count and _load_unit(ids + _unit(code) * hint, code) == column_id:
        return hint
    low = 0
    high = count
    while low < high:
        middle = (low + high) >> 1
        if _load_unit(ids + _unit(code) * middle, code) < column_id:
            low = middle + 1
        else:
            high = middle
    if low < count and _load_unit(ids + _unit(code) * low, code) == column_id:
        return low
    return -1


@kernel
def locate_column(
    data: int, offsets: int, validity: int, bit_offset: int, n: int, column_id: int, width: int,
    positions: int, lengths: int,
) -> int:  # fmt: skip
    """Finds one column's datum in each row: its position in `data` or -1, and its length (both int64).

    `width` is 0 for a binary column. Returns the number of malformed rows. A row that `validity` marks as
    missing has no datums.
    """
    malformed = 0
    hint = 0
    for i in range(n):
        found = -1
        length = 0
        if is_valid(validity, bit_offset + i):
            start = load_i32(offsets + 4 * i)
            end = load_i32(offsets + 4 * i + 4)
            flag = load_u8(data + start) if start + 2 <= end else 0
            id_code = (flag >> 2) & 3
            count = -1
            if flag & MARK_MASK == MARK and id_code > 0 and flag & 3 > 0 and start + 1 + _unit(id_code) <= end:
                count = _load_unit(data + start + 1, id_code)
            ids = start + 1 + _unit(id_code)
            table = ids + _unit(id_code) * count
            base = table + _unit(flag & 3) * max(count - 1, 0)
            if count < 0 or base > end:
                malformed += 1
                count = 0
            index = _find(data + ids, id_code, count, column_id, hint)
            if index >= 0:
                hint = index
                found = base
                if index > 0:
                    found += _load_unit(data + table + _unit(flag & 3) * (index - 1), flag & 3)
                stop = end
                if index + 1 < count:
                    stop = base + _load_unit(data + table + _unit(flag & 3) * index, flag & 3)
                length = stop - found
                if length < 0 or stop > end or (width > 0 and length != width):
                    malformed += 1
                    found = -1
                    length = 0
        store_i64(positions + 8 * i, found)
        store_i64(lengths + 8 * i, length)
    return malformed


@kernel
def find_foreign_ids(data: int, offsets: int, n: int, known: int, known_count: int, found: int) -> None:
    """Sets `found[i]` (uint8) to whether a row has a column that is not among the `known` ids (int64, ascending)."""
    for i in range(n):
        start = load_i32(offsets + 4 * i)
        id_code = (load_u8(data + start) >> 2) & 3
        count = _load_unit(data + start + 1, id_code)
        ids = data + start + 1 + _unit(id_code)
        place = 0
        foreign = 0
        for k in range(count):
            column_id = _load_unit(ids + _unit(id_code) * k, id_code)
            while place < known_count and load_i64(known + 8 * place) < column_id:
                place += 1
            if place == known_count or load_i64(known + 8 * place) != column_id:
                foreign = 1
        store_u8(found + i, foreign)
