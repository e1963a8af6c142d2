"""Compares an expression's values and SQLSTATEs with PostgreSQL's, row by row, over a grid of arguments.

A case is an expression with `{grid}` for its arguments: `lpad({text}, {int4.length}, {text.fill})`. Ours is bound as
SQL and evaluated in three ways: as a batch SELECT would over the rows that PostgreSQL accepts, alone on each row that
it refuses (for the SQLSTATE), and as a view would, non-strictly, over all rows.
"""

from __future__ import annotations

import itertools
import os
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import duckdb
import numpy as np
import psycopg
import pyarrow as pa

from risingpy.errors import SqlError
from risingpy.executors.change_chunk import make_chunk
from risingpy.frontend.binder.query.query import bind_query
from risingpy.frontend.binder.scope.context import SessionValues
from risingpy.frontend.parser.ast import Select
from risingpy.frontend.parser.parse import parse
from risingpy.functions.evaluation.chunk_query import run
from risingpy.functions.evaluation.duckdb_connection import translate_error
from risingpy.functions.evaluation.duckdb_sql import Selected
from risingpy.functions.evaluation.evaluate import Evaluator
from risingpy.plan.catalog import Catalog
from risingpy.plan.expressions import Expr
from risingpy.plan.logical import Project
from risingpy.storage.codec.column_buffers import whole
from risingpy.types import NUMERIC, SqlType, TypeKind
from risingpy.types.forms import format_text, parse_text, text_column
from tests.frontend.binder.bench import make_catalog
from tests.functions.grids import GRIDS

FUZZ = os.environ.get("HYPOTHESIS_PROFILE") == "fuzz"
ROWS = int(os.environ.get("RISINGPY_JUDGE_ROWS", 1500 if FUZZ else 50))  # per case; `make judge` asks for 1500
FAILURES = 60 if ROWS > 50 else 6  # rows per case whose SQLSTATE is compared
_ARGUMENT = re.compile(r"\{([a-z0-9.]+)\}")
_PROBE = """
CREATE OR REPLACE FUNCTION judge(expression text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE result text;
BEGIN
  EXECUTE 'SELECT (' || expression || ')::text' INTO result;
  RETURN 'v' || result;
EXCEPTION WHEN OTHERS THEN RETURN 'e' || SQLSTATE;
END $$
"""
_CALENDAR = (TypeKind.DATE, TypeKind.TIMESTAMP, TypeKind.TIMESTAMPTZ)
_BEYOND_OURS = re.compile(r"2942(4[7-9]|[5-7]\d)-\d\d-\d\d [^B]*$")  # the last 30 years of PostgreSQL's timestamps
Row = tuple[str | None, ...]


_NO_NAN = "error 22003"  # NaN, and infinity, of a numeric with so many digits, which PostgreSQL has and we refuse


@dataclass(frozen=True, slots=True)
class Case:
    """One line of a case file. `relative` is the error that floating-point digits may have."""

    text: str
    zone: str = "UTC"
    relative: float = 0.0

    @property
    def grids(self) -> list[str]:
        return _ARGUMENT.findall(self.text)


@dataclass(frozen=True, slots=True)
class Difference:
    """`way` is batch, error or view; answers are texts, or SQLSTATEs after "error "."""

    way: str
    row: Row
    ours: str | None
    theirs: str | None

    def __str__(self) -> str:
        return f"{self.way} {self.row}: ours {self.ours!r}, PostgreSQL's {self.theirs!r}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Where our answers are not PostgreSQL's, and how many answers of ours were compared."""

    differences: list[Difference]
    evaluations: int


