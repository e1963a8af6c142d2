"""Reading memcomparable keys: each kernel takes one column off every row. Layouts: `key_encoding`.

`positions` (int64, one per row) say where in `data` the row goes on; each kernel moves them past what it
read. `ends` are the Arrow offsets of the rows' ends. `valid` gets a byte per row: 1 or, for NULL, 0. A
kernel returns the number of rows that are no keys of such a column; their values mean nothing.
"""

from __future__ import annotations

from risingpy.storage.kernels.compile import inlined, kernel
from risingpy.storage.kernels.keys import DAY_NANOS, SIGN_32, VALUE_TAG
from risingpy.storage.kernels.memory import (
    SIGN,
    copy_flipped,
    load_i32,
    load_i64,
    load_u8,
    load_u16,
    load_u32,
    store_i64,
    store_u8,
    store_u16,
    store_u32,
    swap_bytes,
    trailing_zeros,
    zero_bytes,
)


@kernel
def start_positions(offsets: int, n: int, skip: int, positions: int) -> None:
    """`offsets[i] + skip` as int64."""
    for i in range(n):
        store_i64(positions + 8 * i, load_i32(offsets + 4 * i) + skip)


@inlined
def _is_value(data: int, ends: int, width: int, null_tag: int, positions: int, valid: int, i: int) -> int:
    """Reads row i's tag: 1 for a value whose `width` bytes are there, 0 for NULL, -1 for neither."""
    position = load_i64(positions + 8 * i)
    end = load_i32(ends + 4 * i)
    store_u8(valid + i, 0)
    if position >= end:
        return -1
    tag = load_u8(data + position)
    if tag == VALUE_TAG:
        if position + 1 + width > end:
            return -1
        store_i64(positions + 8 * i, position + 1 + width)
        store_u8(valid + i, 1)
        return 1
    store_i64(positions + 8 * i, position + 1)
    return 0 if tag == null_tag else -1


@kernel
def read_integers(
    data: int, ends: int, n: int, width: int, null_tag: int, flip: int, positions: int, out: int, valid: int
) -> int:
    """Reads integers of `width` bytes (1, 2, 4 or 8) to `out`; 0 for NULL. `flip` is -1 if it descends, else 0."""
    malformed = 0
    for i in range(n):
        source = data + load_i64(positions + 8 * i) + 1
        state = _is_value(data, ends, width, null_tag, positions, valid, i)
        if state < 0:
            malformed += 1
        number = 0
        if width == 8:
            if state > 0:
                number = swap_bytes(load_i64(source)) ^ SIGN ^ flip
            store_i64(out + 8 * i, number)
        elif width == 4:
            if state > 0:
                number = (swap_bytes(load_u32(source)) >> 32) ^ SIGN_32 ^ flip
            store_u32(out + 4 * i, number)
        elif width == 2:
            if state > 0:
                number = (swap_bytes(load_u16(source)) >> 48) ^ 0x8000 ^ flip
            store_u16(out + 2 * i, number)
        else:
            if state > 0:
                number = load_u8(source) ^ flip
            store_u8(out + i, number)
    return malformed


@kernel
def read_floats(
    data: int, ends: int, n: int, width: int, null_tag: int, flip: int, positions: int, out: int, valid: int
) -> int:
    """Reads IEEE floats of `width` bytes (4 or 8) to `out`, without the change of bits that orders them; 0 for NULL."""
    malformed = 0
    for i in range(n):
        source = data + load_i64(positions + 8 * i) + 1
        state = _is_value(data, ends, width, null_tag, positions, valid, i)
        if state < 0:
            malformed += 1
        bits = 0
        if width == 8:
            if state > 0:
                bits = swap_bytes(load_i64(source)) ^ flip
                bits ^= (~bits >> 63) | SIGN
            store_i64(out + 8 * i, bits)
        else:
            if state > 0:
                bits = (swap_bytes(load_u32(source)) >> 32) ^ flip
                bits ^= ((~bits << 32) >> 63) | SIGN_32
            store_u32(out + 4 * i, bits)
    return malformed


