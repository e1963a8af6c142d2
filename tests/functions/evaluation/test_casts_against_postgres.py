"""Every cast over edge values: our result, or failure, is PostgreSQL's. Functions are in tests/functions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import psycopg
import pyarrow as pa
import pytest

from risingpy.errors import FeatureNotSupported
from risingpy.executors.change_chunk import make_chunk
from risingpy.functions.evaluation.evaluate import Evaluator
from risingpy.plan.expressions import Cast, Expr, InputRef
from risingpy.storage.codec.column_buffers import whole
from risingpy.types import SqlType, TypeKind, numeric
from risingpy.types.forms import format_text, parse_text, text_column

_VALUES: dict[TypeKind, list[str | None]] = {
    TypeKind.BOOLEAN: ["t", "f", None],
    TypeKind.SMALLINT: ["0", "1", "-1", "7", "-8", "32767", "-32768", None],
    TypeKind.INTEGER: ["0", "1", "-1", "3", "-7", "40", "2147483647", "-2147483648", None],
    TypeKind.BIGINT: ["0", "1", "-1", "12", "-7", "9223372036854775807", "-9223372036854775808", None],
    TypeKind.REAL: ["0", "1.5", "-2.5", "3e20", "NaN", "Infinity", None],
    TypeKind.DOUBLE: ["0", "0.5", "-1", "2.5", "-3.5", "1e20", "NaN", "Infinity", "-Infinity", None],
    TypeKind.NUMERIC: ["0", "1.25", "-2.5", "123.455", "-0.005", "44444444.44", None],
    TypeKind.VARCHAR: ["", "abc", "a%c", "Hello wORLD", "日本", "x.y.z", "ab", " pad ", None],
    TypeKind.BYTEA: ["\\x", "\\x6162", "\\x00ff", None],
    TypeKind.DATE: ["2020-02-29", "1969-12-31", "2000-01-01", None],
    TypeKind.TIME: ["00:00:00", "13:14:15.5", "23:59:59.999999", None],
    TypeKind.TIMESTAMP: ["2020-02-29 13:14:15.123456", "1969-12-31 23:59:59", "2000-01-01 00:00:00", None],
    TypeKind.TIMESTAMPTZ: ["2020-02-29 13:14:15.5+00", "1999-12-31 23:59:59+00", None],
    TypeKind.INTERVAL: ["1 mon 2 days 03:04:05.5", "-1 days", "30 days", "1 year 2 mons", "00:00:00", None],
}


def _ours(expr: Expr, types: Sequence[SqlType], rows: Sequence[tuple[str | None, ...]]) -> tuple[list[str | None], int]:
    """Each row's result as text, NULL where the evaluation fails, and how often it fails."""
    columns = [
        pa.array([None if row[k] is None else parse_text(type_, row[k] or "") for row in rows], type_.arrow)
        for k, type_ in enumerate(types)
    ]
    chunk = make_chunk(np.ones(len(rows), np.int8), columns)
    projected, errors = Evaluator(None, [expr]).evaluate(chunk)
    assert projected.column(1).type == expr.type.arrow
    return text_column(expr.type, whole(projected.column(1))).to_pylist(), errors


def _theirs(
    postgres: psycopg.Connection, text: str, rows: Sequence[tuple[str | None, ...]], result: SqlType
) -> tuple[list[str | None], int]:
    """As `_ours`; what our types cannot hold (NaN as numeric) counts as a failure."""
    results: list[str | None] = []
    errors = 0
    for row in rows:
        try:
            cell = postgres.execute(f"SELECT ({text})::text", row).fetchone()
            assert cell is not None
            results.append(cell[0] if cell[0] is None else _normal(cell[0], result))
        except (psycopg.errors.DataError, psycopg.errors.ProgramLimitExceeded, FeatureNotSupported):
            results.append(None)
            errors += 1
    return results, errors


def _normal(text: str, result: SqlType) -> str:
    """The text in the form of our result type: of a number, to its scale, without padding zeros."""
    return format_text(result, parse_text(result, text))


_KINDS = list(_VALUES)  # the others have tests of their own
_TEXTS = [" 12 ", "1e3", "1.5", "abc", "", "t", "off", "2020-02-29", "13:14:15", "1 day 02:00:00", "\\x6162", None]


@pytest.mark.parametrize("target", _KINDS, ids=lambda kind: kind.value)
@pytest.mark.parametrize("source", _KINDS, ids=lambda kind: kind.value)
def test_cast(source: TypeKind, target: TypeKind, postgres: psycopg.Connection) -> None:
    source_type, target_type = (
        numeric(12, 4, declared=True) if kind is TypeKind.NUMERIC else SqlType(kind) for kind in (source, target)
    )
    texts = [text for text in _TEXTS if target is not TypeKind.INTERVAL or text != "2020-02-29"]
    rows = [(text,) for text in (texts if source is TypeKind.VARCHAR else _VALUES[source])]
    text = f"%s::{source_type}::{target_type}"
    try:
        theirs, their_errors = _theirs(postgres, text, rows, target_type)
    except psycopg.errors.CannotCoerce:
        pytest.skip("no such cast")
    expr = Cast(InputRef(0, source_type), target_type)
    ours, our_errors = _ours(expr, [source_type], rows)
    assert [(row, a, b) for row, a, b in zip(rows, ours, theirs, strict=True) if a != b] == []
    assert our_errors == their_errors
