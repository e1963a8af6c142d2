"""Writing memcomparable keys: each kernel appends one column to every row. Layouts: `key_encoding`.

`positions` (int64, one per row) say where in `out` the row goes on; each kernel moves them past what it
wrote. `flip` is -1 for a descending column, which inverts every byte after the tag, and 0 otherwise.
"""

from __future__ import annotations

from risingpy.storage.kernels.compile import inlined, kernel
from risingpy.storage.kernels.memory import (
    SIGN,
    copy_flipped,
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
    swap_bytes,
)

VALUE_TAG = 1
NAN = 0x7FF8000000000000
INFINITY = 0x7FF0000000000000
MAGNITUDE = 0x7FFFFFFFFFFFFFFF
SIGN_32 = 0x80000000
NAN_32 = 0x7FC00000
INFINITY_32 = 0x7F800000
MAGNITUDE_32 = 0x7FFFFFFF
DAY_NANOS = 86_400_000_000_000


@kernel
def write_prefixes(out: int, n: int, table_id: int, vnodes: int, positions: int) -> None:
    """table_id as u32, vnode (from uint16 `vnodes`) as u16, big-endian."""
    table = swap_bytes(table_id << 32)
    for i in range(n):
        position = load_i64(positions + 8 * i)
        store_u32(out + position, table)
        store_u16(out + position + 4, swap_bytes(load_u16(vnodes + 2 * i) << 48))
        store_i64(positions + 8 * i, position + 6)


@kernel
def write_table_ids(out: int, n: int, table_id: int, offsets: int) -> None:
    """table_id as u32, big-endian, over the first bytes of n keys that begin at the int32 `offsets`."""
    table = swap_bytes(table_id << 32)
    for i in range(n):
        store_u32(out + load_i32(offsets + 4 * i), table)


@inlined
def write_integer(target: int, source: int, width: int, flip: int) -> None:
    """The tag and the bytes of one integer of 2, 4 or 8 bytes, signed; or of 1 byte, unsigned (boolean)."""
    store_u8(target, VALUE_TAG)
    if width == 8:
        store_i64(target + 1, swap_bytes(load_i64(source) ^ SIGN ^ flip))
    elif width == 4:
        store_u32(target + 1, swap_bytes((load_u32(source) ^ SIGN_32 ^ flip) << 32))
    elif width == 2:
        store_u16(target + 1, swap_bytes((load_u16(source) ^ 0x8000 ^ flip) << 48))
    else:
        store_u8(target + 1, load_u8(source) ^ flip)


@kernel
def write_integers(
    source: int, width: int, validity: int, bit_offset: int, n: int, null_tag: int, flip: int, out: int, positions: int
) -> None:
    """Integers, as `write_integer` has them, or NULL."""
    for i in range(n):
        position = load_i64(positions + 8 * i)
        if not is_valid(validity, bit_offset + i):
            store_u8(out + position, null_tag)
            store_i64(positions + 8 * i, position + 1)
            continue
        write_integer(out + position, source + width * i, width, flip)
        store_i64(positions + 8 * i, position + 1 + width)


@kernel
def write_floats(
    source: int, width: int, validity: int, bit_offset: int, n: int, null_tag: int, flip: int, out: int, positions: int
) -> None:
    """Floats of 4 or 8 bytes: -0 as 0, every NaN as the one largest."""
    for i in range(n):
        position = load_i64(positions + 8 * i)
        target = out + position
        if not is_valid(validity, bit_offset + i):
            store_u8(target, null_tag)
            store_i64(positions + 8 * i, position + 1)
            continue
        store_u8(target, VALUE_TAG)
        if width == 8:
            bits = load_i64(source + 8 * i)
            if bits & MAGNITUDE > INFINITY:
                bits = NAN
            elif bits == SIGN:
                bits = 0
            # Negative numbers: all bits, so that larger magnitudes sort first. Others: the sign alone.
            store_i64(target + 1, swap_bytes(bits ^ ((bits >> 63) | SIGN) ^ flip))
        else:
            bits = load_i32(source + 4 * i)
            if bits & MAGNITUDE_32 > INFINITY_32:
                bits = NAN_32
            elif bits & MAGNITUDE_32 == 0:
                bits = 0
            store_u32(target + 1, swap_bytes((bits ^ ((bits >> 63) | SIGN_32) ^ flip) << 32))
        store_i64(positions + 8 * i, position + 1 + width)


@kernel
def write_decimals(
    source: int, validity: int, bit_offset: int, n: int, null_tag: int, flip: int, out: int, positions: int
) -> None:
    """decimal128: 16 bytes, big-endian, sign flipped."""
    for i in range(n):
        position = load_i64(positions + 8 * i)
        target = out + position
        if not is_valid(validity, bit_offset + i):
            store_u8(target, null_tag)
            store_i64(positions + 8 * i, position + 1)
            continue
        store_u8(target, VALUE_TAG)
        store_i64(target + 1, swap_bytes(load_i64(source + 16 * i + 8) ^ SIGN ^ flip))
        store_i64(target + 9, swap_bytes(load_i64(source + 16 * i) ^ flip))
        store_i64(positions + 8 * i, position + 17)


@kernel
def write_intervals(
    source: int, validity: int, bit_offset: int, n: int, null_tag: int, flip: int, out: int, positions: int
) -> None:
    """Arrow's month_day_nano: days (30 a month) and nanoseconds of the day, then months and days as they are."""
    for i in range(n):
        position = load_i64(positions + 8 * i)
        target = out + position
        if not is_valid(validity, bit_offset + i):
            store_u8(target, null_tag)
            store_i64(positions + 8 * i, position + 1)
            continue
        months = load_i32(source + 16 * i)
        days = load_i32(source + 16 * i + 4)
        nanos = load_i64(source + 16 * i + 8)
        all_days = 30 * months + days + nanos // DAY_NANOS
        store_u8(target, VALUE_TAG)
        store_i64(target + 1, swap_bytes(all_days ^ SIGN ^ flip))
        store_i64(target + 9, swap_bytes((nanos % DAY_NANOS) ^ flip))
        store_u32(target + 17, swap_bytes((months ^ SIGN_32 ^ flip) << 32))
        store_u32(target + 21, swap_bytes((days ^ SIGN_32 ^ flip) << 32))
        store_i64(positions + 8 * i, position + 25)


@kernel
def write_binaries(
    data: int, offsets: int, validity: int, bit_offset: int, n: int,
    null_tag: int, flip: int, has_zeros: int, out: int, positions: int,
) -> None:  # fmt: skip
    """Strings and byte strings: 00 as 00 FF, then 00 00. `has_zeros` is 0 if no value holds a zero byte."""
    for i in range(n):
        position = load_i64(positions + 8 * i)
        target = out + position
        if not is_valid(validity, bit_offset + i):
            store_u8(target, null_tag)
            store_i64(positions + 8 * i, position + 1)
            continue
        store_u8(target, VALUE_TAG)
        target += 1
        start = load_i32(offsets + 4 * i)
        length = load_i32(offsets + 4 * i + 4) - start
        if has_zeros:
            for k in range(length):
                byte = load_u8(data + start + k)
                store_u8(target, byte ^ flip)
                target += 1
                if byte == 0:
                    store_u8(target, ~flip)
                    target += 1
        else:
            copy_flipped(target, data + start, length, flip)
            target += length
        store_u16(target, flip)
        store_i64(positions + 8 * i, target + 2 - out)
