"""The rows that a transaction has written to a table, in the form that ALTER TABLE gives the table later in it.

They are what the rows in storage are to readers of the table's new form: an added column has its default in them, and a
column of another type its value by the cast.
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from risingpy.functions.evaluation.stored_casts import cast_stored
from risingpy.meta.writing.dml_log import TableChange
from risingpy.plan.catalog import Table
from risingpy.storage.codec.table_schema import TableColumn


def in_new_form(change: TableChange, before: Table, after: Table) -> TableChange:
    """A change of `before`, which is not spilled, as a change of `after`."""
    given = dict(zip((each.column_id for each in before.columns), change.chunk.columns[1:], strict=True))
    columns = [
        _column(TableColumn(each.column_id, each.name, each.type, each.history), given, change.chunk.num_rows)
        for each in after.columns
    ]
    names = ["op", *(f"c{place}" for place in range(len(columns)))]
    chunk = pa.table([change.chunk.column(0), *columns], names=names)
    return replace(change, version=after.version, chunk=chunk, rules=after.rules)


def _column(column: TableColumn, given: dict[int, pa.ChunkedArray], count: int) -> pa.ChunkedArray:
    """The column's values, of the columns that the rows were given, by their ids."""
    if column.column_id in given:
        return given[column.column_id]
    if column.history is not None and column.history.earlier is not None:
        earlier = _column(column.history.earlier, given, count)
        return pa.chunked_array([cast_stored(column.history.cast, earlier.combine_chunks())], column.type.arrow)
    missing = None if column.history is None else column.history.missing
    return pa.chunked_array([pa.repeat(pa.scalar(missing, column.type.arrow), count)])
