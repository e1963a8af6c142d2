"""Arrow arrays as the kernels see them: addresses of buffers, and arrays made of buffers that they filled.

`buffers_of` takes any array of one of our types (sliced, chunked, with or without NULLs); booleans are
unpacked to a byte each. `Output` gathers the rows of an encoding, `fixed_array` and `binary_array` make
the columns of a decoding.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from risingpy.errors import IoError
from risingpy.storage.kernels.sizing import lengths_to_offsets, longest_row

MAX_BATCH_BYTES = 2**31 - 1  # Arrow's binary arrays have int32 offsets

BINARY = pa.binary()

Integers = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]


class CorruptData(IoError):
    """Stored bytes are not what was written: the operator restores the data directory."""

    sqlstate = "XX001"


def joined_bytes(values: Sequence[bytes]) -> tuple[bytes, array[int]]:
    """A few byte strings as kernels take them: data and int32 offsets. An Arrow array would cost the GIL twice."""
    return b"".join(values), array("i", accumulate(map(len, values), initial=0))


class Form(Enum):
    """How the bytes of a type order: which kernels it takes."""

    INTEGER = "integer"
    FLOAT = "float"
    DECIMAL = "decimal"
    INTERVAL = "interval"
    BINARY = "binary"


@dataclass(frozen=True, slots=True)
class Physical:
    """The physical form of an Arrow type; `width` is a datum's bytes, 0 for strings and byte strings."""

    form: Form
    width: int


_BOOLEAN = Physical(Form.INTEGER, 1)
_PHYSICAL: dict[int, Physical] = {
    pa.bool_().id: _BOOLEAN,
    pa.int16().id: Physical(Form.INTEGER, 2),
    pa.int32().id: Physical(Form.INTEGER, 4),
    pa.int64().id: Physical(Form.INTEGER, 8),
    pa.float32().id: Physical(Form.FLOAT, 4),
    pa.float64().id: Physical(Form.FLOAT, 8),
    pa.decimal128(1).id: Physical(Form.DECIMAL, 16),
    pa.string().id: Physical(Form.BINARY, 0),
    pa.binary().id: Physical(Form.BINARY, 0),
    pa.date32().id: Physical(Form.INTEGER, 4),
    pa.time64("us").id: Physical(Form.INTEGER, 8),
    pa.timestamp("us").id: Physical(Form.INTEGER, 8),
    pa.month_day_nano_interval().id: Physical(Form.INTERVAL, 16),
}


def physical(arrow_type: pa.DataType) -> Physical:
    """The physical form of a type of ours; TypeError for any other Arrow type."""
    try:
        return _PHYSICAL[arrow_type.id]
    except KeyError:
        raise TypeError(f"no SQL type is stored as {arrow_type}") from None


def is_integer(arrow_type: pa.DataType) -> bool:
    """Whether values of the type are stored as integers of a fixed width."""
    found = _PHYSICAL.get(arrow_type.id)
    return found is not None and found.form is Form.INTEGER


class ColumnBuffers(NamedTuple):  # which is made in a third of a frozen dataclass's time: reads of one row notice it
    """An array's addresses. `validity` is 0 if no row is NULL; `offsets` is 0 for fixed-width types.

    `data` and `offsets` already point at the array's first row; bit `bit_offset` of `validity` is its bit.
    `owner` keeps the memory alive.
    """

    form: Form
    width: int
    length: int
    validity: int
    bit_offset: int
    offsets: int
    data: int
    owner: pa.Array

    @property
    def data_range(self) -> tuple[int, int]:
        """Address and number of the bytes that the rows of a binary column occupy."""
        if self.length == 0:
            return 0, 0
        first = int(np.frombuffer(self.owner.buffers()[1], np.int32)[self.owner.offset])
        return self.data + first, int(self.ends[-1]) - first

    @property
    def starts(self) -> npt.NDArray[np.int32]:
        """Where each row of a binary column begins, counted from `data`."""
        if self.length == 0:
            return np.empty(0, np.int32)
        first = self.owner.offset
        return np.frombuffer(self.owner.buffers()[1], np.int32)[first : first + self.length]

    @property
    def ends(self) -> npt.NDArray[np.int32]:
        """Where each row of a binary column ends, counted from `data`."""
        if self.length == 0:
            return np.empty(0, np.int32)
        first = self.owner.offset + 1
        return np.frombuffer(self.owner.buffers()[1], np.int32)[first : first + self.length]

    @property
    def present(self) -> npt.NDArray[np.bool_]:
        """Which rows are not NULL."""
        if not self.validity:
            return np.ones(self.length, np.bool_)
        return np.asarray(self.owner.is_valid().to_numpy(zero_copy_only=False))