@kernel
def read_decimals(data: int, ends: int, n: int, null_tag: int, flip: int, positions: int, out: int, valid: int) -> int:
    """Reads integers of 128 bits to `out` as Arrow holds them: the low half first; 0 for NULL."""
    malformed = 0
    for i in range(n):
        source = data + load_i64(positions + 8 * i) + 1
        state = _is_value(data, ends, 16, null_tag, positions, valid, i)
        if state < 0:
            malformed += 1
        if state > 0:
            store_i64(out + 16 * i + 8, swap_bytes(load_i64(source)) ^ SIGN ^ flip)
            store_i64(out + 16 * i, swap_bytes(load_i64(source + 8)) ^ flip)
        else:
            store_i64(out + 16 * i, 0)
            store_i64(out + 16 * i + 8, 0)
    return malformed


@kernel
def read_intervals(data: int, ends: int, n: int, null_tag: int, flip: int, positions: int, out: int, valid: int) -> int:
    """Reads intervals to `out` as Arrow's MonthDayNano, 16 bytes a row; zeros for NULL.

    A key begins with the whole length, in days and nanoseconds, by which SQL orders. The nanoseconds of the value are
    what the length leaves after its months, of 30 days each, and its days.
    """
    malformed = 0
    for i in range(n):
        source = data + load_i64(positions + 8 * i) + 1
        state = _is_value(data, ends, 24, null_tag, positions, valid, i)
        if state < 0:
            malformed += 1
        if state > 0:
            all_days = swap_bytes(load_i64(source)) ^ SIGN ^ flip
            nanos_of_day = swap_bytes(load_i64(source + 8)) ^ flip
            # A swapped u32 stands in the upper half, so that the shift extends its sign.
            months = (swap_bytes(load_u32(source + 16)) ^ SIGN ^ flip) >> 32
            days = (swap_bytes(load_u32(source + 20)) ^ SIGN ^ flip) >> 32
            store_u32(out + 16 * i, months)
            store_u32(out + 16 * i + 4, days)
            store_i64(out + 16 * i + 8, (all_days - 30 * months - days) * DAY_NANOS + nanos_of_day)
        else:
            store_i64(out + 16 * i, 0)
            store_i64(out + 16 * i + 8, 0)
    return malformed


@inlined
def _find_zero(data: int, position: int, end: int, flip: int) -> int:
    """The first position in [position, end) of a byte that is zero once flipped; `end` if there is none."""
    while position + 8 <= end:
        zeros = zero_bytes(load_i64(data + position) ^ flip)
        if zeros != 0:
            return position + (trailing_zeros(zeros) >> 3)
        position += 8
    while position < end and (load_u8(data + position) ^ flip) & 0xFF != 0:
        position += 1
    return position


@kernel
def measure_binaries(
    data: int, ends: int, n: int, null_tag: int, flip: int, positions: int, lengths: int, valid: int
) -> int:
    """Sets `lengths` (int64) to the values' numbers of bytes; leaves `positions` after the tags."""
    malformed = 0
    for i in range(n):
        state = _is_value(data, ends, 0, null_tag, positions, valid, i)
        length = 0
        if state > 0:
            start = load_i64(positions + 8 * i)
            end = load_i32(ends + 4 * i)
            zero = _find_zero(data, start, end, flip)
            escapes = 0
            while zero + 1 < end and (load_u8(data + zero + 1) ^ flip) & 0xFF == 0xFF:
                escapes += 1
                zero = _find_zero(data, zero + 2, end, flip)
            if zero + 1 < end and (load_u8(data + zero + 1) ^ flip) & 0xFF == 0:
                length = zero - start - escapes
            else:
                state = -1
                store_u8(valid + i, 0)
        if state < 0:
            malformed += 1
        store_i64(lengths + 8 * i, length)
    return malformed


@kernel
def read_binaries(data: int, n: int, flip: int, offsets: int, valid: int, positions: int, out: int) -> None:
    """Copies the measured values to `out` at `offsets`, and moves `positions` past their terminators."""
    for i in range(n):
        if load_u8(valid + i) == 0:
            continue
        position = load_i64(positions + 8 * i)
        target = out + load_i32(offsets + 4 * i)
        end = out + load_i32(offsets + 4 * i + 4)
        while True:
            stop = _find_zero(data, position, position + (end - target), flip)
            copy_flipped(target, data + position, stop - position, flip)
            target += stop - position
            position = stop
            if target == end:
                break
            store_u8(target, 0)
            target += 1
            position += 2
        store_i64(positions + 8 * i, position + 2)
