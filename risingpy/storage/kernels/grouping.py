"""Hashing and grouping of binary keys, given as Arrow data and offsets."""

from __future__ import annotations

import numpy as np

from risingpy.storage.kernels.compile import inlined, kernel
from risingpy.storage.kernels.keys import write_integer
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

SEED = np.uint64(0x9E3779B97F4A7C15)
MULTIPLIER = np.uint64(0xFF51AFD7ED558CCD)
FINALISER = np.uint64(0xC4CEB9FE1A85EC53)


@inlined
def partial_word(address: int, length: int) -> int:
    """The `length` (0 to 7) bytes at `address` as the low bytes of a little-endian word, zeros above."""
    word = 0
    shift = 0
    if length & 4:
        word = load_u32(address)
        shift = 32
        address += 4
    if length & 2:
        word |= load_u16(address) << shift
        shift += 16
        address += 2
    if length & 1:
        word |= load_u8(address) << shift
    return word


@inlined
def hash_bytes(address: int, length: int) -> int:
    """64 bits of hash. Part of the on-disk format: `formats.HASH`; specified in `reference_codec`."""
    state = SEED ^ np.uint64(length)
    k = 0
    while k + 8 <= length:
        state = (state ^ np.uint64(load_i64(address + k))) * MULTIPLIER
        state ^= state >> np.uint64(32)
        k += 8
    if k < length:
        state = (state ^ np.uint64(partial_word(address + k, length - k))) * MULTIPLIER
        state ^= state >> np.uint64(32)
    # fmix64: without it, small big-endian integers collide.
    state ^= state >> np.uint64(33)
    state *= MULTIPLIER
    state ^= state >> np.uint64(33)
    state *= FINALISER
    state ^= state >> np.uint64(33)
    return np.int64(state)  # type: ignore[return-value]  # int64 is a kernel's int


@kernel
def hash_vnodes(data: int, offsets: int, n: int, vnode_mask: int, vnodes: int) -> None:
    """The low bits of each key's hash, as uint16."""
    for i in range(n):
        start = load_i32(offsets + 4 * i)
        end = load_i32(offsets + 4 * i + 4)
        store_u16(vnodes + 2 * i, hash_bytes(data + start, end - start) & vnode_mask)


@kernel
def hash_integer_vnodes(
    source: int,
    width: int,
    validity: int,
    bit_offset: int,
    n: int,
    null_tag: int,
    vnode_mask: int,
    scratch: int,
    vnodes: int,
) -> None:
    """As `hash_vnodes`, of keys that are one integer each, which are written to 9 bytes of `scratch` in turn."""
    for i in range(n):
        length = 1
        if is_valid(validity, bit_offset + i):
            write_integer(scratch, source + width * i, width, 0)
            length += width
        else:
            store_u8(scratch, null_tag)
        store_u16(vnodes + 2 * i, hash_bytes(scratch, length) & vnode_mask)


@inlined
def _equal(a: int, b: int, length: int) -> bool:
    k = 0
    while k + 8 <= length:
        if load_i64(a + k) != load_i64(b + k):
            return False
        k += 8
    return partial_word(a + k, length - k) == partial_word(b + k, length - k)


@kernel
def group_keys(data: int, offsets: int, n: int, table: int, mask: int, codes: int, firsts: int, hashes: int) -> int:
    """Numbers the distinct keys in order of appearance; returns how many there are.

    `table` is mask + 1 int32 slots of -1, more than n. Sets `codes` (int64 per row), `firsts` (int64 per
    group: its first row) and `hashes` (scratch, int64 per group).
    """
    groups = 0
    for i in range(n):
        start = load_i32(offsets + 4 * i)
        length = load_i32(offsets + 4 * i + 4) - start
        code = hash_bytes(data + start, length)
        slot = code & mask
        while True:
            group = load_i32(table + 4 * slot)
            if group < 0:
                group = groups
                store_u32(table + 4 * slot, group)
                store_i64(firsts + 8 * group, i)
                store_i64(hashes + 8 * group, code)
                groups += 1
                break
            if load_i64(hashes + 8 * group) == code:
                first = load_i64(firsts + 8 * group)
                other = load_i32(offsets + 4 * first)
                same_length = load_i32(offsets + 4 * first + 4) - other == length
                if same_length and _equal(data + start, data + other, length):
                    break
            slot = (slot + 1) & mask
        store_i64(codes + 8 * i, group)
    return groups
