"""Expressions on rows of Python values give what they give on columns, or say that they do not know."""

from __future__ import annotations

from datetime import date

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from risingpy.functions.evaluation.evaluate import Evaluator
from risingpy.functions.evaluation.python_rows import NotInPython, compile_python
from risingpy.plan.expressions import Call, Case, Cast, Expr, InputRef, Literal
from risingpy.storage.codec.python_values import python_type, python_types
from risingpy.types import BIGINT, BOOLEAN, DATE, DOUBLE, INTEGER, SMALLINT, VARCHAR, SqlType
from tests.examples import examples

A, B = InputRef(0, INTEGER), InputRef(1, INTEGER)
S, T = InputRef(2, VARCHAR), InputRef(3, VARCHAR)
P, Q = InputRef(4, BOOLEAN), InputRef(5, BOOLEAN)
D = InputRef(6, DATE)
TYPES = [INTEGER, INTEGER, VARCHAR, VARCHAR, BOOLEAN, BOOLEAN, DATE]

EDGE = 2**31
numbers = st.none() | st.integers(-3, 3) | st.sampled_from([EDGE - 1, -EDGE])
texts = st.sampled_from([None, "", "a", "B", "ab", "z\U0010ffff", "\uffff", "Straße"])
truths = st.sampled_from([None, True, False])
days = st.sampled_from([None, date(1970, 1, 1), date(2026, 11, 29)])
rows = st.tuples(numbers, numbers, texts, texts, truths, truths, days)


def call(name: str, type_: SqlType, *args: Expr) -> Call:
    return Call(name, args, type_)


PAIRS: list[tuple[Expr, Expr]] = [
    (A, B),
    (A, Literal(1, INTEGER)),
    (S, T),
    (S, Literal("a", VARCHAR)),
    (D, Literal(date(2000, 1, 1), DATE)),
]
COMPARED = [
    call(name, BOOLEAN, *pair)
    for name in ("eq", "ne", "lt", "le", "gt", "ge")
    for pair in (
        (A, B),
        (A, Literal(1, INTEGER)),
        (S, T),
        (S, Literal("a", VARCHAR)),
        (D, Literal(date(2000, 1, 1), DATE)),
    )
]
COMPUTED = [call(name, INTEGER, A, B) for name in ("add", "subtract", "multiply", "divide", "modulo")]
EXPRESSIONS: list[Expr] = [
    *COMPARED,
    *COMPUTED,
    A,
    Literal(None, INTEGER),
    Literal(date(1969, 12, 31), DATE),
    call("negate", INTEGER, A),
    call("abs", INTEGER, A),
    call("and", BOOLEAN, P, Q),
    call("or", BOOLEAN, P, Q),
    call("and", BOOLEAN, P, call("gt", BOOLEAN, call("divide", INTEGER, A, B), Literal(0, INTEGER))),
    call("coalesce", INTEGER, A, B, Literal(7, INTEGER)),
    call("lower", VARCHAR, S),
    call("upper", VARCHAR, S),
    Cast(A, BIGINT),
    Cast(A, SMALLINT),
    call("multiply", BIGINT, Cast(A, BIGINT), Cast(B, BIGINT)),
    Case(((P, A), (Q, B)), Literal(None, INTEGER), INTEGER),
    Case(((call("gt", BOOLEAN, B, Literal(0, INTEGER)), call("divide", INTEGER, A, B)),), A, INTEGER),
    *(call(name, BOOLEAN, each) for name in ("is_null", "is_not_null") for each in (A, S, P)),
    *(call(name, BOOLEAN, P) for name in ("not", "is_true", "is_not_true", "is_false", "is_not_false")),
]


@pytest.mark.parametrize("expression", EXPRESSIONS, ids=str)
@given(row=rows)
@examples(40)
def test_the_two_ways_agree(expression: Expr, row: tuple[object, ...]) -> None:
    compiled, known = compile_python(expression), python_types([type_.arrow for type_ in TYPES])
    assert compiled is not None and known is not None
    columns = [pa.array([value], type_.arrow) for value, type_ in zip(row, TYPES, strict=True)]
    names = ["op", *(f"c{k}" for k in range(len(columns)))]
    table, errors = Evaluator(None, [expression]).evaluate(pa.table([pa.array([1], pa.int8()), *columns], names=names))
    given_row = tuple(each.read(column)[0] for each, column in zip(known, columns, strict=True))
    try:
        value = compiled(given_row)
    except NotInPython:
        return  # columns tell what then
    own = python_type(expression.type.arrow)
    assert own is not None and errors == 0
    assert own.write([value]).to_pylist() == table.column(1).to_pylist()


def test_a_row_that_fails_is_not_known() -> None:
    for expression, row in (
        (call("add", INTEGER, A, B), (EDGE - 1, 1)),
        (call("divide", INTEGER, A, B), (1, 0)),
        (call("modulo", INTEGER, A, B), (1, 0)),
        (call("negate", INTEGER, A), (-EDGE, 0)),
        (Cast(A, SMALLINT), (1 << 15, 0)),
    ):
        compiled = compile_python(expression)
        assert compiled is not None
        with pytest.raises(NotInPython):
            compiled(row)


def test_what_is_left_to_columns() -> None:
    x = InputRef(0, DOUBLE)
    for expression in (
        call("add", DOUBLE, x, x),
        call("lt", BOOLEAN, x, Literal(1.0, DOUBLE)),
        Cast(S, INTEGER),
        Cast(A, VARCHAR),
        call("substr", VARCHAR, S, A),
    ):
        assert compile_python(expression) is None
