"""sum of rw_int256: exact, also where it leaves 256 bits in between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from risingpy.functions.aggregate.exact_sums import sum_integers, sum_sums, whole_numbers
from risingpy.functions.aggregate.grouping import GroupedRows
from risingpy.functions.aggregate.value_state import (
    ValueState,
    integers_of,
    merged_integers,
    present,
    signed_counts,
)
from risingpy.types.int256 import BYTES, DIGITS, column_of, encoded_words

Integers = npt.NDArray[np.int64]
_WORDS = BYTES // 8


@dataclass(frozen=True, slots=True)
class LargeSum(ValueState):
    """The state: the sum (`exact_sums`), and the number of values."""

    def accumulate(self, rows: GroupedRows, arguments: Sequence[pa.Array]) -> list[pa.Array]:
        rows, argument = present(rows, arguments[0])
        words = encoded_words(argument)
        sums = sum_integers(rows.codes, rows.signs, rows.groups, words, _WORDS)
        return [sums, pa.array(signed_counts(rows))]

    def merge(self, codes: Integers, groups: int, states: Sequence[pa.Array]) -> list[pa.Array]:
        return [sum_sums(codes, groups, states[0]), merged_integers(codes, groups, states[1])]

    def result(self, states: Sequence[pa.Array]) -> tuple[pa.Array, int]:
        empty = integers_of(states[1]) == 0
        digits, negative, failed = whole_numbers(states[0], DIGITS)
        # 2^255 is a magnitude of a negative number only.
        top = digits[:, -1] >= 1 << 31
        failed |= top & ~(negative & (digits[:, -1] == 1 << 31) & ~digits[:, :-1].any(axis=1))
        failed &= ~empty
        return column_of(digits, negative, empty | failed), int(failed.sum())
