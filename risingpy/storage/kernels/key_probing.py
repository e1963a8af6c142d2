"""Whether a few stored keys are there. These kernels keep the GIL: they are done with a key in about a microsecond.

Keys are Arrow data and offsets (int32), one after another; `words` is room for 4 int64, as in `lmdb_calls`.
"""

from __future__ import annotations

from risingpy.storage.kernels.compile import short_kernel
from risingpy.storage.kernels.grouping import hash_bytes
from risingpy.storage.kernels.lmdb_calls import NOT_FOUND, SET, SET_RANGE, call, set_bytes
from risingpy.storage.kernels.memory import load_i32, load_i64, load_u8, store_u8


@short_kernel
def hash_few(data: int, offsets: int, n: int, vnodes: int) -> None:
    """The low byte of each key's hash, which is its vnode, as uint8."""
    for i in range(n):
        start = load_i32(offsets + 4 * i)
        store_u8(vnodes + i, hash_bytes(data + start, load_i32(offsets + 4 * i + 4) - start) & 255)


@short_kernel
def find_few(get: int, cursor: int, keys: int, offsets: int, n: int, whole: int, words: int, there: int) -> int:
    """Sets the byte `there[i]` to 1 if key i is there, or without `whole` if one begins with it; else to 0.

    Returns 0, or LMDB's code of an error.
    """
    for i in range(n):
        set_bytes(words, keys, offsets, i)
        address, length = load_i64(words + 8), load_i64(words)
        status = call(get, cursor, words, words + 16, SET if whole else SET_RANGE)
        if status != 0 and status != NOT_FOUND:
            return status
        is_there = status == 0
        if is_there and not whole:
            is_there = load_i64(words) >= length
            found, k = load_i64(words + 8), 0
            while is_there and k < length:
                is_there = load_u8(found + k) == load_u8(address + k)
                k += 1
        store_u8(there + i, 1 if is_there else 0)
    return 0
