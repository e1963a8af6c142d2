"""Hashing, grouping and sorting of binary keys, given as Arrow data and offsets."""

from __future__ import annotations

import numpy as np

from risingpy.storage.kernels.compile import inlined, kernel
from risingpy.storage.kernels.memory import (
    load_i32,
    load_i64,
    load_u8,
    load_u16,
    load_u32,
    store_i64,
    store_u16,
    store_u32,
    swap_bytes,
)

SIGN = -0x8000000000000000
SEED = np.uint64(0x9E3779B97F4A7C15)
MULTIPLIER = np.uint64(0xFF51AFD7ED558CCD)
FINALISER = np.uint64(0xC4CEB9FE1A85EC53)


@inlined
def _partial_word(address: int, length: int) -> int:
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
    """64 bits of hash. Part of the on-disk format: `key_encoding.HASH_VERSION`; specified in `reference_codec`."""
    state = SEED ^ np.uint64(length)
    k = 0
    while k + 8 <= length:
        state = (state ^ np.uint64(load_i64(address + k))) * MULTIPLIER
        state ^= state >> np.uint64(32)
        k += 8
    if k < length:
        state = (state ^ np.uint64(_partial_word(address + k, length - k))) * MULTIPLIER
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


@inlined
def _equal(a: int, b: int, length: int) -> bool:
    k = 0
    while k + 8 <= length:
        if load_i64(a + k) != load_i64(b + k):
            return False
        k += 8
    return _partial_word(a + k, length - k) == _partial_word(b + k, length - k)


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


@kernel
def common_prefix(data: int, offsets: int, n: int) -> int:
    """How many leading bytes all keys share."""
    if n == 0:
        return 0
    first = load_i32(offsets)
    shared = load_i32(offsets + 4) - first
    for i in range(1, n):
        start = load_i32(offsets + 4 * i)
        shared = min(shared, load_i32(offsets + 4 * i + 4) - start)
        k = 0
        while k + 8 <= shared and load_i64(data + first + k) == load_i64(data + start + k):
            k += 8
        while k < shared and load_u8(data + first + k) == load_u8(data + start + k):
            k += 1
        shared = min(shared, k)
    return shared


@kernel
def leading_words(data: int, offsets: int, n: int, skip: int, out: int) -> None:
    """Bytes skip to skip + 8 of each key as a big-endian uint64, zeros where the key is shorter."""
    for i in range(n):
        start = load_i32(offsets + 4 * i) + skip
        length = load_i32(offsets + 4 * i + 4) - start
        word = load_i64(data + start) if length >= 8 else _partial_word(data + start, length)
        store_i64(out + 8 * i, swap_bytes(word))


@inlined
def _is_after(data: int, offsets: int, skip: int, a: int, b: int) -> bool:
    """Whether key a sorts after key b; their first `skip` bytes are equal."""
    a_start = load_i32(offsets + 4 * a) + skip
    b_start = load_i32(offsets + 4 * b) + skip
    a_length = load_i32(offsets + 4 * a + 4) - a_start
    b_length = load_i32(offsets + 4 * b + 4) - b_start
    shared = min(a_length, b_length)
    k = 0
    while k + 8 <= shared:
        x = load_i64(data + a_start + k)
        y = load_i64(data + b_start + k)
        if x != y:
            return (swap_bytes(x) ^ SIGN) > (swap_bytes(y) ^ SIGN)
        k += 8
    while k < shared:
        x = load_u8(data + a_start + k)
        y = load_u8(data + b_start + k)
        if x != y:
            return x > y
        k += 1
    return a_length > b_length


@inlined
def _merge_runs(data: int, offsets: int, skip: int, order: int, scratch: int, low: int, middle: int, high: int) -> None:
    """Merges order[low:middle] and order[middle:high], each sorted, through `scratch`; stable."""
    left = low
    right = middle
    for target in range(low, high):
        take_left = right == high
        if left < middle and right < high:
            a = load_i64(order + 8 * left)
            b = load_i64(order + 8 * right)
            take_left = not _is_after(data, offsets, skip, a, b)
        if take_left:
            store_i64(scratch + 8 * target, load_i64(order + 8 * left))
            left += 1
        else:
            store_i64(scratch + 8 * target, load_i64(order + 8 * right))
            right += 1
    for target in range(low, high):
        store_i64(order + 8 * target, load_i64(scratch + 8 * target))


@inlined
def _sort_run(data: int, offsets: int, skip: int, order: int, scratch: int, low: int, high: int) -> None:
    """Sorts order[low:high] stably: insertion in blocks of 8, then merges."""
    block = low
    while block < high:
        stop = min(block + 8, high)
        for i in range(block + 1, stop):
            row = load_i64(order + 8 * i)
            k = i - 1
            while k >= block and _is_after(data, offsets, skip, load_i64(order + 8 * k), row):
                store_i64(order + 8 * (k + 1), load_i64(order + 8 * k))
                k -= 1
            store_i64(order + 8 * (k + 1), row)
        block = stop
    width = 8
    while width < high - low:
        for start in range(low, high - width, 2 * width):
            _merge_runs(data, offsets, skip, order, scratch, start, start + width, min(start + 2 * width, high))
        width *= 2


@kernel
def sort_ties(data: int, offsets: int, n: int, skip: int, words: int, order: int, scratch: int) -> None:
    """Orders rows whose `words` (leading words at `skip`) are equal, in an `order` sorted by them."""
    low = 0
    while low < n:
        word = load_i64(words + 8 * load_i64(order + 8 * low))
        high = low + 1
        while high < n and load_i64(words + 8 * load_i64(order + 8 * high)) == word:
            high += 1
        if high - low > 1:
            _sort_run(data, offsets, skip, order, scratch, low, high)
        low = high
