"""Digests of stored rows, given as Arrow data and offsets of their keys and values."""

from __future__ import annotations

import numpy as np

from risingpy.storage.kernels.compile import inlined, kernel
from risingpy.storage.kernels.grouping import FINALISER, MULTIPLIER, hash_bytes
from risingpy.storage.kernels.memory import is_valid, load_i32, load_i64, store_i64


@inlined
def _row_digest(key: int, key_length: int, value: int, value_length: int) -> int:
    state = (np.uint64(hash_bytes(key, key_length)) * FINALISER) ^ np.uint64(hash_bytes(value, value_length))
    state ^= state >> np.uint64(33)
    state *= MULTIPLIER
    state ^= state >> np.uint64(33)
    return np.int64(state)  # type: ignore[return-value]  # int64 is a kernel's int


@kernel
def add_rows(
    keys: int,
    key_offsets: int,
    skipped: int,
    values: int,
    value_offsets: int,
    validity: int,
    first_bit: int,
    starts: int,
    tables: int,
    n: int,
    sign: int,
    totals: int,
) -> None:
    """Adds (or, with `sign` -1, takes away) the rows of some tables, `n` in all, whose value is not NULL.

    `starts` are int64: the first row of each table. `totals` is four int64 for each: rows, bytes of keys, bytes of
    values, and the sum of the rows' digests, which wraps around. The first `skipped` bytes of a key are not part of
    its digest.
    """
    for table in range(tables):
        rows = 0
        key_bytes = 0
        value_bytes = 0
        digest = 0
        end = load_i64(starts + 8 * table + 8) if table + 1 < tables else n
        for i in range(load_i64(starts + 8 * table), end):
            if is_valid(validity, first_bit + i):
                key = load_i32(key_offsets + 4 * i)
                key_length = load_i32(key_offsets + 4 * i + 4) - key
                value = load_i32(value_offsets + 4 * i)
                value_length = load_i32(value_offsets + 4 * i + 4) - value
                rows += 1
                key_bytes += key_length
                value_bytes += value_length
                digest += _row_digest(keys + key + skipped, key_length - skipped, values + value, value_length)
        own = totals + 32 * table
        store_i64(own, load_i64(own) + sign * rows)
        store_i64(own + 8, load_i64(own + 8) + sign * key_bytes)
        store_i64(own + 16, load_i64(own + 16) + sign * value_bytes)
        store_i64(own + 24, load_i64(own + 24) + sign * digest)
