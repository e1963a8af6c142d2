"""Many writes of one LMDB transaction. See `lmdb_calls`."""

from __future__ import annotations

from risingpy.storage.kernels.compile import inlined, kernel
from risingpy.storage.kernels.lmdb_calls import (
    AT_CURSOR,
    GET_CURRENT,
    NEXT,
    NOT_FOUND,
    PREVIOUS,
    SET,
    SET_RANGE,
    call,
    set_bytes,
)
from risingpy.storage.kernels.memory import compare, copy, is_valid, load_i32, load_i64, load_u8, store_i64

SHORTEST_RUN = 32  # keys that belong between two stored rows, for which their page is looked at
LONGEST_PAUSE = 64  # keys between two looks, where none was found: a look costs half a put
TAIL_PAGES = 4
NODE_BYTES = 8 + 2 + 1  # a row's header, its place in the page's list, and what makes its length even, at most
PAGE_HEADER_BYTES = 16
WAS_ABSENT = -1  # as the length of an old value


@inlined
def _write_row(
    get: int, put: int, delete: int, cursor: int, keys: int, key_offsets: int,
    values: int, value_offsets: int, validity: int, bit_offset: int, row: int, words: int,
) -> int:  # fmt: skip
    """Puts one key's value, or deletes the key, if it is there, where the value is NULL."""
    set_bytes(words, keys, key_offsets, row)
    if is_valid(validity, bit_offset + row):
        set_bytes(words + 16, values, value_offsets, row)
        return call(put, cursor, words, words + 16, 0)
    status = call(get, cursor, words, words + 16, SET)
    if status == 0:
        return call(delete, cursor, 0, 0, 0)
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
    set_bytes(words, keys, key_offsets, row)
    if row + SHORTEST_RUN > n or call(get, cursor, words, words + 16, SET_RANGE) != 0:
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
    if call(get, cursor, words, words + 16, PREVIOUS) != 0 or abs(load_i64(words + 8) - first) >= page_bytes:
        return 0
    rows = 0
    used = 0
    status = call(get, cursor, words, words + 16, NEXT)
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
        status = call(get, cursor, words, words + 16, NEXT)
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
        status = call(get, cursor, words, words + 16, SET)
        if status == 0:
            status = call(delete, cursor, 0, 0, 0)
        if status != 0:
            return status
    return 0


@inlined
def _put_tail(put: int, cursor: int, words: int, tail: int, rows: int) -> int:
    for _ in range(rows):
        tail = _set_copied(words, tail)
        status = call(put, cursor, words, words + 16, 0)
        if status != 0:
            return status
    return 0


@inlined
def _page_end(key_offsets: int, value_offsets: int, first: int, end: int, page_bytes: int) -> int:
    """The end of the rows from `first` on, before `end`, that fill a page."""
    room = page_bytes - PAGE_HEADER_BYTES
    for row in range(first, end):
        room -= NODE_BYTES + load_i32(key_offsets + 4 * row + 4) - load_i32(key_offsets + 4 * row)
        room -= load_i32(value_offsets + 4 * row + 4) - load_i32(value_offsets + 4 * row)
        if room < 0:
            return row
    return end


@inlined
def _write_run(
    get: int, put: int, delete: int, cursor: int, keys: int, key_offsets: int, values: int, value_offsets: int,
    validity: int, bit_offset: int, first: int, end: int, words: int, page_bytes: int,
) -> int:  # fmt: skip
    """Writes rows that all belong between two stored ones.

    LMDB searches from the root for a key beyond the last one of the cursor's page, and within the page for a key before
    it. A row that comes after a full page gets a new one, which then has that row, the one before it, and no other. So
    the rows that will fill the page are known: the last of them is put first, and the others find their place in the
    page. If a page is not what is thought here, rows come into the right places all the same, only slower.
    """
    row = first
    before = 0  # where the row before is
    while row < end:
        status = _write_row(
            get, put, delete, cursor, keys, key_offsets, values, value_offsets, validity, bit_offset, row, words
        )
        here = before
        if status == 0 and is_valid(validity, bit_offset + row):
            status = call(get, cursor, words, words + 16, GET_CURRENT)
            here = load_i64(words + 8)
        if status != 0:
            return status
        row += 1
        if before != 0 and abs(here - before) >= page_bytes:
            last = _page_end(key_offsets, value_offsets, row - 2, end, page_bytes) - 1
            if last > row:
                status = _write_row(
                    get, put, delete, cursor, keys, key_offsets, values, value_offsets, validity, bit_offset, last,
                    words,
                )  # fmt: skip
                while status == 0 and row < last:
                    status = _write_row(
                        get, put, delete, cursor, keys, key_offsets, values, value_offsets, validity, bit_offset, row,
                        words,
                    )  # fmt: skip
                    row += 1
                if status != 0:
                    return status
                row = last + 1
        before = here
    return 0


@inlined
def _write_before_tail(
    get: int, put: int, delete: int, cursor: int, keys: int, key_offsets: int, values: int, value_offsets: int,
    validity: int, bit_offset: int, first: int, end: int, words: int, page_bytes: int, tail: int, moved: int,
) -> int:  # fmt: skip
    """As `_write_run`, while the copied rows are out of their page."""
    status = _delete_tail(get, delete, cursor, words, tail, moved)
    if status == 0:
        status = _write_run(
            get, put, delete, cursor, keys, key_offsets, values, value_offsets, validity, bit_offset, first, end, words,
            page_bytes,
        )  # fmt: skip
    return status if status != 0 else _put_tail(put, cursor, words, tail, moved)


