"""sum of wide numerics: exact, limb by limb."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.functions.aggregate.grouping import GroupedRows
from risingpy.functions.aggregate.scale_counts import counted_kinds, merged_kinds, scales_and_specials
from risingpy.functions.aggregate.value_state import (
    ValueState,
    integers_of,
    merged_integers,
    present,
    signed_counts,
)
from risingpy.functions.topics.numbers.wide_kernels import LIMBS, settle
from risingpy.functions.topics.numbers.wide_sum_kernels import add_limbs, add_wide_numbers, carry
from risingpy.types.wide_numeric import column_of, rows_of

Integers = npt.NDArray[np.int64]
_BYTES = 8 * LIMBS


@dataclass(frozen=True, slots=True)
class WideSum(ValueState):
    """The state: ten limbs, the lowest first, each an int64 from 0 to 10^9 - 1 but the highest, which has the sign.

    It also counts the values of each scale: the sum has the largest one.
    """

    def accumulate(self, rows: GroupedRows, arguments: Sequence[pa.Array]) -> list[pa.Array]:
        rows, argument = present(rows, arguments[0])
        sums = np.zeros(LIMBS * rows.groups, np.int64)
        kinds = np.empty(len(argument), np.uint8)
        if len(argument):
            add_wide_numbers(rows.codes, rows.signs, rows_of(argument).reshape(-1), sums, kinds)
        counts = counted_kinds(rows.codes, rows.signs, rows.groups, kinds)
        return [_state(sums), counts, pa.array(signed_counts(rows))]

    def merge(self, codes: Integers, groups: int, states: Sequence[pa.Array]) -> list[pa.Array]:
        sums = np.zeros(LIMBS * groups, np.int64)
        add_limbs(codes, np.ones(len(codes), np.int8), _limbs(states[0]), sums)
        return [_state(sums), merged_kinds(codes, groups, states[1]), merged_integers(codes, groups, states[2])]

    def result(self, states: Sequence[pa.Array]) -> tuple[pa.Array, int]:
        empty = integers_of(states[2]) == 0
        limbs = _limbs(states[0]).copy()
        negative, failed = np.empty((2, len(empty)), np.uint8)
        settle(limbs, negative, failed)
        scales, special = scales_and_specials(states[1])
        too_large = ~empty & failed.astype(np.bool_)
        if special is not None:
            too_large &= special == 0
        shown = limbs.reshape(-1, LIMBS)[:, ::-1], negative.astype(np.bool_), scales
        return column_of(*shown, empty | too_large, special), int(too_large.sum())


def _state(sums: Integers) -> pa.Array:
    """Sums of limbs as states, carried: equal sums are equal bytes."""
    limbs, count = np.empty_like(sums), len(sums) // LIMBS
    carry(sums, limbs)
    offsets = pa.py_buffer(_BYTES * np.arange(count + 1, dtype=np.int32))
    return pa.Array.from_buffers(pa.binary(), count, [None, offsets, pa.py_buffer(limbs)])


def _limbs(states: pa.Array) -> Integers:
    """The states' limbs, one after the other; 0 of NULL."""
    if not len(states):
        return np.empty(0, np.int64)
    filled = pc.fill_null(states, bytes(_BYTES)) if states.null_count else states
    start = int(np.frombuffer(filled.buffers()[1], np.int32)[filled.offset])
    return np.require(np.frombuffer(filled.buffers()[2], np.int64, LIMBS * len(states), start), requirements="A")
