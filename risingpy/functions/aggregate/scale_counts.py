"""Counts a group's values by display scale, and those that are not finite. Counts stay exact under retractions.

A state is a record for each kind that has a count, ascending: kind u8, count i64 little-endian. The kinds are those of
`wide_sum_kernels.number_kinds`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from risingpy.functions.aggregate.grouping import GroupedRows
from risingpy.functions.aggregate.kernels import add_signs
from risingpy.functions.aggregate.value_state import ValueState, present
from risingpy.functions.topics.numbers.wide_sum_kernels import INFINITE, KINDS, MINUS_INFINITE, NAN, add_by_kind
from risingpy.storage.codec.column_buffers import Bytes, Integers, whole
from risingpy.types.wide_numeric import rows_of

_RECORD = np.dtype([("kind", "u1"), ("count", "<i8")])

Floats = npt.NDArray[np.float64]


def counted_kinds(codes: Integers, signs: npt.NDArray[np.int8], groups: int, kinds: Bytes) -> pa.BinaryArray:
    """Each group's state for values of these kinds; those with sign -1 are subtracted."""
    present = np.flatnonzero(np.bincount(kinds, minlength=KINDS))
    if len(present) != 1:
        return _summed(codes, groups, kinds, signs.astype(np.int64))
    totals = np.zeros((1, groups), np.int64)  # one scale, as almost always
    add_signs(codes, signs, totals[0])
    return _states(present, totals)


def merged_kinds(codes: Integers, groups: int, states: pa.BinaryArray) -> pa.BinaryArray:
    """Each group's sum of states; NULL is the empty one."""
    owners, records = _records(states)
    kinds, counts = (np.ascontiguousarray(records[name]) for name in ("kind", "count"))
    return _summed(codes[owners], groups, kinds, counts)


def _summed(codes: Integers, groups: int, kinds: Bytes, counts: Integers) -> pa.BinaryArray:
    present = np.flatnonzero(np.bincount(kinds, minlength=KINDS))
    places = np.zeros(KINDS, np.int64)
    places[present] = groups * np.arange(len(present))
    totals = np.zeros(groups * len(present), np.int64)
    add_by_kind(codes, kinds, counts, places, totals)
    return _states(present, totals.reshape(len(present), groups))


def scales_and_specials(states: pa.BinaryArray) -> tuple[Bytes, Floats | None]:
    """Each group's largest scale (0 if it has none), and its sum if that is NaN or infinite; None if no sum is."""
    owners, records = _records(states)
    scales: Bytes = np.zeros(len(states), np.uint8)
    present = records["count"] > 0
    owners, kinds = owners[present], records["kind"][present]
    finite = kinds < NAN
    np.maximum.at(scales, owners[finite], kinds[finite])
    if finite.all():
        return scales, None
    found = np.zeros((3, len(states)), np.bool_)
    for place, kind in enumerate((NAN, INFINITE, MINUS_INFINITE)):
        found[place, owners[kinds == kind]] = True
    nan, plus, minus = found
    return scales, np.where(nan | (plus & minus), np.nan, np.where(plus, np.inf, np.where(minus, -np.inf, 0.0)))


@dataclass(frozen=True, slots=True)
class ScaleBits(ValueState):
    """scale_bits(n): a bigint with a bit for each scale that occurs; values that are not finite count as scale 0."""

    def accumulate(self, rows: GroupedRows, arguments: Sequence[pa.Array]) -> list[pa.Array]:
        rows, argument = present(rows, arguments[0])
        scales = np.ascontiguousarray(rows_of(argument)[:, -1])
        return [counted_kinds(rows.codes, rows.signs, rows.groups, scales)]

    def merge(self, codes: Integers, groups: int, states: Sequence[pa.Array]) -> list[pa.Array]:
        return [merged_kinds(codes, groups, states[0])]

    def result(self, states: Sequence[pa.Array]) -> tuple[pa.Array, int]:
        owners, records = _records(states[0])
        there = records["count"] > 0
        bits = np.zeros(len(states[0]), np.int64)
        np.bitwise_or.at(bits, owners[there], np.int64(1) << records["kind"][there].astype(np.int64))
        return pa.array(bits, mask=bits == 0), 0


def _states(kinds: Integers, totals: Integers) -> pa.BinaryArray:
    """States of counts by kind, ascending, and group."""
    there = totals.T != 0
    records = np.empty(np.count_nonzero(there), _RECORD)
    records["kind"] = np.broadcast_to(kinds, there.shape)[there]
    records["count"] = totals.T[there]
    offsets = np.zeros(totals.shape[1] + 1, np.int32)
    np.cumsum(_RECORD.itemsize * there.sum(axis=1), out=offsets[1:])
    return pa.Array.from_buffers(pa.binary(), totals.shape[1], [None, pa.py_buffer(offsets), pa.py_buffer(records)])


def _records(states: pa.BinaryArray) -> tuple[Integers, npt.NDArray[np.void]]:
    """All records, and the group of each."""
    states = whole(states)
    lengths = np.zeros(len(states), np.int64)
    if states.null_count:
        states = states.fill_null(b"")
    if len(states):
        offsets = np.frombuffer(states.buffers()[1], np.int32)[states.offset : states.offset + len(states) + 1]
        lengths = np.diff(offsets).astype(np.int64) // _RECORD.itemsize
        data = states.buffers()[2]
        if data is not None and offsets[-1] > offsets[0]:
            records = np.frombuffer(data, np.uint8)[offsets[0] : offsets[-1]].view(_RECORD)
            return np.repeat(np.arange(len(states)), lengths), records
    return np.empty(0, np.int64), np.empty(0, _RECORD)