def judge_case(case: Case, postgres: psycopg.Connection[tuple[object, ...]], limit: int = ROWS) -> Verdict:
    """Compares the case's rows, at most `limit`, with PostgreSQL's answers: in a view, and in a SELECT."""
    rows = _rows(case, limit)
    expr = bound(case)
    theirs = _theirs(case, rows, postgres)
    expected = [_normal(value, expr.type) for value in theirs]
    types = [_type_of(GRIDS[name].type) for name in case.grids]
    chunk = _chunk(types, rows, case.zone)
    found = _view(case, expr, chunk, rows, expected)
    accepted = [k for k, value in enumerate(expected) if not _is_error(value)]
    refused = [k for k, value in enumerate(expected) if _is_error(value)]
    batch = chunk.take(pa.array(accepted, pa.int64()))  # typed: PostgreSQL may have refused every row
    found += _batch(case, expr, batch, [rows[k] for k in accepted], [expected[k] for k in accepted])
    for k in refused[:FAILURES]:
        ours = _single(expr, chunk.slice(k, 1), case.zone)
        if ours != expected[k]:
            found.append(Difference("error", rows[k], ours, expected[k]))
    return Verdict(found, evaluations=len(rows) + len(accepted) + len(refused[:FAILURES]))


def bound(case: Case) -> Expr:
    """The case's expression over columns p0, p1, … of the grids' types."""
    numbers = itertools.count()
    text = _ARGUMENT.sub(lambda found: f"p{next(numbers)}", case.text)
    catalog = _catalog(tuple(GRIDS[name].type for name in case.grids))
    (parsed,) = parse(f"SELECT {text} AS answer FROM probe")
    assert isinstance(parsed.statement, Select)
    session = SessionValues(time_zone=case.zone)
    plan = bind_query(parsed.statement.query, catalog, ("public",), session=session).plan
    assert isinstance(plan, Project)
    return plan.expressions[0]


@cache
def _catalog(types: tuple[str, ...]) -> Catalog:
    columns = ", ".join(f"p{k} {type_}" for k, type_ in enumerate(types))
    return make_catalog(f"CREATE TABLE probe ({columns})")


@cache
def _type_of(name: str) -> SqlType:
    (relation,) = _catalog((name,)).relations.values()
    return relation.columns[0].type


def _rows(case: Case, limit: int) -> list[Row]:
    """All combinations of the grids' values, or as many as `limit`, every value among them."""
    choices = [GRIDS[name].values for name in case.grids]
    total = int(np.prod([len(c) for c in choices], dtype=np.float64)) if choices else 1
    if total <= limit:
        return list(itertools.product(*choices))
    chance = random.Random(case.text)
    each = max(len(c) for c in choices)
    shuffled = [chance.sample(c, len(c)) for c in choices]
    rows = [tuple(c[k % len(c)] for c in shuffled) for k in range(min(each, limit))]
    rows += [tuple(chance.choice(c) for c in choices) for _ in range(limit - len(rows))]
    return list(dict.fromkeys(rows))


def _theirs(case: Case, rows: Sequence[Row], postgres: psycopg.Connection[tuple[object, ...]]) -> list[str | None]:
    postgres.execute(f"SET TimeZone = '{case.zone}'".encode())
    asked = [_with_literals(case, row) for row in rows]
    answers = postgres.execute("SELECT judge(e) FROM unnest(%s::text[]) WITH ORDINALITY u(e, n) ORDER BY n", (asked,))
    return [str(answer) if answer is not None else None for (answer,) in answers.fetchall()]


def _with_literals(case: Case, row: Row) -> str:
    values = iter(row)

    def literal(found: re.Match[str]) -> str:
        value = next(values)
        shown = "NULL" if value is None else "'" + value.replace("'", "''") + "'"
        return f"({shown}::{GRIDS[found[1]].type})"

    return _ARGUMENT.sub(literal, case.text)


