"""Rows of a program as columns of a table: Arrow, data frames, or a list of dicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from risingpy.connectors.formats.arrow_columns import plain_column, sql_type
from risingpy.connectors.formats.columns import Reasons
from risingpy.connectors.formats.conversion import converted
from risingpy.errors import InvalidTextRepresentation, SqlError
from risingpy.frontend.results import ResultField
from risingpy.sql_quoting import double_quoted
from risingpy.types.clocks.nano_moments import holds_nanos

_BATCH_ROWS = 1 << 16


class ArrowStream(Protocol):
    """What has Arrow's PyCapsule interface: tables, batches and readers, polars' frames, DuckDB's relations."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...


Rows = ArrowStream | Sequence[Mapping[str, Any]]
"""What `insert` takes; pandas' frames too, whose index is left out."""


def given_reader(rows: Rows) -> pa.RecordBatchReader:
    """The rows as Arrow gives them, batch by batch. Raises SqlError (42804) for what holds no rows."""
    if type(rows).__module__.partition(".")[0] == "pandas":
        return pa.Table.from_pandas(rows, preserve_index=False).to_reader(_BATCH_ROWS)
    if isinstance(rows, pa.RecordBatch):
        return pa.RecordBatchReader.from_batches(rows.schema, [rows])
    if hasattr(rows, "__arrow_c_stream__"):
        return pa.RecordBatchReader.from_stream(rows)
    if isinstance(rows, Sequence) and all(isinstance(row, Mapping) for row in rows):
        return _of_dicts(rows).to_reader(_BATCH_ROWS)
    message = f"rows are Arrow, a data frame or a list of dicts, not {type(rows).__name__}"
    raise SqlError(message, sqlstate="42804")


def copy_statement(relation: str, names: Sequence[str]) -> str:
    """COPY for rows with these columns. No rows at all have none: then the table is looked up all the same."""
    columns = f" ({', '.join(map(double_quoted, names))})" if names else ""
    return f"COPY {relation}{columns} FROM STDIN"


def table_columns(batch: pa.RecordBatch, fields: Sequence[ResultField]) -> Iterator[pa.RecordBatch]:
    """The batch in the columns' Arrow types, which it has in their order, in parts of limited size.

    A column of the same type is the same memory; others are converted as literals would be.
    Raises InvalidTextRepresentation for a value that is none of the column's type.
    """
    for start in range(0, batch.num_rows, _BATCH_ROWS):
        part = batch.slice(start, _BATCH_ROWS)
        columns = [_column(field, column) for field, column in zip(fields, part.columns, strict=True)]
        described = pa.schema([(str(k), column.type) for k, column in enumerate(columns)])
        yield pa.RecordBatch.from_arrays(columns, schema=described)


def _column(field: ResultField, found: pa.Array) -> pa.Array:
    nanos = holds_nanos(field.type.arrow)
    if found.type == field.type.arrow and not nanos:
        return found
    reasons = Reasons()
    own = sql_type(field.name, found.type, nanos=nanos)
    try:
        plain = plain_column(found, own)
        made = converted(field.name, plain, own, field.type, np.arange(len(found)), reasons)
    except pa.ArrowInvalid as error:
        raise InvalidTextRepresentation(f'column "{field.name}" cannot be read as {field.type}: {error}') from None
    if reasons.by_message:
        raise InvalidTextRepresentation(next(iter(reasons.by_message.values())))
    return made


def _of_dicts(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """A column for each name of any row; a row that lacks it has NULL there."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    if rows and not names:
        raise SqlError("the rows have no columns", sqlstate="42804")
    try:
        return pa.table({name: [row.get(name) for row in rows] for name in names})
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise SqlError(f"the rows' values have no common type: {error}", sqlstate="42804") from None
