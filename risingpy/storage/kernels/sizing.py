"""Lengths of encoded rows, column by column, and the offsets that follow from them."""

from __future__ import annotations

from risingpy.storage.kernels.compile import kernel
from risingpy.storage.kernels.memory import is_valid, load_i32, load_i64, load_u8, store_i64, store_u32, zero_bytes


@kernel
def add_fixed_lengths(validity: int, bit_offset: int, n: int, width: int, lengths: int) -> None:
    """Adds `width` to `lengths[i]` (int64) where row i is valid."""
    for i in range(n):
        if is_valid(validity, bit_offset + i):
            store_i64(lengths + 8 * i, load_i64(lengths + 8 * i) + width)


@kernel
def add_binary_lengths(
    offsets: int, data: int, validity: int, bit_offset: int, n: int, extra: int, has_zeros: int, lengths: int
) -> None:
    """Adds each valid row's number of bytes, plus `extra`, plus its zero bytes if `has_zeros`, to `lengths`."""
    for i in range(n):
        if is_valid(validity, bit_offset + i):
            start = load_i32(offsets + 4 * i)
            end = load_i32(offsets + 4 * i + 4)
            total = load_i64(lengths + 8 * i) + end - start + extra
            if has_zeros:
                for k in range(start, end):
                    if load_u8(data + k) == 0:
                        total += 1
            store_i64(lengths + 8 * i, total)


@kernel
def has_zero_byte(data: int, length: int) -> int:
    """1 if any of the `length` bytes is zero, else 0."""
    k = 0
    while k + 8 <= length:
        if zero_bytes(load_i64(data + k)) != 0:
            return 1
        k += 8
    while k < length:
        if load_u8(data + k) == 0:
            return 1
        k += 1
    return 0


@kernel
def lengths_to_offsets(lengths: int, n: int, offsets: int, positions: int) -> int:
    """Running sums of `lengths`: n + 1 int32 Arrow offsets, n int64 write positions. Returns the total."""
    total = 0
    for i in range(n):
        store_u32(offsets + 4 * i, total)
        store_i64(positions + 8 * i, total)
        total += load_i64(lengths + 8 * i)
    store_u32(offsets + 4 * n, total)
    return total


@kernel
def longest_row(offsets: int, n: int) -> int:
    """The bytes of the longest of n rows that int32 offsets delimit; 0 if there is none."""
    found = 0
    for i in range(n):
        found = max(found, load_i32(offsets + 4 * i + 4) - load_i32(offsets + 4 * i))
    return found
