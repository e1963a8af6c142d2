"""Functions on bit strings (`types.packed.bit_string`): a column of texts of the digits 0 and 1."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import InvalidParameterValue, NumericValueOutOfRange, SqlError
from risingpy.functions.topics.calling import Compute, Function, by_row, per_constant
from risingpy.types import SqlType, TypeKind
from risingpy.types.bytea import offsets_and_bytes
from risingpy.types.packed.bit_string import check_length

Digits = npt.NDArray[np.uint8]

_ZERO = ord("0")
_ROW_BYTES = 8  # of 64 bits


def _column(digits: Digits, like: pa.Array) -> pa.Array:
    """The column with these digits, as many in each row as `like` has."""
    offsets, _ = offsets_and_bytes(like)
    moved = pa.py_buffer((offsets - offsets[0]).astype(np.int32))
    return pa.StringArray.from_buffers(len(like), moved, pa.py_buffer(np.ascontiguousarray(digits, np.uint8)))


def _lengths(column: pa.Array) -> npt.NDArray[np.int64]:
    return np.diff(offsets_and_bytes(column)[0]).astype(np.int64)


def _combined(word: str, operation: Callable[[Digits, Digits], Digits]) -> Compute:
    def computed(left: pa.Array, right: pa.Array) -> pa.Array:
        if (_lengths(left) != _lengths(right)).any():
            raise SqlError(f"cannot {word} bit strings of different sizes", sqlstate="22026")
        return _column(operation(offsets_and_bytes(left)[1], offsets_and_bytes(right)[1]), left)

    return computed


def _inverted(column: pa.Array) -> pa.Array:
    return _column(2 * _ZERO + 1 - offsets_and_bytes(column)[1], column)


def _shifted(direction: int) -> Callable[[int], Compute]:
    """`direction` 1: to the left. The length stays, zeros come in."""

    def shifted(places: int) -> Compute:
        def computed(column: pa.Array) -> pa.Array:
            count = min(abs(places), int(_lengths(column).max(initial=0)))
            if not count:
                return column
            zeros = pa.scalar("0" * count)
            if places * direction > 0:
                return pc.utf8_slice_codeunits(pc.binary_join_element_wise(column, zeros, ""), count)
            return pc.utf8_slice_codeunits(pc.binary_join_element_wise(zeros, column, ""), 0, -count)

        return computed

    return shifted


def _checked_index(bits: str, index: int) -> None:
    if not 0 <= index < len(bits):
        raise SqlError(f"bit index {index} out of valid range (0..{len(bits) - 1})", sqlstate="2202E")


def _get_bit(bits: str, index: int) -> int:
    _checked_index(bits, index)
    return int(bits[index])


def _set_bit(bits: str, index: int, bit: int) -> str:
    _checked_index(bits, index)
    if bit not in (0, 1):
        raise InvalidParameterValue("new bit must be 0 or 1")
    return f"{bits[:index]}{bit}{bits[index + 1 :]}"


def _position(bits: str, part: str) -> int:
    """Nothing stands in an empty string, not even an empty one."""
    return bits.find(part) + 1 if bits else 0


def _octets(column: pa.Array) -> pa.Array:
    return pa.array(-(-_lengths(column) // 8), pa.int32())


def _ones(column: pa.Array) -> pa.Array:
    return pc.count_substring(column, "1").cast(pa.int64())


def _to_integer(name: str, width: int) -> Compute:
    """The cast to an integer of so many bits: a string of that length has a sign."""

    def computed(column: pa.Array) -> pa.Array:
        lengths = _lengths(column)
        if (lengths > width).any():
            raise NumericValueOutOfRange(f"{name} out of range")
        padded = pc.utf8_lpad(column, width, padding="0").cast(pa.binary()).cast(pa.binary(width))
        digits = np.frombuffer(padded.buffers()[1], np.uint8)[: width * len(column)] - _ZERO
        packed = np.packbits(digits.reshape(-1, width), axis=1)
        return pa.array(packed.reshape(-1).view(f">i{width // 8}").astype(f"i{width // 8}"))

    return computed


def _of_integer(length: int) -> Compute:
    """The cast of a bigint to bit(n): its lowest bits, and the sign in front of them where there are not enough."""

    def computed(column: pa.Array) -> pa.Array:
        values = column.to_numpy(zero_copy_only=False).astype(np.int64)
        shifts = np.minimum(np.arange(length - 1, -1, -1), 8 * _ROW_BYTES - 1)
        digits = ((values[:, None] >> shifts) & 1).astype(np.uint8) + _ZERO
        offsets = pa.py_buffer((length * np.arange(len(column) + 1)).astype(np.int32))
        return pa.StringArray.from_buffers(len(column), offsets, pa.py_buffer(digits.reshape(-1)))

    return computed


def _checked(kind: TypeKind) -> Callable[[int], Compute]:
    """A string on its way into a column: another length is an error."""

    def checked(length: int) -> Compute:
        type_ = SqlType(kind, length=length)

        def computed(column: pa.Array) -> pa.Array:
            lengths = _lengths(column)
            for each in (int(lengths.min(initial=length)), int(lengths.max(initial=length))):
                check_length(type_, each)
            return column

        return computed

    return checked


BIT_STRINGS: dict[str, Function] = {
    "bits_and": Function(_combined("AND", np.bitwise_and)),
    "bits_or": Function(_combined("OR", np.bitwise_or)),
    "bits_xor": Function(_combined("XOR", lambda left, right: (left ^ right) + _ZERO)),
    "bits_not": Function(_inverted),
    "bits_shift_left": Function(per_constant(_shifted(1), constants=[1])),
    "bits_shift_right": Function(per_constant(_shifted(-1), constants=[1])),
    "get_bit_of_bits": Function(by_row(_get_bit, pa.int32())),
    "set_bit_of_bits": Function(by_row(_set_bit, pa.string())),
    "position_of_bits": Function(by_row(_position, pa.int32())),
    "octet_length_bits": Function(_octets),
    "bit_count_bits": Function(_ones),
    "bits_to_integer": Function(_to_integer("integer", 32)),
    "bits_to_bigint": Function(_to_integer("bigint", 64)),
    "bits_of_integer": Function(per_constant(_of_integer, constants=[1])),
    "check_bit": Function(per_constant(_checked(TypeKind.BIT), constants=[1])),
    "check_varbit": Function(per_constant(_checked(TypeKind.VARBIT), constants=[1])),
}
