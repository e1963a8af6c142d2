"""How many values of each display scale a group has, and how many that are not finite: exact under deletions.

A state is a record for each kind that has a count, ascending: kind u8, count i64 little-endian. The kinds are those of
`wide_sum_kernels.number_kinds`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from risingpy.executors.aggregate.grouping import GroupedRows
from risingpy.executors.aggregate.value_state import ValueState, present
from risingpy.executors.expression.wide_sum_kernels import INFINITE, KINDS, MINUS_INFINITE, NAN
from risingpy.storage.column_buffers import Bytes, Integers, whole
from risingpy.types.wide_numeric import rows_of

_RECORD = np.dtype([("kind", "u1"), ("count", "<i8")])
_DENSE = 1 << 16  # counts of all kinds of all groups that are worth a table of them

Floats = npt.NDArray[np.float64]


def counted_kinds(codes: Integers, signs: npt.NDArray[np.int8], groups: int, kinds: Bytes) -> pa.BinaryArray:
    """Each group's state of values of these kinds, those with sign -1 taken away."""
    return _summed(codes * KINDS + kinds, signs.astype(np.int64), groups)


def merged_kinds(codes: Integers, groups: int, states: pa.BinaryArray) -> pa.BinaryArray:
    """Each group's sum of states; NULL is the empty one."""
    owners, records = _records(states)
    return _summed(codes[owners] * KINDS + records["kind"], records["count"].astype(np.int64), groups)


def scales_and_specials(states: pa.BinaryArray) -> tuple[Bytes, Floats | None]:
    """Each group's largest scale, 0 of none; and NaN or an infinity where its sum is that, None for nowhere."""
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
    """scale_bits(n): a bigint with a bit for each scale that there is; what is not finite counts as of scale 0."""

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


def _summed(places: Integers, counts: Integers, groups: int) -> pa.BinaryArray:
    if groups * KINDS <= max(_DENSE, len(places)):
        totals = np.zeros(groups * KINDS, np.int64)
        np.add.at(totals, places, counts)
        used = np.flatnonzero(totals)
        totals = totals[used]
    else:
        used, inverse = np.unique(places, return_inverse=True)
        totals = np.zeros(len(used), np.int64)
        np.add.at(totals, inverse, counts)
        used, totals = used[totals != 0], totals[totals != 0]
    records = np.empty(len(used), _RECORD)
    records["kind"], records["count"] = used % KINDS, totals
    offsets = np.zeros(groups + 1, np.int32)
    np.cumsum(_RECORD.itemsize * np.bincount(used // KINDS, minlength=groups), out=offsets[1:])
    return pa.Array.from_buffers(pa.binary(), groups, [None, pa.py_buffer(offsets), pa.py_buffer(records)])


def _records(states: pa.BinaryArray) -> tuple[Integers, npt.NDArray[np.void]]:
    """All records, and whose each is."""
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
