"""Headers of column-aware rows: units, and finding columns. Layout: `row_encoding`; `row_writing` writes them."""

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


@inlined
def unit_code(largest: int) -> int:
    """1, 2 or 3 for the fewest bytes (1, 2, 4) that hold `largest`."""
    if largest < 0x100:
        return 1
    return 2 if largest < 0x10000 else 3


@inlined
def unit(code: int) -> int:
    """Bytes of a unit of `code`."""
    return 1 << (code - 1)


@inlined
def store_unit(address: int, code: int, value: int) -> None:
    """Writes `value` in the fewest bytes that its code stands for: 1, 2 or 4."""
    if code == 1:
        store_u8(address, value)
    elif code == 2:
        store_u16(address, value)
    else:
        store_u32(address, value)


@inlined
def _load_unit(address: int, code: int) -> int:
    """The unsigned number in the unit of `code` at this address."""
    if code == 1:
        return load_u8(address)
    return load_u16(address) if code == 2 else load_u32(address)


@inlined
def _find(ids: int, code: int, count: int, column_id: int, hint: int) -> int:
    """The index of `column_id` among the sorted ids, or -1. `hint` is tried first."""
    if hint < count and _load_unit(ids + unit(code) * hint, code) == column_id:
        return hint
    low = 0
    high = count
    while low < high:
        middle = (low + high) >> 1
        if _load_unit(ids + unit(code) * middle, code) < column_id:
            low = middle + 1
        else:
            high = middle
    if low < count and _load_unit(ids + unit(code) * low, code) == column_id:
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
            if flag & MARK_MASK == MARK and id_code > 0 and flag & 3 > 0 and start + 1 + unit(id_code) <= end:
                count = _load_unit(data + start + 1, id_code)
            ids = start + 1 + unit(id_code)
            table = ids + unit(id_code) * count
            base = table + unit(flag & 3) * max(count - 1, 0)
            if count < 0 or base > end:
                malformed += 1
                count = 0
            index = _find(data + ids, id_code, count, column_id, hint)
            if index >= 0:
                hint = index
                found = base
                if index > 0:
                    found += _load_unit(data + table + unit(flag & 3) * (index - 1), flag & 3)
                stop = end
                if index + 1 < count:
                    stop = base + _load_unit(data + table + unit(flag & 3) * index, flag & 3)
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
        ids = data + start + 1 + unit(id_code)
        place = 0
        foreign = 0
        for k in range(count):
            column_id = _load_unit(ids + unit(id_code) * k, id_code)
            while place < known_count and load_i64(known + 8 * place) < column_id:
                place += 1
            if place == known_count or load_i64(known + 8 * place) != column_id:
                foreign = 1
        store_u8(found + i, foreign)