def whole(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """The column as one array."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks or [column.combine_chunks()])


def with_values(column: pa.Array, rows: npt.NDArray[np.int64], values: pa.Array) -> pa.Array:
    """The column with other values at `rows`; of nested types too, for which Arrow has no kernel that replaces."""
    places = np.arange(len(column))
    places[rows] = np.arange(len(column), len(column) + len(rows))
    return pa.concat_arrays([column, values]).take(pa.array(places))


def buffers_of(column: pa.Array | pa.ChunkedArray) -> ColumnBuffers:
    """The addresses of `column`; TypeError if no SQL type is stored so."""
    array = whole(column)
    shape = physical(array.type)
    if shape is _BOOLEAN:
        array = array.cast(pa.uint8())
    parts = array.buffers()
    offset = array.offset
    validity = parts[0].address if parts[0] is not None and array.null_count else 0
    data = parts[-1].address if parts[-1] is not None else 0
    if shape.form is not Form.BINARY:
        return ColumnBuffers(
            shape.form, shape.width, len(array), validity, offset, 0, data + shape.width * offset, array
        )
    offsets = parts[1].address + 4 * offset if parts[1] is not None else 0
    return ColumnBuffers(Form.BINARY, 0, len(array), validity, offset, offsets, data, array)


def longest(column: pa.BinaryArray) -> int:
    """The bytes of the longest value; 0 if there is none."""
    found = buffers_of(column)
    return int(longest_row(found.offsets, found.length))


def address(array: npt.NDArray[np.generic]) -> int:
    """Where a contiguous NumPy array's data lies."""
    # Seven times faster than array.ctypes.data, which a codec would spend half of a small batch on.
    return int(pa.py_buffer(array).address)


class Output:
    """Room for n encoded rows of known lengths: `positions` are where each row is written on."""

    def __init__(self, lengths: Integers) -> None:
        self.length = len(lengths)
        self.positions: Integers = np.empty(self.length, np.int64)
        self.offsets: npt.NDArray[np.int32] = np.empty(self.length + 1, np.int32)
        total = lengths_to_offsets(address(lengths), self.length, address(self.offsets), address(self.positions))
        if total > MAX_BATCH_BYTES:
            raise OverflowError(f"{self.length} rows of {total} bytes exceed a batch of {MAX_BATCH_BYTES} bytes")
        self.buffer = pa.allocate_buffer(total)
        self.data: int = self.buffer.address

    def finish(self) -> pa.BinaryArray:
        """The rows, once they are written."""
        return pa.BinaryArray.from_buffers(
            pa.binary(), self.length, [None, pa.py_buffer(self.offsets), self.buffer], null_count=0
        )


def _bitmap(valid: Bytes, missing: int | None) -> pa.Buffer | None:
    """A validity bitmap; None if every byte of `valid` is 1. `missing`: how many are 0, if known."""
    # For the few rows of a small read, looking for a byte takes a tenth of `valid.all()`; for many it is no slower.
    if missing == 0 or (missing is None and b"\0" not in valid.tobytes()):
        return None
    return pa.py_buffer(np.packbits(valid, bitorder="little"))


def fixed_array(arrow_type: pa.DataType, data: Bytes, valid: Bytes, missing: int | None = None) -> pa.Array:
    """A column of fixed-width datums."""
    if physical(arrow_type) is _BOOLEAN:
        data = np.packbits(data, bitorder="little")
    return pa.Array.from_buffers(arrow_type, len(valid), [_bitmap(valid, missing), pa.py_buffer(data)])


class BinaryOutput:
    """Room for a decoded column of strings or byte strings of known lengths."""

    def __init__(self, arrow_type: pa.DataType, lengths: Integers) -> None:
        self._type = arrow_type
        self._room = Output(lengths)
        self.offsets = address(self._room.offsets)
        self.positions = address(self._room.positions)
        self.data = self._room.data

    def finish(self, valid: Bytes, missing: int | None = None) -> pa.Array:
        """The column, once its bytes are written."""
        parts = [_bitmap(valid, missing), pa.py_buffer(self._room.offsets), self._room.buffer]
        return pa.Array.from_buffers(self._type, len(valid), parts)
