"""Many reads or writes of one LMDB transaction, by LMDB's C functions, whose addresses are arguments.

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
from risingpy.storage.kernels.memory import (
    compare,
    copy,
    is_valid,
    load_i32,
    load_i64,
    load_u8,
    store_i64,
    store_u8,
    store_u32,
)

NOT_FOUND = -30798  # MDB_NOTFOUND
FIRST, LAST, NEXT, PREVIOUS = 0, 6, 8, 12  # MDB_FIRST, MDB_LAST, MDB_NEXT, MDB_PREV
SET = 15  # MDB_SET: to exactly this key
SET_RANGE = 17  # MDB_SET_RANGE: to this key or the first one after it

SHORTEST_RUN = 32  # keys that belong between two stored rows, for which their page is looked at
LONGEST_PAUSE = 64  # keys between two looks, where none was found: a look costs half a put
TAIL_PAGES = 4
NO_LIMIT = 1 << 62
FRAME_WORDS, ROW_WORDS = 11, 5  # int64 of `find_in_ranges`

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
_call: Callable[[int, int, int, int, int], int] = _caller()


@inlined
def _set_bytes(word_pair: int, data: int, offsets: int, row: int) -> None:
    start = load_i32(offsets + 4 * row)
    store_i64(word_pair, load_i32(offsets + 4 * row + 4) - start)
    store_i64(word_pair + 8, data + start)


@kernel
def find_values(get: int, cursor: int, keys: int, key_offsets: int, n: int, words: int, places: int) -> int:
    """Sets the pair of int64 `places[i]` to address and length of what is under key i; address 0: nothing is.

    Addresses hold until the transaction writes or ends.
    """
    for i in range(n):
        _set_bytes(words, keys, key_offsets, i)
        status = _call(get, cursor, words, words + 16, SET)
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


@kernel
def write_prefix_ends(prefixes: int, offsets: int, n: int, out: int, out_offsets: int) -> None:
    """Writes, for each prefix, the least byte string that is greater than all that begin with it.

    `out` has room for as many bytes as the prefixes have; `out_offsets` (int32) gets one more than there are prefixes.
    """
    end = 0
    store_u32(out_offsets, 0)
    for i in range(n):
        start = prefixes + load_i32(offsets + 4 * i)
        length = prefixes + load_i32(offsets + 4 * i + 4) - start
        while length > 0 and load_u8(start + length - 1) == 0xFF:
            length -= 1
        if length > 0:
            copy(out + end, start, length)
            store_u8(out + end + length - 1, load_u8(start + length - 1) + 1)
        end += length
        store_u32(out_offsets + 4 * i + 4, end)


@kernel
def write_next_keys(keys: int, offsets: int, n: int, out: int, out_offsets: int) -> None:
    """Writes, for each key, the least byte string that is greater: a zero more. `out` has room for it."""
    end = 0
    store_u32(out_offsets, 0)
    for i in range(n):
        start = load_i32(offsets + 4 * i)
        length = load_i32(offsets + 4 * i + 4) - start
        copy(out + end, keys + start, length)
        store_u8(out + end + length, 0)
        end += length + 1
        store_u32(out_offsets + 4 * i + 4, end)


@inlined
def _go_to(get: int, cursor: int, words: int, key: int, length: int, is_after: int) -> int:
    """Goes to the first row at a key or after it; only after it if `is_after`."""
    if length == 0:  # which LMDB does not look for
        return _call(get, cursor, words, words + 16, FIRST)
    store_i64(words, length)
    store_i64(words + 8, key)
    status = _call(get, cursor, words, words + 16, SET_RANGE)
    if status == 0 and is_after != 0 and compare(load_i64(words + 8), load_i64(words), key, length) == 0:
        status = _call(get, cursor, words, words + 16, NEXT)
    return status


@inlined
def _go_before(get: int, cursor: int, words: int, key: int, length: int) -> int:
    """Goes to the last row before a key."""
    if length == 0:
        return NOT_FOUND
    store_i64(words, length)
    store_i64(words + 8, key)
    status = _call(get, cursor, words, words + 16, SET_RANGE)
    if status == NOT_FOUND:
        return _call(get, cursor, words, words + 16, LAST)
    return _call(get, cursor, words, words + 16, PREVIOUS) if status == 0 else status


@inlined
def _give_row(words: int, state: int, row: int, number: int, with_value: int) -> None:
    """Notes the row at the cursor at `row`, and adds its bytes to the page's."""
    key_length = load_i64(words)
    value_length = load_i64(words + 16) if with_value != 0 else 0
    store_i64(row, number)
    store_i64(row + 8, load_i64(words + 8))
    store_i64(row + 16, key_length)
    store_i64(row + 24, load_i64(words + 24))
    store_i64(row + 32, value_length)
    store_i64(state + 32, load_i64(state + 32) + key_length)
    store_i64(state + 40, load_i64(state + 40) + value_length)
    store_i64(state + 48, max(load_i64(state + 48), key_length))


