"""Sums of wide numerics (`types.wide_numeric`), compiled: limb by limb, and what kinds of numbers are summed up.

Rows of limbs are as in `wide_kernels`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import types

from risingpy.functions.topics.numbers.wide_kernels import BASE, LIMBS
from risingpy.storage.kernels.compile import compiled, inlined

Integers = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

BYTES = 42
WORDS = 5  # int64 words that hold any magnitude and its sign
KINDS = 49  # of numbers: of each scale, and three that are not finite
NAN, INFINITE, MINUS_INFINITE = 46, 47, 48

_IN = types.Array(types.int64, 1, "C", readonly=True)
_SIGNS = types.Array(types.uint8, 1, "C", readonly=True)
_CHANGES = types.Array(types.int8, 1, "C", readonly=True)
_OUT = types.Array(types.int64, 1, "C")
_FLAGS = types.Array(types.uint8, 1, "C")


@compiled(_IN, _CHANGES, _IN, _OUT)
def add_limbs(codes: Integers, signs: npt.NDArray[np.int8], limbs: Integers, sums: Integers) -> None:
    """Adds signed limbs to the limbs of each row's group, a retracted row's taken away; nothing is carried.

    Sums stand limb by limb: all groups' lowest, then all groups' next. Most numbers have two limbs that are not 0: so
    the sums that are touched are few, and stay in the cache where groups are many.

    A group may have 9 · 10^9 rows more than were retracted before its limbs must be carried.
    """
    groups = len(sums) // LIMBS
    for i in range(len(codes)):
        for k in range(LIMBS):
            limb = limbs[LIMBS * i + k]
            if limb != 0:
                sums[groups * k + codes[i]] += limb if signs[i] > 0 else -limb


@compiled(_IN, _CHANGES, _SIGNS, _OUT, _FLAGS)
def add_wide_numbers(codes: Integers, signs: npt.NDArray[np.int8], data: Bytes, sums: Integers, kinds: Bytes) -> None:
    """As `add_limbs`, of wide numerics as they are stored, 42 bytes each; and their `number_kinds`."""
    groups = len(sums) // LIMBS
    for i in range(len(codes)):
        at = BYTES * i
        kinds[i] = _kind(data, at)
        if kinds[i] >= NAN:
            continue
        positive = data[at] != 0
        inverted = 0 if positive else 0xFFFFFFFF
        adds = positive == (signs[i] > 0)
        at += 1
        for k in range(LIMBS - 1, -1, -1):
            word = np.int64(data[at]) << 24 | np.int64(data[at + 1]) << 16 | np.int64(data[at + 2]) << 8
            word = (word | np.int64(data[at + 3])) ^ inverted
            if word != 0:
                sums[groups * k + codes[i]] += word if adds else -word
            at += 4


@compiled(_IN, _OUT)
def carry(sums: Integers, limbs: Integers) -> None:
    """Makes rows of limbs of such sums: each from 0 to below the base, but the highest, which has the sign."""
    groups = len(sums) // LIMBS
    for i in range(groups):
        over = 0
        for k in range(LIMBS - 1):
            total = sums[groups * k + i] + over
            over = total // BASE
            limbs[LIMBS * i + k] = total - over * BASE
        limbs[LIMBS * i + LIMBS - 1] = sums[groups * (LIMBS - 1) + i] + over


@inlined
def _kind(data: Bytes, at: int) -> int:
    if data[at] > 1:
        return NAN if data[at] == 3 else INFINITE
    # A limb of a negative number, inverted, begins with c4 or more.
    return MINUS_INFINITE if data[at] == 0 and data[at + 1] == 0 else data[at + BYTES - 1]


@compiled(_SIGNS, _FLAGS)
def number_kinds(data: Bytes, kinds: Bytes) -> None:
    """The scale of each number, or NAN, INFINITE or MINUS_INFINITE."""
    for i in range(len(kinds)):
        kinds[i] = _kind(data, BYTES * i)


@compiled(_IN, _SIGNS, _IN, _IN, _OUT)
def add_by_kind(codes: Integers, kinds: Bytes, counts: Integers, places: Integers, totals: Integers) -> None:
    """Adds counts to their group's total of their kind; the totals of a kind begin at its place."""
    for i in range(len(codes)):
        totals[places[kinds[i]] + codes[i]] += counts[i]


@compiled(_IN, _SIGNS, _OUT)
def to_long_words(limbs: Integers, negative: Bytes, words: Integers) -> None:
    """Numbers of 320 bits, five int64 each, the lowest first, in units of 10^-45."""
    parts = np.zeros(2 * WORDS, np.int64)
    for i in range(len(negative)):
        parts[:] = 0
        for j in range(LIMBS - 1, -1, -1):
            carry = limbs[LIMBS * i + j]
            for k in range(2 * WORDS):
                total = parts[k] * BASE + carry
                parts[k] = total & 0xFFFFFFFF
                carry = total >> 32
        if negative[i] != 0:
            carry = 1
            for k in range(2 * WORDS):
                total = (parts[k] ^ 0xFFFFFFFF) + carry
                parts[k] = total & 0xFFFFFFFF
                carry = total >> 32
        for k in range(WORDS):
            words[WORDS * i + k] = parts[2 * k] | (parts[2 * k + 1] << 32)
