"""LMDB's C functions, whose addresses are arguments, as kernels call them; and many reads of one key each.

A `cursor` is LMDB's; it stays where the last key was, so keys in ascending order find their page without a search from
the root. `words` is room for 4 int64: the key and the value (MDB_val: length, address) that a call takes or gives.
Keys and values are Arrow data and offsets. A kernel returns 0, or the code with which LMDB refused a call: then the
transaction is dead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from risingpy.storage.kernels.compile import inlined, kernel
from risingpy.storage.kernels.memory import copy, load_i32, load_i64, store_i64

NOT_FOUND = -30798  # MDB_NOTFOUND
FIRST, GET_CURRENT, LAST, NEXT, PREVIOUS = 0, 4, 6, 8, 12  # MDB_FIRST, MDB_GET_CURRENT, MDB_LAST, MDB_NEXT, MDB_PREV
SET = 15  # MDB_SET: to exactly this key
SET_RANGE = 17  # MDB_SET_RANGE: to this key or the first one after it
AT_CURSOR = 64  # MDB_CURRENT: put where the cursor is, which is at this key


_WORD = ir.IntType(64)
_STATUS = ir.IntType(32)


def _caller() -> Any:
    @intrinsic
    def call(typing_context: Any, function: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kind = ir.FunctionType(_STATUS, [_WORD] * 4).as_pointer()
            return builder.sext(builder.call(builder.inttoptr(arguments[0], kind), arguments[1:]), _WORD)

        return types.int64(*[types.int64] * 5), generate

    return call


# The C function at an address, of up to four integers or pointers, that returns an int.
call: Callable[[int, int, int, int, int], int] = _caller()


@inlined
def set_bytes(word_pair: int, data: int, offsets: int, row: int) -> None:
    """Sets length and address, a pair of words, to those of one value of an Arrow array."""
    start = load_i32(offsets + 4 * row)
    store_i64(word_pair, load_i32(offsets + 4 * row + 4) - start)
    store_i64(word_pair + 8, data + start)


@kernel
def find_values(get: int, cursor: int, keys: int, key_offsets: int, n: int, words: int, places: int) -> int:
    """Sets the pair of int64 `places[i]` to address and length of what is under key i; address 0: nothing is.

    Addresses hold until the transaction writes or ends.
    """
    for i in range(n):
        set_bytes(words, keys, key_offsets, i)
        status = call(get, cursor, words, words + 16, SET)
        if status == 0:
            store_i64(places + 16 * i, load_i64(words + 24))
            store_i64(places + 16 * i + 8, load_i64(words + 16))
        elif status == NOT_FOUND:
            store_i64(places + 16 * i, 0)
            store_i64(places + 16 * i + 8, 0)
        else:
            return status
    return 0


@kernel
def copy_values(places: int, n: int, out: int, positions: int) -> None:
    """Copies what `find_values` found to `out + positions[i]` (int64)."""
    for i in range(n):
        length = load_i64(places + 16 * i + 8)
        if length > 0:
            copy(out + load_i64(positions + 8 * i), load_i64(places + 16 * i), length)