@inlined
def _begin_range(
    get: int, cursor: int, words: int, state: int, bounds: int, offsets: int, i: int, is_backward: int
) -> int:  # fmt: skip
    """Goes to the first row of range i, or to the one after the last row that was given of it.

    `bounds` are where the ranges begin, in the direction of the read.
    """
    key = load_i64(state + 24)
    length = load_i64(state + 16)
    if load_i64(state + 8) == 0:
        key = bounds + load_i32(offsets + 4 * i)
        length = bounds + load_i32(offsets + 4 * i + 4) - key
    if is_backward != 0:
        return _go_before(get, cursor, words, key, length)
    return _go_to(get, cursor, words, key, length, load_i64(state + 8))


@inlined
def _lies_in(words: int, bounds: int, offsets: int, i: int, is_backward: int) -> bool:
    """Whether the row at the cursor is not beyond the bound at which range i ends, in the direction of the read."""
    bound = bounds + load_i32(offsets + 4 * i)
    length = bounds + load_i32(offsets + 4 * i + 4) - bound
    order = compare(load_i64(words + 8), load_i64(words), bound, length)
    return order >= 0 if is_backward != 0 else order < 0


@kernel
def find_in_ranges(
    get: int, cursor: int, starts: int, start_offsets: int, stops: int, stop_offsets: int, limits: int, n: int,
    all_backward: int, backward: int, with_values: int, room: int, frame: int, rows: int,
) -> int:  # fmt: skip
    """Finds a page of the rows of n ranges: at `rows`, per row, `ROW_WORDS` int64. Returns how many, at most `room`.

    They are the range's number, address and length of the key, and of the value. A range goes from start i to stop i,
    from its end if `all_backward` or byte i at `backward` (0: none) says so; of it come at most `limits[i]` rows
    (int64; address 0: all).

    `frame` has room for `FRAME_WORDS` int64. The first four are LMDB's (`words` of other kernels), and then the first
    is its refusal of a call, if there was one. Four are where the read is, at first zeros: the range, how many of its
    rows were given, and length and address of the last of their keys; another call goes on there, as long as the range
    is not n. The last three are the page's: bytes of all keys and of all values, and of the longest key. Addresses hold
    until the transaction writes or ends.
    """
    state = frame + 32
    for page_word in range(4, 7):
        store_i64(state + 8 * page_word, 0)
    i = load_i64(state)
    found = 0
    status = 0
    while i < n and found < room:
        is_backward = all_backward
        if backward != 0:
            is_backward = load_u8(backward + i)
        bounds, offsets, ends, end_offsets, step = starts, start_offsets, stops, stop_offsets, NEXT
        if is_backward != 0:
            bounds, offsets, ends, end_offsets, step = stops, stop_offsets, starts, start_offsets, PREVIOUS
        limit = load_i64(limits + 8 * i) if limits != 0 else NO_LIMIT
        given = load_i64(state + 8)
        if given < limit:
            status = _begin_range(get, cursor, frame, state, bounds, offsets, i, is_backward)
        while status == 0 and given < limit and _lies_in(frame, ends, end_offsets, i, is_backward):
            _give_row(frame, state, rows + 8 * ROW_WORDS * found, i, with_values)
            found += 1
            given += 1
            if found == room and given < limit:
                store_i64(state, i)
                store_i64(state + 8, given)
                store_i64(frame, 0)
                return found
            if given < limit:
                status = _call(get, cursor, frame, frame + 16, step)
        if status != 0 and status != NOT_FOUND:
            break
        status = 0
        i += 1
        store_i64(state + 8, 0)
    store_i64(state, i)
    store_i64(frame, status)
    return found


@kernel
def copy_rows(
    rows: int, n: int, numbers: int, key_offsets: int, keys: int, value_offsets: int, values: int
) -> None:  # fmt: skip
    """Copies what `find_in_ranges` found: numbers (int64), and keys and values as Arrow has them (int32 offsets)."""
    key_end = 0
    value_end = 0
    store_u32(key_offsets, 0)
    store_u32(value_offsets, 0)
    for k in range(n):
        row = rows + 8 * ROW_WORDS * k
        store_i64(numbers + 8 * k, load_i64(row))
        copy(keys + key_end, load_i64(row + 8), load_i64(row + 16))
        copy(values + value_end, load_i64(row + 24), load_i64(row + 32))
        key_end += load_i64(row + 16)
        value_end += load_i64(row + 32)
        store_u32(key_offsets + 4 * k + 4, key_end)
        store_u32(value_offsets + 4 * k + 4, value_end)


@inlined
def _write_row(
    get: int, put: int, delete: int, cursor: int, keys: int, key_offsets: int,
    values: int, value_offsets: int, validity: int, bit_offset: int, row: int, words: int,
) -> int:  # fmt: skip
    """Puts one key's value, or deletes the key, if it is there, where the value is NULL."""
    _set_bytes(words, keys, key_offsets, row)
    if is_valid(validity, bit_offset + row):
        _set_bytes(words + 16, values, value_offsets, row)
        return _call(put, cursor, words, words + 16, 0)
    status = _call(get, cursor, words, words + 16, SET)
    if status == 0:
        return _call(delete, cursor, 0, 0, 0)
    return 0 if status == NOT_FOUND else status


