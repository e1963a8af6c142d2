"""Integers as big-endian bytes in two's complement: what Avro and Debezium write decimals as."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

_WIDTH = 16
DIGITS = 38  # that a decimal128 has


def as_decimals(values: pa.Array, scale: int) -> tuple[pa.Array, npt.NDArray[np.bool_]]:
    """Binary values as decimal128(38, scale); and which of them have more digits, and are NULL in it."""
    valid = values.is_valid().to_numpy(zero_copy_only=False)
    lengths = pc.fill_null(pc.binary_length(values), 0).to_numpy(zero_copy_only=False)
    too_long = lengths > _WIDTH
    lengths = np.where(too_long, 0, lengths)
    starts = np.frombuffer(values.buffers()[1], np.int32, len(values) + 1, 4 * values.offset)[:-1].astype(np.int64)
    data = np.frombuffer(values.buffers()[2] or b"", np.uint8)
    data = data if len(data) else np.zeros(1, np.uint8)
    negative = (lengths > 0) & (data[np.minimum(starts, len(data) - 1)] >= 0x80)
    digits = (
        np.where(negative, 0xFF, 0).astype(np.uint8)[:, None].repeat(_WIDTH, axis=1)
    )  # little-endian, sign-extended
    for place in range(int(lengths.max(initial=0))):
        has = lengths > place
        digits[has, place] = data[(starts + lengths - 1 - place)[has]]
    words = np.ascontiguousarray(digits)
    buffers = [None, pa.py_buffer(words)]
    found = pa.Array.from_buffers(pa.decimal128(DIGITS, scale), len(values), buffers)
    too_long |= _is_too_large(words)
    return pc.if_else(pa.array(valid & ~too_long), found, pa.scalar(None, found.type)), too_long & valid


def _is_too_large(words: npt.NDArray[np.uint8]) -> npt.NDArray[np.bool_]:
    """Which 16-byte integers have more than 38 digits."""
    halves = words.view("<i8").reshape(-1, 2)
    bound, low_bound = divmod(10**DIGITS, 2**64)
    high, low = halves[:, 1], halves[:, 0].view(np.uint64)
    above = (high > bound) | ((high == bound) & (low >= np.uint64(low_bound)))
    least, low_least = divmod(-(10**DIGITS), 2**64)
    below = (high < least) | ((high == least) & (low <= np.uint64(low_least)))
    found: npt.NDArray[np.bool_] = above | below
    return found


def texts_of_integers(values: pa.Array) -> pa.Array:
    """Binary values as decimal texts."""
    decimals, too_large = as_decimals(values, 0)
    texts = pc.cast(decimals, pa.string())
    if not too_large.any():
        return texts
    large = [str(int.from_bytes(value, "big", signed=True)) for value in values.filter(pa.array(too_large)).to_pylist()]
    return pc.replace_with_mask(texts, pa.array(too_large), pa.array(large, pa.string()))
