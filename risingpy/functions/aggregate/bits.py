"""bit_and, bit_or and bit_xor. The state counts the values that have each bit, so that a value can be retracted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from risingpy.functions.aggregate.grouping import GroupedRows
from risingpy.functions.aggregate.kernels import add_bits
from risingpy.functions.aggregate.value_state import (
    ValueState,
    integers_of,
    merged_integers,
    present,
    signed_counts,
)
from risingpy.storage.codec.column_buffers import whole
from risingpy.types import SqlType

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class BitCounts(ValueState):
    """An int64, little-endian, for each bit of the type, lowest first; and the number of values."""

    function: str
    type: SqlType

    def accumulate(self, rows: GroupedRows, arguments: Sequence[pa.Array]) -> list[pa.Array]:
        rows, argument = present(rows, arguments[0])
        counts = np.zeros(rows.groups * self._bits, np.int64)
        add_bits(rows.codes, rows.signs, integers_of(argument.cast(pa.int64())), self._bits, counts)
        return [self._stored(counts), pa.array(signed_counts(rows))]

    def merge(self, codes: Integers, groups: int, states: Sequence[pa.Array]) -> list[pa.Array]:
        counts = np.zeros((groups, self._bits), np.int64)
        np.add.at(counts, codes, self._counts(states[0]))
        return [self._stored(counts.reshape(-1)), merged_integers(codes, groups, states[1])]

    def result(self, states: Sequence[pa.Array]) -> tuple[pa.Array, int]:
        counts, number = self._counts(states[0]), integers_of(states[1])
        match self.function:
            case "bit_and":
                bits = counts == number[:, None]
            case "bit_or":
                bits = counts > 0
            case _:
                bits = counts % 2 == 1
        packed = np.packbits(bits, axis=1, bitorder="little")
        values = np.ascontiguousarray(packed).view(f"<i{self._bits // 8}")[:, 0]
        return pa.array(values, self.type.arrow, mask=number == 0), 0

    @property
    def _bits(self) -> int:
        width: int = self.type.arrow.bit_width
        return width

    def _stored(self, counts: Integers) -> pa.BinaryArray:
        width = 8 * self._bits
        offsets = np.arange(len(counts) // self._bits + 1, dtype=np.int32) * width
        data = pa.py_buffer(counts.astype("<i8"))
        return pa.Array.from_buffers(pa.binary(), len(offsets) - 1, [None, pa.py_buffer(offsets), data])

    def _counts(self, column: pa.BinaryArray) -> Integers:
        column = whole(column)
        rows = np.zeros((len(column), self._bits), np.int64)
        filled = column.is_valid().to_numpy(zero_copy_only=False)
        stored = column.drop_null()
        if len(stored):
            offsets = np.frombuffer(stored.buffers()[1], np.int32)
            data = np.frombuffer(stored.buffers()[2], np.uint8)
            first = offsets[stored.offset]
            rows[filled] = data[first : offsets[stored.offset + len(stored)]].view("<i8").reshape(-1, self._bits)
        return rows
