"""Sorting binary keys, given as Arrow data and offsets.

Rows are sorted by the 8 bytes after the prefix that all keys share: a radix sort, which is stable. Of rows
that agree there, a large run is sorted so once more, by the 8 bytes after the prefix that it shares (keys of
one vnode, say); what is equal then, and small runs, are sorted by comparing keys.

A pair is two int64: a word of 8 key bytes, big-endian, and its row.
"""

from __future__ import annotations

from risingpy.storage.kernels.compile import inlined, kernel
from risingpy.storage.kernels.grouping import partial_word
from risingpy.storage.kernels.memory import compare, load_i32, load_i64, load_u8, store_i64, swap_bytes

LARGE_RUN = 64  # below, counting bytes costs more than comparing keys


@inlined
def _start(offsets: int, row: int, skip: int) -> int:
    return load_i32(offsets + 4 * row) + skip


@inlined
def _length(offsets: int, row: int, skip: int) -> int:
    return load_i32(offsets + 4 * row + 4) - load_i32(offsets + 4 * row) - skip


@inlined
def _common_prefix(data: int, offsets: int, skip: int, pairs: int, low: int, high: int) -> int:
    """How many bytes all keys of the pairs share, `skip` of them known."""
    row = load_i64(pairs + 16 * low + 8)
    first = data + _start(offsets, row, skip)
    shared = _length(offsets, row, skip)
    for i in range(low + 1, high):
        row = load_i64(pairs + 16 * i + 8)
        other = data + _start(offsets, row, skip)
        shared = min(shared, _length(offsets, row, skip))
        k = 0
        while k + 8 <= shared and load_i64(first + k) == load_i64(other + k):
            k += 8
        while k < shared and load_u8(first + k) == load_u8(other + k):
            k += 1
        shared = min(shared, k)
    return skip + shared


@inlined
def _fetch_words(data: int, offsets: int, skip: int, pairs: int, low: int, high: int) -> None:
    """Sets the pairs' words to the key bytes at `skip`, zeros beyond a key's end."""
    for i in range(low, high):
        row = load_i64(pairs + 16 * i + 8)
        start = data + _start(offsets, row, skip)
        length = _length(offsets, row, skip)
        word = load_i64(start) if length >= 8 else partial_word(start, length)
        store_i64(pairs + 16 * i, swap_bytes(word))


@kernel
def _radix_sort(pairs: int, n: int, spare: int, counts: int) -> int:
    """Sorts pairs by their words, as unsigned, stably, from the last byte to the first.

    `spare` has room for the pairs, `counts` for 8 × 256 int64. Returns the address of the result, `pairs` or
    `spare`. A byte that all words share costs nothing.
    """
    for slot in range(8 * 256):
        store_i64(counts + 8 * slot, 0)
    for i in range(n):
        word = load_i64(pairs + 16 * i)
        for digit in range(8):
            counter = counts + 8 * (256 * digit + ((word >> (8 * digit)) & 255))
            store_i64(counter, load_i64(counter) + 1)
    for digit in range(8):
        table = counts + 8 * 256 * digit
        if n == 0 or load_i64(table + 8 * ((load_i64(pairs) >> (8 * digit)) & 255)) == n:
            continue
        total = 0
        for value in range(256):
            count = load_i64(table + 8 * value)
            store_i64(table + 8 * value, total)
            total += 16 * count
        for i in range(n):
            word = load_i64(pairs + 16 * i)
            counter = table + 8 * ((word >> (8 * digit)) & 255)
            target = load_i64(counter)
            store_i64(counter, target + 16)
            store_i64(spare + target, word)
            store_i64(spare + target + 8, load_i64(pairs + 16 * i + 8))
        pairs, spare = spare, pairs
    return pairs


@inlined
def _sort_by_word(data: int, offsets: int, skip: int, pairs: int, spare: int, counts: int, low: int, high: int) -> int:
    """Sorts pairs[low:high] by the 8 bytes after the prefix that they share; returns the prefix's length."""
    skip = _common_prefix(data, offsets, skip, pairs, low, high)
    _fetch_words(data, offsets, skip, pairs, low, high)
    run = pairs + 16 * low
    result = _radix_sort(run, high - low, spare, counts)
    if result != run:
        for i in range(2 * (high - low)):
            store_i64(run + 8 * i, load_i64(result + 8 * i))
    return skip


@inlined
def _run_end(pairs: int, low: int, high: int) -> int:
    """The end of the run of equal words that starts at `low`."""
    word = load_i64(pairs + 16 * low)
    end = low + 1
    while end < high and load_i64(pairs + 16 * end) == word:
        end += 1
    return end


@inlined
def _is_after(data: int, offsets: int, skip: int, a: int, b: int) -> bool:
    """Whether key a sorts after key b; their first `skip` bytes are equal."""
    a_start = data + _start(offsets, a, skip)
    b_start = data + _start(offsets, b, skip)
    a_length = _length(offsets, a, skip)
    b_length = _length(offsets, b, skip)
    return compare(a_start, a_length, b_start, b_length) > 0


@inlined
def _merge_runs(data: int, offsets: int, skip: int, order: int, scratch: int, low: int, middle: int, high: int) -> None:
    """Merges order[low:middle] and order[middle:high], each sorted, through `scratch`; stable."""
    if not _is_after(data, offsets, skip, load_i64(order + 8 * (middle - 1)), load_i64(order + 8 * middle)):
        return
    left = low
    right = middle
    for target in range(low, high):
        take_left = right == high
        if left < middle and right < high:
            take_left = not _is_after(data, offsets, skip, load_i64(order + 8 * left), load_i64(order + 8 * right))
        if take_left:
            store_i64(scratch + 8 * target, load_i64(order + 8 * left))
            left += 1
        else:
            store_i64(scratch + 8 * target, load_i64(order + 8 * right))
            right += 1
    for target in range(low, high):
        store_i64(order + 8 * target, load_i64(scratch + 8 * target))


@inlined
def _sort_by_key(data: int, offsets: int, skip: int, order: int, scratch: int, low: int, high: int) -> None:
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
def sort_rows(data: int, offsets: int, n: int, pairs: int, spare: int, counts: int, order: int, scratch: int) -> None:
    """Sets `order` to the rows in ascending order of their keys, equal ones as they stand.

    `pairs` and `spare` have room for n pairs, `counts` for 2048 int64, `order` and `scratch` for n.
    """
    if n == 0:
        return
    for i in range(n):
        store_i64(pairs + 16 * i + 8, i)
    skip = _sort_by_word(data, offsets, 0, pairs, spare, counts, 0, n)
    low = 0
    while low < n:
        high = _run_end(pairs, low, n)
        deeper = skip
        large = high - low >= LARGE_RUN
        if large:
            deeper = _sort_by_word(data, offsets, skip, pairs, spare, counts, low, high)
        for i in range(low, high):
            store_i64(order + 8 * i, load_i64(pairs + 16 * i + 8))
        while low < high:
            end = _run_end(pairs, low, high) if large else high
            _sort_by_key(data, offsets, deeper, order, scratch, low, end)
            low = end
