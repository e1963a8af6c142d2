"""Columns of rows that were written before ALTER TABLE: defaults that were never stored, casts of what was.

A row keeps the column ids of its time. `read_column` looks, in this order, for the column itself, for the mark of a
NULL that was written, for the column's earlier form, and takes the recorded default otherwise.

Casts are expressions, which storage knows nothing of: whoever opens a store passes the means to evaluate them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import InternalError
from risingpy.storage.codec.column_buffers import with_values
from risingpy.storage.codec.row_encoding import decode_rows
from risingpy.storage.codec.table_schema import ColumnHistory, TableColumn
from risingpy.types import BOOLEAN

Cast = Callable[[object, pa.Array], pa.Array]
"""Evaluates the expression of a `ColumnHistory.cast` over a column."""


def no_cast(expression: object, column: pa.Array) -> pa.Array:
    """For stores without altered columns: InternalError if there is one all the same."""
    raise InternalError("rows from before an ALTER COLUMN TYPE are read, and nobody passed the means to cast them")


def null_mark(column: pa.Array) -> pa.Array:
    """The column that says where a NULL was written: true there, and absent elsewhere."""
    return pc.if_else(column.is_null(), pa.scalar(True), pa.scalar(None, pa.bool_()))


def read_column(values: pa.BinaryArray, column: TableColumn, cast: Cast) -> pa.Array:
    """A column with a history, of column-aware rows; NULL where `values` is."""
    history = column.history
    assert history is not None
    stored, marks = decode_rows(values, [(column.column_id, column.type), (history.null_id, BOOLEAN)])
    absent = pc.and_(pc.and_(stored.is_null(), marks.is_null()), values.is_valid())
    old_rows = pc.sum(absent).as_py() or 0
    if not old_rows:
        return stored
    (rows,) = np.nonzero(absent.to_numpy(zero_copy_only=False))
    return with_values(stored, rows, _before(values.filter(absent), column, history, cast))


def _before(rows: pa.BinaryArray, column: TableColumn, history: ColumnHistory, cast: Cast) -> pa.Array:
    """The column's values in rows that were written before it was there."""
    earlier = history.earlier
    if earlier is None:
        return pa.repeat(pa.scalar(history.missing, column.type.arrow), len(rows))
    if earlier.history is not None:
        old = read_column(rows, earlier, cast)
    else:
        (old,) = decode_rows(rows, [(earlier.column_id, earlier.type)])
    return cast(history.cast, old)
