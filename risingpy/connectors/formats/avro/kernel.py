"""The machine that runs a program (see `program`) over the bytes of messages.

It trusts nothing that a message says: each read is checked against the message's end, and a list may have as many items
as the message has bytes, and some more that have no bytes. A message that breaks a rule takes back what it has written.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit, types

# Instructions; those up to ENUM read one value.
NULL, BOOLEAN, VARINT, FLOAT, DOUBLE, BYTES, FIXED, ENUM = range(8)
RECORD, ARRAY, NEXT, UNION, JUMP, SPAN, SPAN_END, END = range(8, 16)
UNWANTED = -1  # a slot that is not there

EMPTY_ITEMS = 65_536  # of one message; items without bytes cost it nothing, and us memory
ENDS_EARLY, NUMBER, BRANCH, SYMBOL, LEFT, LENGTH, ITEMS, TRUTH = range(1, 9)
REASONS = {
    ENDS_EARLY: "the message ends within a value",
    NUMBER: "a number has too many bytes",
    BRANCH: "a union has no such branch",
    SYMBOL: "an enum has no such symbol",
    LEFT: "the message has bytes after its last value",
    LENGTH: "a length is negative",
    ITEMS: "a list has more items than the message has bytes",
    TRUTH: "a boolean is neither 0 nor 1",
}
_INT_BOUND = 2**31
_VARINT_BYTES = 10


@njit(error_model="numpy")
def _varint(data: Any, position: Any, end: Any) -> Any:
    """A number in zigzag form, and the position after it. A negative position is why it could not be read."""
    value = np.uint64(0)
    for k in range(_VARINT_BYTES):
        if position >= end:
            return 0, -ENDS_EARLY
        byte = np.uint64(data[position])
        position += 1
        if k == _VARINT_BYTES - 1 and byte > np.uint64(1):
            break
        value |= (byte & np.uint64(0x7F)) << np.uint64(7 * k)
        if byte < np.uint64(0x80):
            return np.int64(value >> np.uint64(1)) ^ -np.int64(value & np.uint64(1)), position
    return 0, -NUMBER


@njit(error_model="numpy")
def _leaf(data: Any, position: Any, end: Any, op: Any, a: Any) -> Any:
    """The two words of a value, and the position after it, negative as above."""
    if op in (VARINT, ENUM):
        one, position = _varint(data, position, end)
        if op == ENUM and position >= 0 and (one < 0 or one >= a):
            position = -SYMBOL
        if op == VARINT and a == 32 and (one >= _INT_BOUND or one < -_INT_BOUND):
            position = -NUMBER
        return one, np.int64(0), position
    size = np.int64(a)
    if op == BYTES:
        size, position = _varint(data, position, end)
        if position >= 0 and size < 0:
            position = -LENGTH
    if position < 0 or size > end - position:
        return np.int64(0), np.int64(0), position if position < 0 else -ENDS_EARLY
    if op in (BYTES, FIXED):
        return position, size, position + size
    bits = np.uint64(0)
    for k in range(size):
        bits |= np.uint64(data[position + k]) << np.uint64(8 * k)
    truth_is_odd = op == BOOLEAN and bits > np.uint64(1)
    return np.int64(bits), np.int64(0), -TRUTH if truth_is_odd else position + size


@njit(error_model="numpy")
def _branch(data: Any, position: Any, end: Any, branches: Any) -> Any:
    """Which of its branches a union has, and the position after that."""
    branch, position = _varint(data, position, end)
    if position >= 0 and (branch < 0 or branch >= branches):
        position = -BRANCH
    return branch, position


@njit(error_model="numpy")
def _items(data: Any, position: Any, end: Any, left: Any, budget: Any) -> Any:
    """How many items of a list's block are left, those of the next block if none are: 0 at the list's end.

    After a negative number of items stands the size of the block. The budget is what later lists may have.
    """
    if left > 0:
        return left, position, budget
    count, position = _varint(data, position, end)
    if position >= 0 and count < 0:
        count = -count
        _, position = _varint(data, position, end)
    if position >= 0 and (count < 0 or count > budget):
        position = -ITEMS
    return count, position, budget - count


@njit(error_model="numpy")
def _put(out: Any, fills: bool, slot: Any, one: Any, two: Any) -> None:
    base, first, second, counts = out
    if slot >= 0:
        if fills:
            first[base[slot] + counts[slot]] = one
            second[base[slot] + counts[slot]] = two
        counts[slot] += 1


@njit(error_model="numpy")
def _message(data: Any, position: Any, end: Any, code: Any, jumps: Any, registers: Any, out: Any, fills: bool) -> Any:
    """Runs the program over one message: 0, or why the message is bad."""
    remaining, total, places = registers  # of lists and spans, by the place of their instruction
    budget = end - position + EMPTY_ITEMS
    at = 0
    while True:
        op, slot, a, b = code[at, 0], code[at, 1], code[at, 2], code[at, 3]
        at += 1
        one, two = np.int64(0), np.int64(0)
        if (op <= ENUM or op == SPAN) and b >= 0:
            branch, position = _branch(data, position, end, 2)
            if position >= 0 and branch == b:
                _put(out, fills, slot, 0, -1)
                at = a if op == SPAN else at
                continue
        if position < 0:
            return -position
        if op <= ENUM:
            one, two, position = _leaf(data, position, end, op, a)
        elif op == UNION:
            one, position = _branch(data, position, end, b)
            at = jumps[a + one * (position >= 0)]
        elif op in (ARRAY, NEXT):  # b is where the list's instruction is
            total[b] = total[b] + 1 if op == NEXT else 0
            left = remaining[b] - 1 if op == NEXT else 0
            remaining[b], position, budget = _items(data, position, end, left, budget)
            one = total[b]
            at, slot = (b + 1, UNWANTED) if remaining[b] > 0 else (code[b, 2], slot)
        elif op == SPAN:
            places[a] = position
            slot = UNWANTED
        elif op == SPAN_END:
            one, two = places[at], position - places[at]
        elif op == JUMP:
            at, slot = a, UNWANTED
        elif op == END:
            return 0 if position == end else LEFT
        if position < 0:
            return -position
        _put(out, fills, slot, one, two)


def _run(
    data: Any,  # uint8[:]: the payloads
    starts: Any,  # int64[:]: where each message begins
    ends: Any,
    code: Any,
    jumps: Any,
    out: Any,  # the place of each slot's first value in the words, first words, second words, how many a slot has
    status: Any,  # uint8[:]: 0, or why a message is bad
    fills: bool,  # whether values are written, or only counted
) -> None:
    counts = out[3]
    saved = np.empty_like(counts)
    registers = (np.zeros(len(code), np.int64), np.zeros(len(code), np.int64), np.zeros(len(code) + 1, np.int64))
    for message in range(len(starts)):
        if status[message] != 0:
            continue
        saved[:] = counts
        error = _message(data, starts[message], ends[message], code, jumps, registers, out, fills)
        if error != 0:
            status[message] = error
            counts[:] = saved


def _gather(data: Any, starts: Any, ends: Any, out: Any) -> None:
    """Copies pieces of `data` one after the other: piece k to where `ends[k]` begins; `ends` begins with 0."""
    for k in range(len(starts)):
        source, target = starts[k], ends[k]
        for n in range(ends[k + 1] - target):
            out[target + n] = data[source + n]


_BYTES, _WORDS = types.Array(types.uint8, 1, "C", readonly=True), types.int64[::1]
_STATUS = types.uint8[::1]


@functools.cache
def run() -> Callable[..., None]:
    """The machine, compiled; from Numba's cache but for the first time."""
    out = types.UniTuple(_WORDS, 4)  # type: ignore[no-untyped-call]
    signature = types.void(_BYTES, _WORDS, _WORDS, types.int64[:, ::1], _WORDS, out, _STATUS, types.boolean)
    compiled: Callable[..., None] = njit(signature, cache=True, nogil=True, error_model="numpy")(_run)
    return compiled


@functools.cache
def gather() -> Callable[..., None]:
    """`_gather`, compiled."""
    signature = types.void(_BYTES, _WORDS, _WORDS, _STATUS)
    compiled: Callable[..., None] = njit(signature, cache=True, nogil=True, error_model="numpy")(_gather)
    return compiled
