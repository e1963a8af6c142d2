"""Arrow as the rows of COPY's text format, a batch at a time: what the server reads is what a literal would be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.connectors.formats.arrow_columns import plain_column, sql_type
from risingpy.connectors.formats.columns import Reasons
from risingpy.connectors.formats.conversion import converted
from risingpy.errors import InvalidTextRepresentation
from risingpy.frontend.wire.copy_out import escape_text
from risingpy.types import SqlType, TypeKind
from risingpy.types.clocks.nano_moments import holds_nanos
from risingpy.types.field_bytes import join_pieces
from risingpy.types.forms import text_column

_BATCH_ROWS = 1 << 14  # the texts of so many rows are made at once
_DELIMITER = "\t"
_NULL = "\\N"
_HIDING = (TypeKind.STRUCT, TypeKind.MAP, TypeKind.VARCHAR)


def asks_types(schema: pa.Schema) -> bool:
    """Whether a column's text depends on what it is sent to.

    Arrays are written otherwise for jsonb, and nanoseconds for timestamp_ns only.
    """
    return any(pa.types.is_nested(field.type) or holds_nanos(field.type) for field in schema)


def copied_rows(batch: pa.RecordBatch, wanted: Mapping[str, SqlType]) -> Iterator[memoryview]:
    """The rows, in pieces. `wanted` are the columns' types by name, if `asks_types`.

    Raises SqlError for an Arrow type that SQL does not have, or a value that is none of its type.
    """
    for start in range(0, batch.num_rows, _BATCH_ROWS):
        part = batch.slice(start, _BATCH_ROWS)
        pieces: list[pa.Array] = []
        for field, column in zip(part.schema, part.columns, strict=True):
            pieces += [pa.scalar(_DELIMITER.encode()), _texts(field.name, column, wanted.get(field.name))]
        yield join_pieces([*pieces[1:], pa.scalar(b"\n")])


def _keeps_nanos(found: pa.DataType, wanted: SqlType | None) -> bool:
    """Whether the column may be a timestamp_ns: what is in structs and maps, the protocol does not tell."""
    if wanted is None:
        return False
    is_hidden = pa.types.is_nested(found) and wanted.leaf.kind in _HIDING
    return is_hidden or holds_nanos(wanted.arrow)


def _texts(name: str, found: pa.Array, wanted: SqlType | None) -> pa.Array:
    own = sql_type(name, found.type, nanos=_keeps_nanos(found.type, wanted))
    reasons = Reasons()
    try:
        plain = plain_column(found, own)
        if wanted is not None and wanted.kind is TypeKind.JSONB:
            own, plain = wanted, converted(name, plain, own, wanted, np.arange(len(found)), reasons)
    except pa.ArrowInvalid as error:
        raise InvalidTextRepresentation(f'column "{name}" cannot be read as {own}: {error}') from None
    if reasons.by_message:
        raise InvalidTextRepresentation(next(iter(reasons.by_message.values())))
    texts = escape_text(text_column(own, plain), _DELIMITER)
    return pc.fill_null(texts, _NULL).cast(pa.binary())
