"""Change chunks: an Arrow table whose first column says what happened to the row that follows.

    op   int8   +1 the row came, −1 it went; an update is a −1 and a +1
    c0…         the row's columns, in the types of its schema

Within an epoch a delta is consolidated: per stream key at most one −1, exactly the row that was there, and at most one
+1, and no pair that cancels. The order of its rows means nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from risingpy.types import SqlType

INSERT = 1
DELETE = -1
Ops = npt.NDArray[np.int8]


def column_names(count: int) -> list[str]:
    """`c0` … of a chunk with so many columns."""
    return [f"c{index}" for index in range(count)]


def make_chunk(ops: Ops | pa.Array | pa.ChunkedArray, columns: Sequence[pa.Array | pa.ChunkedArray]) -> pa.Table:
    """A chunk of these rows; `ops` and all columns are of one length."""
    op = pa.array(ops, pa.int8()) if isinstance(ops, np.ndarray) else ops
    return pa.table([op, *columns], names=["op", *column_names(len(columns))])


def empty_chunk(types: Sequence[SqlType]) -> pa.Table:
    """A chunk of no rows."""
    return make_chunk(pa.array([], pa.int8()), [pa.array([], sql_type.arrow) for sql_type in types])


def ops_of(chunk: pa.Table) -> Ops:
    """The `op` column."""
    ops: Ops = chunk.column(0).to_numpy()
    return ops


def columns_of(chunk: pa.Table) -> list[pa.Array]:
    """The columns behind `op`, each in one piece."""
    return [column.combine_chunks() for column in chunk.columns[1:]]
