"""The rows of many ranges of keys of one LMDB transaction, and the bounds of such ranges. See `lmdb_calls`."""

from __future__ import annotations

from risingpy.storage.kernels.compile import inlined, kernel
from risingpy.storage.kernels.lmdb_calls import FIRST, LAST, NEXT, NOT_FOUND, PREVIOUS, SET_RANGE, call
from risingpy.storage.kernels.memory import compare, copy, load_i32, load_i64, load_u8, store_i64, store_u8, store_u32

NO_LIMIT = 1 << 62
FRAME_WORDS, ROW_WORDS = 11, 5  # int64 of `find_in_ranges`


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
        return call(get, cursor, words, words + 16, FIRST)
    store_i64(words, length)
    store_i64(words + 8, key)
    status = call(get, cursor, words, words + 16, SET_RANGE)
    if status == 0 and is_after != 0 and compare(load_i64(words + 8), load_i64(words), key, length) == 0:
        status = call(get, cursor, words, words + 16, NEXT)
    return status


@inlined
def _go_before(get: int, cursor: int, words: int, key: int, length: int) -> int:
    """Goes to the last row before a key."""
    if length == 0:
        return NOT_FOUND
    store_i64(words, length)
    store_i64(words + 8, key)
    status = call(get, cursor, words, words + 16, SET_RANGE)
    if status == NOT_FOUND:
        return call(get, cursor, words, words + 16, LAST)
    return call(get, cursor, words, words + 16, PREVIOUS) if status == 0 else status


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
    found, status = 0, 0
    while i < n and found < room:
        is_backward = load_u8(backward + i) if backward != 0 else all_backward
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
                status = call(get, cursor, frame, frame + 16, step)
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