@inlined
def _replace_row(
    get: int, put: int, delete: int, cursor: int, keys: int, key_offsets: int, values: int, value_offsets: int,
    validity: int, bit_offset: int, row: int, words: int, old: int, room: int, length: int,
) -> int:  # fmt: skip
    """As `_write_row`, and copies the value that was there to `old`, which has `room` bytes, if it fits.

    Sets the int64 at `length` to the old value's length. If that is more than `room`, nothing was done.
    """
    set_bytes(words, keys, key_offsets, row)
    status = call(get, cursor, words, words + 16, SET)
    if status == NOT_FOUND:
        store_i64(length, WAS_ABSENT)
        if not is_valid(validity, bit_offset + row):
            return 0
        set_bytes(words, keys, key_offsets, row)
        set_bytes(words + 16, values, value_offsets, row)
        return call(put, cursor, words, words + 16, 0)
    if status != 0:
        return status
    old_length = load_i64(words + 16)
    stored = load_i64(words + 24)
    store_i64(length, old_length)
    if old_length > room:
        return 0
    copy(old, stored, old_length)
    if not is_valid(validity, bit_offset + row):
        return call(delete, cursor, 0, 0, 0)
    set_bytes(words, keys, key_offsets, row)
    set_bytes(words + 16, values, value_offsets, row)
    if compare(old, old_length, load_i64(words + 24), load_i64(words + 16)) == 0:
        return 0
    return call(put, cursor, words, words + 16, AT_CURSOR)


@inlined
def _piece_end(
    get: int, cursor: int, keys: int, key_offsets: int, row: int, n: int, words: int, tail: int, page_bytes: int,
    look: int,
) -> int:  # fmt: skip
    """The end of what is written next, in one go: a long run of keys from `row` on, or the one.

    `look` has three int64: the key at which to look for a run, how many there are between two looks, and, of a run, the
    number of rows that were copied to `tail`.
    """
    store_i64(look + 16, 0)
    if row < load_i64(look):
        return row + 1
    end = _run_end(get, cursor, keys, key_offsets, row, n, words)
    if end == row:  # such a table seldom has runs
        store_i64(look + 8, min(2 * load_i64(look + 8), LONGEST_PAUSE))
        store_i64(look, row + load_i64(look + 8))
        return row + 1
    store_i64(look, end)
    store_i64(look + 8, 1)
    moved = _copy_tail(get, cursor, words, tail, page_bytes)
    if 2 * moved <= end - row:
        store_i64(look + 16, moved)
    return end


@inlined
def _note_absent(lengths: int, first: int, end: int) -> None:
    if lengths != 0:
        for row in range(first, end):
            store_i64(lengths + 8 * row, WAS_ABSENT)


@kernel
def write_rows(
    get: int, put: int, delete: int, cursor: int, keys: int, key_offsets: int,
    values: int, value_offsets: int, validity: int, bit_offset: int, first: int, n: int,
    words: int, tail: int, page_bytes: int, is_new: int, old: int, old_room: int, lengths: int,
) -> int:  # fmt: skip
    """Puts each key's value; a NULL one deletes the key, if it is there. The keys ascend.

    LMDB splits a page in half if a row comes into its middle, but lets one grow full to which rows are only appended.
    Where a long run of new keys belongs between two stored rows (those of one vnode, whose keys grow), the rows after
    it in its page are taken out until the run is in: its pages are full then, not half empty. `tail` is room for
    them, `TAIL_PAGES` times `page_bytes`.

    If `lengths` is not 0, what was there under the keys from `first` on is copied to `old`, one after the other, and
    the lengths are set (int64), or WAS_ABSENT. Keys that `is_new` marks (a byte each; 0: none is known) were not there.
    Writing ends before the first row whose old value has no room. Sets words[4] to the end of the rows that are
    written, and words[5] to the bytes of their old values; three more are its own.
    """
    i, used, look = first, 0, words + 48
    store_i64(look, i)
    store_i64(look + 8, 1)
    while i < n:
        store_i64(words + 32, i)
        store_i64(words + 40, used)
        end = _piece_end(get, cursor, keys, key_offsets, i, n, words, tail, page_bytes, look)
        if end > i + 1:
            status = _write_before_tail(
                get, put, delete, cursor, keys, key_offsets, values, value_offsets, validity, bit_offset, i, end, words,
                page_bytes, tail, load_i64(look + 16),
            )  # fmt: skip
            _note_absent(lengths, i - first, end - first)
        elif lengths == 0 or (is_new != 0 and load_u8(is_new + i) != 0):
            _note_absent(lengths, i - first, end - first)
            status = _write_row(
                get, put, delete, cursor, keys, key_offsets, values, value_offsets, validity, bit_offset, i, words
            )
        else:
            at = lengths + 8 * (i - first)
            status = _replace_row(
                get, put, delete, cursor, keys, key_offsets, values, value_offsets, validity, bit_offset, i, words,
                old + used, old_room - used, at,
            )  # fmt: skip
            if status == 0 and load_i64(at) > old_room - used:
                return 0
            used += max(load_i64(at), 0)
        if status != 0:
            return status
        i = end
    store_i64(words + 32, i)
    store_i64(words + 40, used)
    return 0
