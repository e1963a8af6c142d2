"""Values as bytes, a whole column at a time: what Avro and Protobuf have in common. No array has NULLs.

varint(300)          ac 02             seven bits a byte, the lowest first; all bytes but the last have the highest bit
zigzag(-1, 1, -2)    01 | 02 | 03      small absolute values become small numbers
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

_BITS = 7
NOTHING = pa.scalar(b"", pa.binary())


def varints(numbers: npt.NDArray[np.uint64]) -> pa.Array:
    """Unsigned numbers as varints."""
    lengths = np.ones(len(numbers), np.int64)
    for byte in range(1, 10):
        lengths += numbers >= np.uint64(1 << (_BITS * byte))
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    data = np.empty(int(offsets[-1]), np.uint8)
    for byte in range(int(lengths.max(initial=0))):
        has = lengths > byte
        bits = (numbers[has] >> np.uint64(_BITS * byte)).astype(np.uint8) & np.uint8(0x7F)
        data[offsets[:-1][has] + byte] = bits | ((lengths[has] > byte + 1).astype(np.uint8) << np.uint8(_BITS))
    return binary(offsets, data)


def zigzag(numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]:
    """Signed numbers as unsigned ones of about the same size."""
    folded: npt.NDArray[np.uint64] = ((numbers << 1) ^ (numbers >> 63)).view(np.uint64)
    return folded


def fixed(numbers: npt.NDArray[np.generic]) -> pa.Array:
    """Numbers in the bytes of their type (say which comes first in the type: `<f8`)."""
    width = numbers.dtype.itemsize
    data = np.frombuffer(np.ascontiguousarray(numbers).tobytes(), np.uint8)
    return binary(np.arange(len(numbers) + 1, dtype=np.int64) * width, data)


def binary(offsets: npt.NDArray[np.int64], data: npt.NDArray[np.uint8]) -> pa.Array:
    """The array whose values are the parts of `data` between the offsets."""
    buffers = [None, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.binary(), len(offsets) - 1, buffers)


def lengths_of(values: pa.Array) -> npt.NDArray[np.uint64]:
    """How many bytes each value has."""
    found: npt.NDArray[np.uint64] = pc.binary_length(values).to_numpy(zero_copy_only=False).astype(np.uint64)
    return found


def joined(parts: Sequence[pa.Array | pa.Scalar]) -> pa.Array:
    """The values of arrays of one length, put together row by row."""
    return pc.binary_join_element_wise(*parts, NOTHING)


def joined_items(lists: pa.Array, items: pa.Array) -> pa.Array:
    """The items of each list, put together. `items` are those of the lists that `flatten` gives, as bytes."""
    lengths = pc.list_value_length(lists).to_numpy(zero_copy_only=False).astype(np.int64)
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))
    return pc.binary_join(pa.ListArray.from_arrays(offsets, items), NOTHING)


def numbers_of(array: pa.Array) -> npt.NDArray[np.int64]:
    """Integers, and dates and times as the integers that Arrow has for them."""
    integers = array if pa.types.is_integer(array.type) else array.cast(_STORED[array.type.bit_width])
    found: npt.NDArray[np.int64] = integers.to_numpy(zero_copy_only=False).astype(np.int64)
    return found


_STORED = {32: pa.int32(), 64: pa.int64()}
