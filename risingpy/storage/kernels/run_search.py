"""Searches in sorted runs: many ascending keys at once, or one."""

from __future__ import annotations

from risingpy.storage.kernels.compile import inlined, kernel
from risingpy.storage.kernels.memory import compare, load_i32, load_i64, store_i64


@inlined
def _order_of_row(keys: int, offsets: int, row: int, other: int, other_length: int) -> int:
    start = load_i32(offsets + 4 * row)
    return compare(keys + start, load_i32(offsets + 4 * row + 4) - start, other, other_length)


@inlined
def _first_from(keys: int, offsets: int, low: int, high: int, key: int, key_length: int) -> int:
    """The first of the rows [low, high) whose key does not sort before the given one; `high` if none."""
    while low < high:
        middle = (low + high) >> 1
        if _order_of_row(keys, offsets, middle, key, key_length) < 0:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def find_place(keys: int, offsets: int, rows: int, key: int, key_length: int) -> int:
    """How many of the ascending keys sort before the given one."""
    return _first_from(keys, offsets, 0, rows, key, key_length)


@inlined
def _first_after(keys: int, offsets: int, rows: int, at: int, key: int, key_length: int) -> int:
    """As `find_place`, fast if the answer is a little more than `at`."""
    if at > 0 and _order_of_row(keys, offsets, at - 1, key, key_length) >= 0:
        return _first_from(keys, offsets, 0, at, key, key_length)
    step = 1
    while at + step <= rows and _order_of_row(keys, offsets, at + step - 1, key, key_length) < 0:
        at += step
        step *= 2
    return _first_from(keys, offsets, at, min(at + step, rows), key, key_length)


@kernel
def find_places(wanted: int, wanted_offsets: int, count: int, keys: int, offsets: int, rows: int, places: int) -> None:
    """Sets int64 `places[i]` to how many of the ascending keys sort before each wanted one. Fast if these ascend."""
    at = 0
    for i in range(count):
        start = load_i32(wanted_offsets + 4 * i)
        at = _first_after(keys, offsets, rows, at, wanted + start, load_i32(wanted_offsets + 4 * i + 4) - start)
        store_i64(places + 8 * i, at)


@kernel
def find_rows(
    wanted: int, wanted_offsets: int, begin: int, end: int,
    keys: int, offsets: int, rows: int, values: int, value_offsets: int, places: int,
) -> int:  # fmt: skip
    """Sets the pair of int64 `places[i]` to address and length of the value of each key in [begin, end) that is there.

    Those with an address already are passed over. Fast if the wanted keys ascend, as those of the run do. Returns how
    many were found.
    """
    found = 0
    at = 0
    for i in range(begin, end):
        if load_i64(places + 16 * i) != 0:
            continue
        start = load_i32(wanted_offsets + 4 * i)
        key = wanted + start
        length = load_i32(wanted_offsets + 4 * i + 4) - start
        at = _first_after(keys, offsets, rows, at, key, length)
        if at < rows and _order_of_row(keys, offsets, at, key, length) == 0:
            value = load_i32(value_offsets + 4 * at)
            store_i64(places + 16 * i, values + value)
            store_i64(places + 16 * i + 8, load_i32(value_offsets + 4 * at + 4) - value)
            found += 1
    return found
