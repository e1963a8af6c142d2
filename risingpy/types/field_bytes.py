"""Rows as PostgreSQL writes them, in DataRow messages and in binary COPY: each field is its length and its bytes.

    field: int32 length (-1: NULL) | the value

First each column becomes an array of byte strings. Then one Arrow kernel joins, row by row, whatever stands before the
row and each field's length and value. Kernels release the GIL.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc


def field_pieces(
    columns: Sequence[npt.NDArray[np.generic] | pa.Array], valid: Sequence[pa.Array | None], count: int
) -> tuple[list[pa.Array], npt.NDArray[np.int64]]:
    """What `join_pieces` makes the fields of `count` rows of, and the bytes of each row's fields.

    `columns` are what `forms.binary_column` returns, or texts as bytes. `valid` has for each the mask of the rows that
    are not NULL (None: all rows), since an array of fixed-width items holds something arbitrary in the others.
    """
    total = np.full(count, 4 * len(columns), np.int64)
    pieces: list[pa.Array] = []
    for column, mask in zip(columns, valid, strict=True):
        if isinstance(column, np.ndarray):
            pieces += _fixed(column, mask, total)
        else:
            pieces += _variable(column, total)
    return pieces, total


def _fixed(column: npt.NDArray[np.generic], mask: pa.Array | None, total: npt.NDArray[np.int64]) -> list[pa.Array]:
    width = column.dtype.itemsize
    if mask is None:
        total += width
        fused = np.empty(len(column), [("length", ">i4"), ("value", f"V{width}")])
        fused["length"] = width
        fused["value"] = column.view(f"V{width}")
        return [as_binary(fused)]
    there = mask.to_numpy(zero_copy_only=False)
    total += np.where(there, width, 0)
    lengths = np.where(there, width, -1).astype(">i4")
    return [as_binary(lengths), pc.if_else(mask, as_binary(column), b"")]


def _variable(column: pa.Array, total: npt.NDArray[np.int64]) -> list[pa.Array]:
    lengths = pc.fill_null(pc.binary_length(column), -1).to_numpy(zero_copy_only=False)
    total += np.maximum(lengths, 0)
    values = pc.fill_null(column, b"") if column.null_count else column
    return [as_binary(lengths.astype(">i4")), values]


def as_binary(items: npt.NDArray[np.generic]) -> pa.Array:
    """The items of a NumPy array as an Arrow binary array."""
    data = pa.py_buffer(np.ascontiguousarray(items))
    fixed = pa.Array.from_buffers(pa.binary(items.dtype.itemsize), len(items), [None, data])
    return fixed.cast(pa.binary())


def join_pieces(pieces: Sequence[pa.Array]) -> memoryview:
    """The bytes of row 0's pieces, then of row 1's, …: binary arrays of one length, without NULLs."""
    return bytes_of(join_rows(pieces))


def join_rows(pieces: Sequence[pa.Array]) -> pa.Array:
    """Each row's pieces as one binary value."""
    return pc.binary_join_element_wise(*pieces, pa.scalar(b""))


def bytes_of(rows: pa.Array) -> memoryview:
    """The bytes of all rows of a binary array without NULLs, one row after the other. No copy."""
    _, offset_buffer, data = rows.buffers()
    offsets = np.frombuffer(offset_buffer, np.int32)
    return memoryview(data)[offsets[rows.offset] : offsets[rows.offset + len(rows)]]
