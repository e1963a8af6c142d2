"""What libpq receives as columns of SQL types.

Values come as text, which has everything that a value has. psycopg's C code makes tuples of them; a column is then read
in one go. The protocol does not tell everything of a type: a struct or a map comes as its text, and an array has the
depth that its values show.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
from psycopg.pq.abc import PGresult

from risingpy.errors import SqlError
from risingpy.frontend.results import ResultField
from risingpy.types import VARCHAR, SqlType, TypeKind, array_of, numeric
from risingpy.types.forms import parse_column
from risingpy.types.oids import type_by_oid

_MODIFIER_OFFSET = 4  # PostgreSQL adds it to a modifier, so that none of them is 0


def result_fields(result: PGresult) -> list[ResultField]:
    """The fields of a result, or of a description."""
    return [
        ResultField((result.fname(k) or b"").decode(), _type(result.ftype(k), result.fmod(k)))
        for k in range(result.nfields)
    ]


def text_batch(rows: Sequence[tuple[str | None, ...]]) -> pa.RecordBatch:
    """At least one row, with at least one column, in columns of texts that are named by their positions."""
    columns = [pa.array(column, pa.string()) for column in zip(*rows, strict=True)]
    return pa.RecordBatch.from_arrays(columns, names=[str(k) for k in range(len(columns))])


def read_columns(fields: Sequence[ResultField], texts: pa.Table, time_zone: str) -> tuple[list[ResultField], pa.Table]:
    """The fields, with the types that the values show, and the columns of texts in these types."""
    read = [_column(field, column, time_zone) for field, column in zip(fields, texts.columns, strict=True)]
    return [field for field, _ in read], pa.table({str(k): column for k, (_, column) in enumerate(read)})


def _column(field: ResultField, texts: pa.ChunkedArray, time_zone: str) -> tuple[ResultField, pa.ChunkedArray]:
    type_ = field.type
    if type_.kind is not TypeKind.ARRAY:
        return field, _parsed(type_, texts, time_zone)
    braces = pc.struct_field(pc.extract_regex(texts, r"^(?P<braces>\{*)"), "braces")
    for _ in range((pc.max(pc.utf8_length(braces)).as_py() or 1) - 1):
        type_ = array_of(type_)
    try:
        return ResultField(field.name, type_), _parsed(type_, texts, time_zone)
    except SqlError:  # NULL stands in one row where another has an array: no depth is right for all
        return ResultField(field.name, VARCHAR), texts


def _parsed(type_: SqlType, texts: pa.ChunkedArray, time_zone: str) -> pa.ChunkedArray:
    chunks = [parse_column(type_, chunk, time_zone=time_zone) for chunk in texts.chunks]
    return pa.chunked_array(chunks, type_.arrow)


def _type(oid: int, modifier: int) -> SqlType:
    type_ = type_by_oid(oid)
    if type_ is None or type_.kind is TypeKind.UNKNOWN:
        return VARCHAR
    if type_.kind is TypeKind.NUMERIC and modifier >= _MODIFIER_OFFSET:
        packed = modifier - _MODIFIER_OFFSET
        return numeric(packed >> 16, packed & 0xFFFF)
    return type_
