"""Evaluation's two ways agree, errors have PostgreSQL's SQLSTATE, numeric arithmetic is exact."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context, Decimal

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from risingpy.errors import DivisionByZero, NumericValueOutOfRange
from risingpy.executors.change_chunk import distinct_rows, make_chunk
from risingpy.functions.evaluation import evaluate, numeric_arithmetic
from risingpy.functions.evaluation.arrow_functions import compile_arrow
from risingpy.functions.evaluation.duckdb_connection import connect, translate_error
from risingpy.functions.evaluation.duckdb_functions import OwnFunctions
from risingpy.functions.evaluation.duckdb_sql import compile_expression
from risingpy.functions.evaluation.evaluate import Evaluator
from risingpy.plan.expressions import Call, Case, Cast, Expr, InputRef, Literal
from risingpy.storage.codec.column_buffers import whole
from risingpy.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    REAL,
    SMALLINT,
    TIMESTAMP,
    VARCHAR,
    SqlType,
    array_of,
    numeric,
)
from risingpy.types import NARROW_NUMERIC as NUMERIC
from tests.examples import examples

EXACT = Context(prec=200, rounding=ROUND_HALF_UP)


def call(name: str, type_: SqlType, *args: Expr) -> Call:
    return Call(name, args, type_)


def text(value: str, type_: SqlType) -> Expr:
    return Cast(Literal(value, VARCHAR), type_)


def number(value: int, type_: SqlType = INTEGER) -> Literal:
    return Literal(value, type_)


def double(value: float) -> Literal:
    return Literal(value, DOUBLE)


ERRORS: list[tuple[Expr, str, str]] = [
    (call("add", SMALLINT, number(32767, SMALLINT), number(1, SMALLINT)), "22003", "smallint out of range"),
    (call("add", INTEGER, number(2**31 - 1), number(1)), "22003", "integer out of range"),
    (call("multiply", BIGINT, number(2**62, BIGINT), number(4, BIGINT)), "22003", "bigint out of range"),
    (call("divide", INTEGER, number(1), number(0)), "22012", "division by zero"),
    (call("divide", DOUBLE, double(1), double(0)), "22012", "division by zero"),
    (call("modulo", INTEGER, number(1), number(0)), "22012", "division by zero"),
    (
        call("divide", NUMERIC, Literal(Decimal(1), NUMERIC), Literal(Decimal(0), NUMERIC)),
        "22012",
        "division by zero",
    ),
    (Cast(number(70000), SMALLINT), "22003", "smallint out of range"),
    (Cast(double(1e30), BIGINT), "22003", "bigint out of range"),
    (Cast(double(1e40), REAL), "22003", "real out of range"),
    (Cast(Literal(Decimal(10) ** 20, NUMERIC), BIGINT), "22003", "bigint out of range"),
    (Cast(number(12345), numeric(4, 2)), "22003", "numeric field overflow"),
    (text("abc", INTEGER), "22P02", 'invalid input syntax for type integer: "abc"'),
    (text("99999999999", INTEGER), "22003", 'value "99999999999" is out of range for type integer'),
    (text("zz", DATE), "22007", 'invalid input syntax for type date: "zz"'),
    (call("sqrt", DOUBLE, double(-1)), "2201F", "cannot take square root of a negative number"),
    (call("ln", DOUBLE, double(0)), "2201E", "cannot take logarithm of zero"),
    (call("exp", DOUBLE, double(1e5)), "22003", "value out of range: overflow"),
    (call("chr", VARCHAR, number(0)), "54000", "null character not permitted"),
    (
        call("split_part", VARCHAR, Literal("a", VARCHAR), Literal(",", VARCHAR), number(0)),
        "22023",
        "field position must not be zero",
    ),
    (
        call("like", BOOLEAN, Literal("a", VARCHAR), Literal("a\\", VARCHAR)),
        "22025",
        "LIKE pattern must not end with escape character",
    ),
    (
        call("date_trunc", TIMESTAMP, Literal("foo", VARCHAR), text("2020-01-01", TIMESTAMP)),
        "22023",
        'unit "foo" not recognized for type timestamp without time zone',
    ),
    (
        call("make_date", DATE, number(2020), number(13), number(1)),
        "22008",
        "date field value out of range: 2020-13-01",
    ),
]


@pytest.mark.parametrize(("expr", "sqlstate", "message"), ERRORS, ids=[message for _, _, message in ERRORS])
def test_errors_are_postgres(expr: Expr, sqlstate: str, message: str) -> None:
    sql = compile_expression(expr, lambda index: f"c{index}")
    connection = connect()
    OwnFunctions(connection).make_known(sql)
    with pytest.raises(duckdb.Error) as raised:
        connection.sql(f"SELECT {sql}").to_arrow_table()
    error = translate_error(raised.value)
    assert (error.sqlstate, error.message) == (sqlstate, message)


X, Y = InputRef(0, INTEGER), InputRef(1, INTEGER)
QUOTIENT = call("divide", INTEGER, number(10), X)  # fails for x = 0
IS_ZERO = call("eq", BOOLEAN, X, number(0))
READ = Cast(InputRef(2, VARCHAR), INTEGER)  # fails for the text 'x'

# What fails is NULL by itself. Over x = 0, 5, NULL, y = 1, 2, 3 and the texts 'x', '7', NULL: values and failures.
PARTS: list[tuple[str, Expr, list[object], int]] = [
    ("alone", QUOTIENT, [None, 2, None], 1),
    ("IS NULL", call("is_null", BOOLEAN, QUOTIENT), [True, False, True], 1),
    ("COALESCE", call("coalesce", INTEGER, QUOTIENT, number(-1)), [-1, 2, -1], 1),
    ("two failures", call("coalesce", INTEGER, QUOTIENT, READ, number(-1)), [-1, 2, -1], 2),
    (
        "a comparison of what failed is unknown",
        call("or", BOOLEAN, call("gt", BOOLEAN, QUOTIENT, number(1)), call("eq", BOOLEAN, Y, number(1))),
        [True, True, None],
        1,
    ),
    ("CASE", Case(((IS_ZERO, number(-1)),), QUOTIENT, INTEGER), [-1, 2, None], 0),
    (
        "a condition of CASE",
        Case(((call("gt", BOOLEAN, QUOTIENT, number(1)), number(1)),), READ, INTEGER),
        [None, 1, None],
        2,
    ),
    (
        "an argument of a call that takes NULLs",
        call("concat", VARCHAR, Literal("<", VARCHAR), QUOTIENT, Literal(">", VARCHAR)),
        ["<>", "<2>", "<>"],
        1,
    ),
    ("a sum", call("add", INTEGER, call("add", INTEGER, QUOTIENT, READ), Y), [None, 11, None], 2),
    (
        "an array's elements",
        call("array", array_of(INTEGER), QUOTIENT, Y, READ),
        [[None, 1, None], [2, 2, 7], [None, 3, None]],
        2,
    ),
    ("a safe cast", Cast(InputRef(2, VARCHAR), INTEGER, safe=True), [None, 7, None], 0),
]


@pytest.mark.parametrize(("expr", "values", "failures"), [part[1:] for part in PARTS], ids=[part[0] for part in PARTS])
def test_only_the_part_that_fails_is_null(expr: Expr, values: list[object], failures: int) -> None:
    columns = [pa.array([0, 5, None], pa.int32()), pa.array([1, 2, 3], pa.int32()), pa.array(["x", "7", None])]
    projected, errors = Evaluator(None, [expr]).evaluate(make_chunk(np.ones(3, np.int8), columns))
    assert (projected.column("c0").to_pylist(), errors) == (values, failures)


@pytest.mark.parametrize(("name", "kept"), [("or", [0, 5]), ("and", [5])])
def test_a_predicate_evaluates_what_counts(name: str, kept: list[int]) -> None:
    """x = 0 OR 10 / x > 1, and NOT x = 0 AND 10 / x > 1: nothing fails."""
    first = IS_ZERO if name == "or" else call("not", BOOLEAN, IS_ZERO)
    predicate = call(name, BOOLEAN, first, call("gt", BOOLEAN, QUOTIENT, number(1)))
    columns = [pa.array([0, 5, 20, None], pa.int32())]
    chosen, errors = Evaluator(predicate, None).evaluate(make_chunk(np.ones(4, np.int8), columns))
    assert (chosen.column("c0").to_pylist(), errors) == (kept, 0)


def test_a_malformed_pattern_costs_its_row_only() -> None:
    like = call("like", BOOLEAN, InputRef(0, VARCHAR), InputRef(1, VARCHAR))
    columns = [pa.array(["a", "a", "b"]), pa.array(["a%", "a\\", "a%"])]
    projected, errors = Evaluator(None, [like]).evaluate(make_chunk(np.ones(3, np.int8), columns))
    assert (projected.column("c0").to_pylist(), errors) == ([True, None, False], 1)


COLUMNS: list[tuple[SqlType, st.SearchStrategy[object]]] = [
    (BIGINT, st.sampled_from([None, 0, 1, -1, 5, 2**63 - 1, -(2**63)])),
    (BIGINT, st.sampled_from([None, 0, 2, -3, 2**62])),
    (DOUBLE, st.sampled_from([None, 0.0, 1.5, -2.0, float("nan"), float("inf"), float("-inf")])),
    (VARCHAR, st.sampled_from([None, "", "a", "b", "é"])),
    (BOOLEAN, st.sampled_from([None, True, False])),
    (NUMERIC, st.sampled_from([None, Decimal(0), Decimal("1.25"), Decimal("-3.5"), Decimal(10) ** 21])),
    (numeric(10, 2), st.sampled_from([None, Decimal(0), Decimal("2.50"), Decimal("-0.01")])),
]
REFS = [InputRef(k, type_) for k, (type_, _) in enumerate(COLUMNS)]


@st.composite
def expressions(draw: st.DrawFn, type_: SqlType, depth: int = 3) -> Expr:
    """An expression of a type, of the kinds that Arrow evaluates."""
    refs = [ref for ref in REFS if ref.type == type_]
    if depth == 0 or draw(st.booleans()):
        return draw(st.sampled_from(refs))

    def deeper(other: SqlType) -> Expr:
        return draw(expressions(other, depth - 1))

    if draw(st.integers(0, 4)) == 0:
        return Case(((deeper(BOOLEAN), deeper(type_)),), deeper(type_), type_)
    if draw(st.integers(0, 4)) == 0:
        return call("coalesce", type_, deeper(type_), deeper(type_))
    if type_ == BOOLEAN:
        return draw(_conditions(depth))
    if type_ == VARCHAR:
        return draw(st.sampled_from(refs))
    if type_ == BIGINT and draw(st.integers(0, 4)) == 0:
        return call(draw(st.sampled_from(["negate", "abs"])), BIGINT, deeper(BIGINT))
    operators = ["add", "subtract", "multiply"]
    operators += ["divide", "modulo"] if type_ == BIGINT else ["divide"] if type_ == NUMERIC else []
    if type_ == numeric(10, 2):
        return draw(st.sampled_from(refs))
    other = draw(st.sampled_from([numeric(10, 2), NUMERIC])) if type_ == NUMERIC else type_
    return call(draw(st.sampled_from(operators)), type_, deeper(type_), deeper(other))


@st.composite
def _conditions(draw: st.DrawFn, depth: int) -> Expr:
    def deeper(type_: SqlType) -> Expr:
        return draw(expressions(type_, depth - 1))

    kind = draw(st.integers(0, 3))
    if kind == 0:
        return call(draw(st.sampled_from(["and", "or"])), BOOLEAN, deeper(BOOLEAN), deeper(BOOLEAN))
    if kind == 1:
        names = ["not", "is_true", "is_not_true", "is_false", "is_not_false", "is_unknown", "is_not_unknown"]
        return call(draw(st.sampled_from(names)), BOOLEAN, deeper(BOOLEAN))
    type_ = draw(st.sampled_from([BIGINT, DOUBLE, VARCHAR, NUMERIC]))
    if kind == 2:
        return call(draw(st.sampled_from(["is_null", "is_not_null"])), BOOLEAN, deeper(type_))
    comparison = draw(st.sampled_from(["eq", "ne", "lt", "le", "gt", "ge"]))
    right = double(1.5) if type_ == DOUBLE else deeper(type_)
    return call(comparison, BOOLEAN, deeper(type_), right)


rows = st.lists(st.tuples(*(values for _, values in COLUMNS)), min_size=1, max_size=6)


@given(expr=st.sampled_from([BIGINT, DOUBLE, BOOLEAN, NUMERIC]).flatmap(expressions), values=rows)
@examples(150)
def test_arrow_agrees_with_duckdb(expr: Expr, values: list[tuple[object, ...]]) -> None:
    assert compile_arrow(expr) is not None or "float" in str(expr) or "double" in str(expr)
    columns = [pa.array([row[k] for row in values], type_.arrow) for k, (type_, _) in enumerate(COLUMNS)]
    chunk = make_chunk(np.ones(len(values), np.int8), columns)
    by_arrow = Evaluator(None, [expr]).evaluate(chunk)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evaluate, "compile_arrow", lambda expr: None)
        by_duckdb = Evaluator(None, [expr]).evaluate(chunk)
    assert by_arrow[1] == by_duckdb[1]
    left, right = (whole(result.column(1)) for result, _ in (by_arrow, by_duckdb))
    assert not distinct_rows([left], [right], len(values)).any(), (left, right)


@st.composite
def numerics(draw: st.DrawFn) -> pa.Array:
    precision = draw(st.integers(1, 38))
    scale = draw(st.integers(0, precision))
    digits = st.integers(1, precision).flatmap(lambda n: st.integers(-(10**n) + 1, 10**n - 1))
    values = draw(st.lists(st.none() | digits, min_size=3, max_size=3))
    decimals = [None if value is None else EXACT.scaleb(Decimal(value), -scale) for value in values]
    return pa.array([None, *decimals], pa.decimal128(precision, scale)).slice(1)


@given(left=numerics(), right=numerics(), data=st.data())
@examples(200)
def test_numeric_arithmetic_is_exact(left: pa.Array, right: pa.Array, data: st.DataObject) -> None:
    scales = (left.type.scale, right.type.scale)
    name = data.draw(st.sampled_from(["add", "subtract", "multiply", "divide"]))
    lowest = {"multiply": 0, "divide": max(16, *scales)}.get(name, max(scales))
    scale = data.draw(st.integers(lowest, 38)) if name in ("multiply", "divide") else lowest
    expected: list[Decimal | None] = []
    failure: type[Exception] | None = None
    for a, b in zip(left.to_pylist(), right.to_pylist(), strict=True):
        if a is None or b is None:
            expected.append(None)
        elif name == "divide" and b == 0:
            failure = DivisionByZero
        else:
            exact = {"add": EXACT.add, "subtract": EXACT.subtract, "multiply": EXACT.multiply, "divide": EXACT.divide}
            result = EXACT.quantize(exact[name](a, b), Decimal(1).scaleb(-scale))
            expected.append(result)
            if abs(EXACT.scaleb(result, scale)) >= 10**38:
                failure = failure or NumericValueOutOfRange
    function = getattr(numeric_arithmetic, name)
    if failure is None:
        assert function(left, right, scale).to_pylist() == expected
    else:
        with pytest.raises((DivisionByZero, NumericValueOutOfRange)):
            function(left, right, scale)


@pytest.mark.parametrize("rows", [28, 2048 + 28, 4096 + 63])
@pytest.mark.parametrize("items", [4, 5, 31])
def test_an_in_of_several_items_keeps_the_rows_in_their_order(rows: int, items: int) -> None:
    """DuckDB joins with the items, and its joins hold short batches back: rows of the next batch came before them."""
    numbers = pa.array(np.arange(rows, dtype=np.int64))
    pieces = [
        make_chunk(np.ones(rows, np.int8), [numbers, pa.repeat(pa.scalar(piece, pa.int64()), rows)])
        for piece in range(6)
    ]
    number, piece = InputRef(0, BIGINT), InputRef(1, BIGINT)
    among = Call("in", (piece, *(Literal(item, BIGINT) for item in range(items))), BOOLEAN)
    chosen = Call("add", (number, Case(((among, piece),), piece, BIGINT)), BIGINT)
    changes, errors = Evaluator(None, [number, piece, chosen]).evaluate(pa.concat_tables(pieces))
    assert errors == 0
    expected = pc.add(changes.column("c0"), changes.column("c1"))
    assert changes.column("c2").to_pylist() == expected.to_pylist()


@pytest.mark.parametrize("name", ["lower", "upper"])
def test_cases_of_letters_are_those_of_select(name: str) -> None:
    """Arrow has a newer Unicode, and is asked of ASCII alone."""
    expr = call(name, VARCHAR, InputRef(0, VARCHAR))
    by_arrow = compile_arrow(expr)
    assert by_arrow is not None
    texts = pa.chunked_array([["aB-c", None, ""], ["Z" * 300]])
    assert by_arrow([texts]).to_pylist() == [None if t is None else getattr(t, name)() for t in texts.to_pylist()]
    letters = [chr(code) for code in range(1, 0x20000) if not 0xD800 <= code < 0xE000]
    with pytest.raises(pa.ArrowNotImplementedError):
        by_arrow([pa.chunked_array([letters])])
    some = ["\u00c9", "\u00e9", "\u00df"]
    chunk = pa.table([pa.array(np.ones(len(some), np.int8)), pa.array(some)], names=["op", "c0"])
    answer, errors = Evaluator(None, [expr]).evaluate(chunk)
    expected = [getattr(letter, name)() for letter in some[:2]] + ["\u00df"]  # as PostgreSQL: one letter for one
    assert (answer.column("c0").to_pylist(), errors) == (expected, 0)
