"""Value encoding: moving datums from columns into rows and back. Layouts: `value_encoding`.

A datum is a column's bytes as Arrow has them: fixed-width ones little-endian, strings bare. `positions` are
int64, one per row; -1 where the row has no such datum.
"""

from __future__ import annotations

from risingpy.storage.kernels.compile import inlined, kernel
from risingpy.storage.kernels.memory import (
    copy,
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


@kernel
def write_first_bytes(byte: int, n: int, out: int, positions: int) -> None:
    """Writes `byte` at every position and moves it on."""
    for i in range(n):
        position = load_i64(positions + 8 * i)
        store_u8(out + position, byte)
        store_i64(positions + 8 * i, position + 1)


@kernel
def read_first_bytes(byte: int, data: int, offsets: int, validity: int, bit_offset: int, n: int, positions: int) -> int:
    """Sets `positions` after each row's first byte; returns how many of the rows that are there have another one."""
    wrong = 0
    for i in range(n):
        start = load_i32(offsets + 4 * i)
        if is_valid(validity, bit_offset + i):
            empty = load_i32(offsets + 4 * i + 4) == start
            if empty or load_u8(data + start) != byte:
                wrong += 1
        store_i64(positions + 8 * i, start + 1)
    return wrong


@kernel
def count_unfinished(ends: int, validity: int, bit_offset: int, n: int, positions: int) -> int:
    """How many of the rows that are there do not end at their position; `ends` are Arrow offsets."""
    unfinished = 0
    for i in range(n):
        if is_valid(validity, bit_offset + i) and load_i64(positions + 8 * i) != load_i32(ends + 4 * i):
            unfinished += 1
    return unfinished


@kernel
def read_flags(
    data: int, ends: int, n: int, width: int, validity: int, bit_offset: int, positions: int, starts: int, lengths: int
) -> int:
    """Plain rows: takes a column off each, with its flag; returns the number of malformed rows.

    `width` is 0 for a binary column, whose `lengths` (int64) are set. A row that `validity` marks as
    missing reads as NULL.
    """
    malformed = 0
    for i in range(n):
        start = -1
        length = 0
        if is_valid(validity, bit_offset + i):
            position = load_i64(positions + 8 * i)
            end = load_i32(ends + 4 * i)
            flag = load_u8(data + position) if position < end else 2
            position += 1
            if flag == 1:
                length = width
                if width == 0 and position + 4 <= end:
                    length = load_u32(data + position)
                    position += 4
                elif width == 0:
                    length = end  # more than there can be
                start = position
                position += length
            if flag > 1 or position > end:
                malformed += 1
                start = -1
                length = 0
                position = end
            store_i64(positions + 8 * i, position)
        store_i64(starts + 8 * i, start)
        if width == 0:
            store_i64(lengths + 8 * i, length)
    return malformed


@inlined
def move(target: int, source: int, width: int) -> None:
    """Copies one fixed-width datum."""
    if width == 8:
        store_i64(target, load_i64(source))
    elif width == 4:
        store_u32(target, load_u32(source))
    elif width == 16:
        store_i64(target, load_i64(source))
        store_i64(target + 8, load_i64(source + 8))
    elif width == 2:
        store_u16(target, load_u16(source))
    else:
        store_u8(target, load_u8(source))


@kernel
def read_fixed_rows(
    first_byte: int, data: int, offsets: int, validity: int, bit_offset: int, n: int, columns: int, k: int
) -> int:
    """Plain rows of k columns of fixed width, all at once: for small batches, which calls cost more than rows.

    `columns` are k descriptions of 3 int64 each: width, where the datums go (0 where missing), where a byte for each
    goes that tells whether it is there. Returns how many rows are malformed. Rows that `validity` marks as missing
    have NULL in each column.
    """
    malformed = 0
    for i in range(n):
        there = is_valid(validity, bit_offset + i)
        position = load_i32(offsets + 4 * i)
        end = load_i32(offsets + 4 * i + 4)
        wrong = 0
        if there:
            if position == end or load_u8(data + position) != first_byte:
                wrong = 1
                position = end
            else:
                position += 1
        for c in range(k):
            width = load_i64(columns + 24 * c)
            target = load_i64(columns + 24 * c + 8) + width * i
            flag = 0
            if there:
                flag = load_u8(data + position) if position < end else 2
                position += 1
                if flag > 1 or (flag == 1 and position + width > end):
                    wrong = 1
                    flag = 0
                    position = end
            store_u8(load_i64(columns + 24 * c + 16) + i, flag)
            if flag == 1:
                move(target, data + position, width)
                position += width
            else:
                for b in range(width):
                    store_u8(target + b, 0)
        if there and position != end:
            wrong = 1
        malformed += wrong
    return malformed


@kernel
def gather_fixed(data: int, positions: int, width: int, n: int, out: int, valid: int) -> int:
    """Reads datums of 1, 2, 4, 8 or 16 bytes into `out`, 0 where missing; returns how many are missing."""
    missing = 0
    for i in range(n):
        position = load_i64(positions + 8 * i)
        target = out + width * i
        if position >= 0:
            move(target, data + position, width)
            store_u8(valid + i, 1)
        else:
            missing += 1
            store_u8(valid + i, 0)
            for k in range(width):
                store_u8(target + k, 0)
    return missing


@kernel
def gather_binary(data: int, positions: int, offsets: int, n: int, out: int, valid: int) -> int:
    """Reads byte strings into `out` at the Arrow `offsets`; returns how many are missing."""
    missing = 0
    for i in range(n):
        position = load_i64(positions + 8 * i)
        store_u8(valid + i, position >= 0)
        if position >= 0:
            offset = load_i32(offsets + 4 * i)
            copy(out + offset, data + position, load_i32(offsets + 4 * i + 4) - offset)
        else:
            missing += 1
    return missing


@inlined
def _item_end(data: int, position: int, end: int, width: int) -> int:
    """Where the item at `position` ends: flag, length if `width` is 0, datum. -1 if it is malformed."""
    flag = load_u8(data + position)
    position += 1
    if flag == 1:
        if width == 0:
            if position + 4 > end:
                return -1
            width = load_u32(data + position)
            position += 4
        position += width
    if flag > 1 or position > end:
        return -1
    return position


@kernel
def count_items(
    data: int, offsets: int, validity: int, bit_offset: int, n: int, even_width: int, odd_width: int, counts: int
) -> int:
    """Arrays: how many items each row has, whose widths alternate (the keys and values of a map); 0 for NULL.

    Returns the number of malformed rows.
    """
    malformed = 0
    for i in range(n):
        count = 0
        if is_valid(validity, bit_offset + i):
            position = load_i32(offsets + 4 * i)
            end = load_i32(offsets + 4 * i + 4)
            while 0 <= position < end:
                position = _item_end(data, position, end, odd_width if count & 1 else even_width)
                count += 1
            if position < 0:
                malformed += 1
                count = 0
        store_i64(counts + 8 * i, count)
    return malformed


@kernel
def locate_items(
    data: int, offsets: int, validity: int, bit_offset: int, n: int,
    even_width: int, odd_width: int, starts: int, lengths: int,
) -> None:  # fmt: skip
    """Arrays: where the datum of each counted item starts (-1: NULL), and its number of bytes."""
    item = 0
    for i in range(n):
        if not is_valid(validity, bit_offset + i):
            continue
        position = load_i32(offsets + 4 * i)
        end = load_i32(offsets + 4 * i + 4)
        count = 0
        while position < end:
            width = odd_width if count & 1 else even_width
            following = _item_end(data, position, end, width)
            if load_u8(data + position) == 0:
                start = -1
                length = 0
            else:
                start = position + 1 if width else position + 5
                length = following - start
            store_i64(starts + 8 * item, start)
            store_i64(lengths + 8 * item, length)
            item += 1
            count += 1
            position = following