@inlined
def _precedes(keys: int, key_offsets: int, row: int, other: int, other_length: int) -> bool:
    """Whether a key sorts before another one."""
    start = load_i32(key_offsets + 4 * row)
    return compare(keys + start, load_i32(key_offsets + 4 * row + 4) - start, other, other_length) < 0


@inlined
def _run_end(get: int, cursor: int, keys: int, key_offsets: int, row: int, n: int, words: int) -> int:
    """The end of the run of keys from `row` on that all sort before the same stored row, at which the cursor is.

    `row` if the run is short, or nothing is stored after it.
    """
    _set_bytes(words, keys, key_offsets, row)
    if row + SHORTEST_RUN > n or _call(get, cursor, words, words + 16, SET_RANGE) != 0:
        return row
    length = load_i64(words)
    stored = load_i64(words + 8)
    low = row + SHORTEST_RUN - 1
    if not _precedes(keys, key_offsets, low, stored, length):
        return row
    high = n
    while high - low > 1:
        middle = (low + high) >> 1
        if _precedes(keys, key_offsets, middle, stored, length):
            low = middle
        else:
            high = middle
    return high


@inlined
def _copy_tail(get: int, cursor: int, words: int, tail: int, page_bytes: int) -> int:
    """Copies the row at the cursor, and those after it in its page, to `tail`; returns how many.

    0 if no row stands before it in its page, or the tail has no room for them. A copy is the lengths of key and
    value (int64), key, value.
    """
    first = load_i64(words + 8)
    if _call(get, cursor, words, words + 16, PREVIOUS) != 0 or abs(load_i64(words + 8) - first) >= page_bytes:
        return 0
    rows = 0
    used = 0
    status = _call(get, cursor, words, words + 16, NEXT)
    while status == 0 and abs(load_i64(words + 8) - first) < page_bytes:
        key_length = load_i64(words)
        value_length = load_i64(words + 16)
        if used + 16 + key_length + value_length > TAIL_PAGES * page_bytes:
            return 0
        store_i64(tail + used, key_length)
        store_i64(tail + used + 8, value_length)
        copy(tail + used + 16, load_i64(words + 8), key_length)
        copy(tail + used + 16 + key_length, load_i64(words + 24), value_length)
        used += 16 + key_length + value_length
        rows += 1
        status = _call(get, cursor, words, words + 16, NEXT)
    return rows


@inlined
def _set_copied(words: int, tail: int) -> int:
    """Key and value of a copied row; returns where the next one begins."""
    key_length = load_i64(tail)
    value_length = load_i64(tail + 8)
    store_i64(words, key_length)
    store_i64(words + 8, tail + 16)
    store_i64(words + 16, value_length)
    store_i64(words + 24, tail + 16 + key_length)
    return tail + 16 + key_length + value_length


@inlined
def _delete_tail(get: int, delete: int, cursor: int, words: int, tail: int, rows: int) -> int:
    for _ in range(rows):
        tail = _set_copied(words, tail)
        status = _call(get, cursor, words, words + 16, SET)
        if status == 0:
            status = _call(delete, cursor, 0, 0, 0)
        if status != 0:
            return status
    return 0


@inlined
def _put_tail(put: int, cursor: int, words: int, tail: int, rows: int) -> int:
    for _ in range(rows):
        tail = _set_copied(words, tail)
        status = _call(put, cursor, words, words + 16, 0)
        if status != 0:
            return status
    return 0


@kernel
def write_rows(
    get: int, put: int, delete: int, cursor: int, keys: int, key_offsets: int,
    values: int, value_offsets: int, validity: int, bit_offset: int, n: int, words: int, tail: int, page_bytes: int,
) -> int:  # fmt: skip
    """Puts each key's value; a NULL one deletes the key, if it is there. The keys ascend.

    LMDB splits a page in half if a row comes into its middle, but lets one grow full to which rows are only appended.
    Where a long run of new keys belongs between two stored rows (those of one vnode, whose keys grow), the rows after
    it in its page are taken out until the run is in: its pages are full then, not half empty. `tail` is room for
    them, `TAIL_PAGES` times `page_bytes`.
    """
    i = 0
    next_look = 0
    pause = 1
    while i < n:
        end = i + 1
        moved = 0
        if i >= next_look:
            end = _run_end(get, cursor, keys, key_offsets, i, n, words)
            if end > i:
                pause = 1
                moved = _copy_tail(get, cursor, words, tail, page_bytes)
                if 2 * moved > end - i:
                    moved = 0
            else:  # such a table seldom has runs
                end = i + 1
                pause = min(2 * pause, LONGEST_PAUSE)
            next_look = end if pause == 1 else i + pause
        status = _delete_tail(get, delete, cursor, words, tail, moved)
        if status != 0:
            return status
        for row in range(i, end):
            status = _write_row(
                get, put, delete, cursor, keys, key_offsets, values, value_offsets, validity, bit_offset, row, words
            )
            if status != 0:
                return status
        status = _put_tail(put, cursor, words, tail, moved)
        if status != 0:
            return status
        i = end
    return 0
