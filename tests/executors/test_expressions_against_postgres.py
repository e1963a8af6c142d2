"""Every scalar signature over edge values: our result, or failure, is PostgreSQL's."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

import numpy as np
import psycopg
import pyarrow as pa
import pytest

from risingpy.errors import FeatureNotSupported
from risingpy.executors.change_chunk import make_chunk
from risingpy.executors.expression.evaluate import Evaluator
from risingpy.executors.expression.nodes import Call, Cast, Expr, InputRef
from risingpy.executors.expression.signatures import (
    SCALAR_SIGNATURES,
    ArgType,
    Polymorphic,
    Signature,
    numeric_result,
)
from risingpy.storage.column_buffers import whole
from risingpy.types import INTEGER, SqlType, TypeKind, numeric
from risingpy.types.forms import format_text, parse_text, text_column

_COMBINATIONS = 24  # per signature: some seconds in all

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
_NUMERIC = numeric(12, 4)

# What a parameter means restricts what makes sense for it.
_FIRST_VALUES: dict[str, list[str | None]] = {
    "date_trunc": ["year", "month", "day", "hour", "quarter", "minute"],
    "timezone": ["UTC", "Europe/Paris"],
}
# Not compared: `now` changes, flags must be constant, `pi` has no arguments, the last is a cast of the binder's.
_LEFT_OUT = frozenset({"now", "regexp_replace", "pi", "check_length"})
_SMALL = ["0", "1", "-1", "3", "-7", None]  # beyond these PostgreSQL's dates and scales leave our ranges
_SMALL_INTEGERS = frozenset({"round_to", "trunc_to", "right"})


def _type_of(argument: ArgType) -> SqlType:
    if isinstance(argument, Polymorphic):
        return INTEGER
    return _NUMERIC if argument.kind is TypeKind.NUMERIC else argument


def _postgres_text(signature: Signature, types: Sequence[SqlType]) -> str:
    args = [f"%s::{type_}" for type_ in types]
    name = signature.name
    special = {
        "IN": f"{args[0]} IN ({args[-1]})",
        "NOT": f"NOT {args[0]}",
        "LIKE_ESCAPE": f"{args[0]} LIKE {args[-1]}",
    }
    if name in special:
        return special[name]
    if name.startswith("EXTRACT_"):
        return f"extract({name.removeprefix('EXTRACT_').lower()} from {args[0]})"
    if name in ("COALESCE", "NULLIF", "GREATEST", "LEAST"):
        return f"{name}({', '.join(args)})"
    if name.startswith("IS_"):
        words = name.replace("_", " ")
        return f"{args[0]} {words} {args[1]}" if len(args) == 2 else f"{args[0]} {words}"
    if name.isidentifier() and name not in ("AND", "OR"):
        return f"{name}({', '.join(args)})"
    return f"({args[0]} {name.replace('%', '%%')} {args[1]})" if len(args) == 2 else f"({name} {args[0]})"


def _combinations(signature: Signature, types: Sequence[SqlType]) -> list[tuple[str | None, ...]]:
    choices = [_VALUES[type_.kind] for type_ in types]
    if signature.function in _FIRST_VALUES:
        choices[0] = list(_FIRST_VALUES[signature.function])
    if signature.function in _SMALL_INTEGERS or TypeKind.DATE in (type_.kind for type_ in types):
        choices = [_SMALL if type_ == INTEGER else choice for type_, choice in zip(types, choices, strict=True)]
    if signature.function == "to_timestamp":
        choices = [["0", "0.5", "-1", "1582934400.25", None]]
    every = list(itertools.product(*choices))
    random.Random(signature.name).shuffle(every)
    return every[:_COMBINATIONS]


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


def _cases() -> list[Signature]:
    return [s for s in SCALAR_SIGNATURES if s.function not in _LEFT_OUT and not s.name.endswith("_ESCAPE")]


def _name(signature: Signature) -> str:
    return f"{signature.name} {' '.join(str(_type_of(argument)) for argument in signature.args)}"


@pytest.mark.parametrize("signature", _cases(), ids=_name)
def test_signature(signature: Signature, postgres: psycopg.Connection) -> None:
    types = [_type_of(argument) for argument in signature.args]
    result = INTEGER if isinstance(signature.result, Polymorphic) else signature.result
    if signature.rule is not None:
        result = numeric_result(signature.rule, tuple(types))
    rows = _combinations(signature, types)
    expr = Call(signature.function, tuple(InputRef(k, type_) for k, type_ in enumerate(types)), result)
    if signature.function == "position" and signature.name == "position":
        pytest.skip("position has a syntax of its own")
    ours, our_errors = _ours(expr, types, rows)
    theirs, their_errors = _theirs(postgres, _postgres_text(signature, types), rows, result)
    different = [(row, a, b) for row, a, b in zip(rows, ours, theirs, strict=True) if a != b]
    assert not different
    assert our_errors == their_errors


_KINDS = [kind for kind in TypeKind if kind is not TypeKind.UNKNOWN]
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
