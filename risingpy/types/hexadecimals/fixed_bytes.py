"""Values of a fixed number of bytes, shown as hexadecimal digits with marks between them: uuid, macaddr."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import SqlError
from risingpy.types.sql_type import SqlType

_HEX_PAIRS = np.frombuffer(b"".join(b"%02x" % byte for byte in range(256)), np.uint16)
_HEX_VALUE = np.zeros(256, np.uint8)
for _value, _digit in enumerate(b"0123456789abcdef"):
    _HEX_VALUE[_digit] = _value
    _HEX_VALUE[ord(chr(_digit).upper())] = _value


class HexadecimalForms:
    """What such a type has of `forms.TypeForms`, all but `parse`.

    `zero` is the text of the value that is all zeros: digits in groups, with one mark between them.
    """

    def __init__(self, zero: str) -> None:
        self._zero = zero
        self._marks = np.frombuffer(zero.encode(), np.uint8)
        self._digits = np.flatnonzero(self._marks == ord("0"))
        self._length = len(self._digits) // 2
        (self._mark,) = set(zero) - {"0"}
        ends = np.cumsum([len(group) for group in zero.split(self._mark)]).tolist()
        self._groups = [slice(start, end) for start, end in zip([0, *ends], ends, strict=False)]
        self._usual = "^" + re.escape(zero).replace("0", "[0-9a-fA-F]") + "$"

    def format_value(self, type_: SqlType, value: object, time_zone: str) -> str:
        assert isinstance(value, bytes)
        digits = value.hex()
        return self._mark.join([digits[group] for group in self._groups])

    def encode(self, type_: SqlType, value: object) -> bytes:
        assert isinstance(value, bytes)
        return value

    def decode(self, type_: SqlType, data: bytes) -> bytes:
        if len(data) != self._length:
            raise SqlError("incorrect binary data format", sqlstate="22P03")
        return bytes(data)

    def text_column(self, type_: SqlType, array: pa.Array, time_zone: str) -> pa.Array:
        count, width = len(array), len(self._zero)
        shown = np.tile(self._marks, (count, 1))
        shown[:, self._digits] = _HEX_PAIRS[self._bytes(array)].view(np.uint8).reshape(count, len(self._digits))
        offsets = pa.py_buffer(width * np.arange(count + 1, dtype=np.int32))
        return pa.StringArray.from_buffers(count, offsets, pa.py_buffer(shown.reshape(-1)), _valid(array))

    def binary_column(self, type_: SqlType, array: pa.Array) -> npt.NDArray[np.void]:
        return np.ascontiguousarray(self._bytes(array)).view(f"V{self._length}")[:, 0]

    def parse_plain(self, type_: SqlType, texts: pa.Array) -> tuple[pa.Array, pa.Array | None]:
        """The form in which values are shown."""
        if len(texts) == 0:
            return pa.array([], pa.binary()), None
        width = len(self._zero)
        plain = pc.fill_null(pc.match_substring_regex(texts, self._usual), False)
        filled = pc.if_else(plain, texts, self._zero).cast(pa.binary()).cast(pa.binary(width))
        raw = np.frombuffer(filled.buffers()[1], np.uint8)
        digits = _HEX_VALUE[raw.reshape(-1, width)[: len(texts), self._digits]]
        packed = np.ascontiguousarray((digits[:, 0::2] << 4) | digits[:, 1::2])
        offsets = pa.py_buffer(self._length * np.arange(len(texts) + 1, dtype=np.int32))
        buffers = [_valid(texts), offsets, pa.py_buffer(packed.reshape(-1))]
        return pa.Array.from_buffers(pa.binary(), len(texts), buffers), pc.or_(plain, pc.is_null(texts))

    def _bytes(self, array: pa.Array) -> npt.NDArray[np.uint8]:
        """The column's bytes, a row each; zeros where it is NULL."""
        filled = pc.fill_null(array, bytes(self._length)) if array.null_count else array
        fixed = filled.cast(pa.binary(self._length))
        if not len(array):
            return np.empty((0, self._length), np.uint8)
        raw = np.frombuffer(fixed.buffers()[1], np.uint8)
        rows = raw[fixed.offset * self._length : (fixed.offset + len(array)) * self._length]
        return rows.reshape(-1, self._length)


def _valid(array: pa.Array) -> pa.Buffer | None:
    """The bitmap of the rows that are not NULL; None if all are."""
    return None if array.null_count == 0 else pc.is_valid(array).buffers()[1]