def _normal(answer: str | None, result: SqlType) -> str | None:
    """PostgreSQL's answer, of a number with more than 45 decimals rounded to so many.

    The judge casts to text, and a cast of an inet shows the mask of a whole address too.
    """
    if answer is None:
        return None
    if answer.startswith("e"):
        return f"error {answer[1:]}"
    text = answer[1:]
    if result.kind is TypeKind.BOOLEAN:
        return text[0]
    if result.kind is TypeKind.INET:
        return format_text(result, parse_text(result, text))
    if result.kind is TypeKind.NUMERIC:
        if text in ("NaN", "Infinity", "-Infinity") and not result.is_wide:
            return _NO_NAN
        try:
            return format_text(NUMERIC, parse_text(NUMERIC, text))
        except SqlError as error:  # more digits before the point than there are
            return f"error {error.sqlstate}"
    if result.kind in _CALENDAR and _BEYOND_OURS.match(text):
        return "error 22008"
    return text


def _is_error(value: str | None) -> bool:
    return value is not None and value.startswith("error ")


def _chunk(types: Sequence[SqlType], rows: Sequence[Row], zone: str) -> pa.Table:
    columns = []
    for k, type_ in enumerate(types):
        values = [None if row[k] is None else parse_text(type_, row[k] or "", time_zone=zone) for row in rows]
        columns.append(pa.array(values, type_.arrow))
    return make_chunk(np.ones(len(rows), np.int8), columns)


def _texts(column: pa.ChunkedArray, type_: SqlType, zone: str) -> list[str | None]:
    texts: list[str | None] = text_column(type_, whole(column), time_zone=zone).to_pylist()
    return texts


def _view(
    case: Case, expr: Expr, chunk: pa.Table, rows: Sequence[Row], expected: Sequence[str | None]
) -> list[Difference]:
    projected, errors = Evaluator(None, [expr]).evaluate(chunk)
    wanted = [None if _is_error(value) else value for value in expected]
    failed = sum(map(_is_error, expected))
    found = _different("view", case, rows, _texts(projected.column(1), expr.type, case.zone), wanted)
    if not found and errors != failed:
        found.append(Difference("view", (), f"{errors} failures counted", f"{failed}"))
    return found


def _batch(
    case: Case, expr: Expr, chunk: pa.Table, rows: Sequence[Row], expected: Sequence[str | None]
) -> list[Difference]:
    try:
        ours = _texts(_run(expr, chunk), expr.type, case.zone)
    except duckdb.Error:  # which rows?
        ours = [_single(expr, chunk.slice(k, 1), case.zone) for k in range(len(rows))]
    return _different("batch", case, rows, ours, expected)


def _run(expr: Expr, chunk: pa.Table) -> pa.ChunkedArray:
    selected = Selected(lambda index: f"t.c{index}")
    sql = f"SELECT {selected.sql(expr)} AS answer FROM {selected.source('chunk AS t')}"
    return run(sql, chunk)[0].cast(expr.type.arrow)


def _single(expr: Expr, chunk: pa.Table, zone: str) -> str | None:
    try:
        return _texts(_run(expr, chunk), expr.type, zone)[0]
    except duckdb.Error as error:
        sqlstate = translate_error(error).sqlstate
        declared = expr.type.kind is TypeKind.NUMERIC and not expr.type.is_wide
        return _NO_NAN if sqlstate == "0A000" and declared else f"error {sqlstate}"


def _different(
    way: str, case: Case, rows: Sequence[Row], ours: Sequence[str | None], theirs: Sequence[str | None]
) -> list[Difference]:
    return [
        Difference(way, row, a, b)
        for row, a, b in zip(rows, ours, theirs, strict=True)
        if a != b and not _is_close(a, b, case.relative)
    ]


def _is_close(ours: str | None, theirs: str | None, relative: float) -> bool:
    if relative == 0.0 or ours is None or theirs is None or _is_error(ours) or _is_error(theirs):
        return False
    a, b = float(ours), float(theirs)
    return abs(a - b) <= relative * max(abs(a), abs(b))


def prepare(postgres: psycopg.Connection[tuple[object, ...]]) -> None:
    """Makes the function that the judge asks PostgreSQL with."""
    postgres.execute(_PROBE)
