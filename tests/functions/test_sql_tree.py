"""The SQL of every function, and of random trees of functions: no longer than the tree, and nothing evaluated twice."""

from __future__ import annotations

import random
from contextlib import suppress
from functools import cache

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from risingpy.errors import SqlError
from risingpy.executors.change_chunk import distinct_rows, make_chunk
from risingpy.functions.evaluation.chunk_query import run, select_of, typed
from risingpy.functions.evaluation.duckdb_sql import Selected, compile_expression
from risingpy.functions.evaluation.part_by_part import part_by_part
from risingpy.functions.evaluation.sql.maps import OVER_ELEMENTS
from risingpy.functions.volatile import NON_DETERMINISTIC
from risingpy.plan.expression_trees import walk
from risingpy.plan.expressions import Call, Case, Cast, Expr, InputRef, Literal, operands, with_operands
from risingpy.storage.codec.column_buffers import whole
from risingpy.types import BOOLEAN, DOUBLE, SqlType
from risingpy.types.forms import parse_text
from tests.functions.cases_reader import read_cases
from tests.functions.grids import GRIDS
from tests.functions.judge import bound

_PER_NODE = 2_500  # characters: the longest functions, in which each argument is named many times
_DEPTH = 200


def _column(index: int) -> str:
    return f"t.c{index}"


@cache
def _calls() -> tuple[Expr, ...]:
    """A call or a cast of each function and of each kind of cast that the judge's cases have."""
    found: dict[object, Expr] = {}
    for listed in read_cases():
        for part in walk(bound(listed.case)):
            reads_parameter = any(isinstance(p, Call) and p.function == "lambda_parameter" for p in walk(part))
            if isinstance(part, Call | Cast) and not reads_parameter:
                name = part.function if isinstance(part, Call) else "cast"
                found.setdefault((name, part.type, tuple(arg.type for arg in operands(part))), part)
    return tuple(found.values())


def _marked(call: Expr) -> tuple[Expr, list[str]]:
    """The call with arguments that cost something, and how each is written."""
    parts: list[Expr] = []
    marks = []
    for k, arg in enumerate(operands(call)):
        stays = isinstance(arg, Literal) or (isinstance(call, Call) and call.function in OVER_ELEMENTS and k)
        parts.append(arg if stays else Call("coalesce", (InputRef(k, arg.type),), arg.type))
        if not stays:
            marks.append(f"coalesce(t.c{k})")
    return with_operands(call, parts), marks


def test_each_argument_is_written_once() -> None:
    """In a SELECT and in an expression that stands anywhere; and not inside a lambda, once for each element."""
    repeated = []
    for call in _calls():
        if isinstance(call, Call) and call.function in NON_DETERMINISTIC:
            continue
        expr, marks = _marked(call)
        selected = Selected(_column)
        inner, anywhere = selected.sql(expr), compile_expression(expr, _column)
        sql = f"SELECT {inner} FROM {selected.source('t')}"
        for mark in marks:
            in_lambda = "lambda " in inner and mark in inner[inner.index("lambda ") :]
            if sql.count(mark) > 1 or anywhere.count(mark) > 1 or in_lambda:
                repeated.append((call, mark))
    assert not repeated


def test_volatile_arguments_are_evaluated_once() -> None:
    number = Call("random", (), DOUBLE)
    squared = Call("power", (number, Literal(2.0, DOUBLE)), DOUBLE)
    for expr in (Call("lgamma", (squared,), DOUBLE), Call("sqrt", (Call("sqrt", (number,), DOUBLE),), DOUBLE)):
        assert select_of([expr]).count("random()") == 1
        assert compile_expression(expr, _column).count("random()") == 1


@cache
def _by_argument() -> dict[SqlType, list[tuple[Expr, int]]]:
    """The calls that take a value of a type, and as which of their arguments."""
    found: dict[SqlType, list[tuple[Expr, int]]] = {}
    for call in _calls():
        if isinstance(call, Call) and call.function in NON_DETERMINISTIC | OVER_ELEMENTS:
            continue
        for k, arg in enumerate(operands(call)):
            if not isinstance(arg, Literal):
                found.setdefault(arg.type, []).append((call, k))
    return found


class _Trees:
    """Random trees over columns, one of each type that they read."""

    def __init__(self, seed: int) -> None:
        self.choose = random.Random(seed)
        self.types: list[SqlType] = []

    def column(self, type_: SqlType) -> InputRef:
        if type_ not in self.types:
            self.types.append(type_)
        return InputRef(self.types.index(type_), type_)

    def tree(self, depth: int) -> Expr:
        """A tree of that depth, around a column."""
        expr: Expr = self.column(self.choose.choice(sorted(_by_argument(), key=str)))
        for _ in range(depth):
            expr = self._around(expr)
        return expr

    def _around(self, inner: Expr) -> Expr:
        column = self.column(inner.type)
        is_null = Call("is_null", (column,), BOOLEAN)
        condition = inner if inner.type == BOOLEAN else Call("is_not_null", (inner,), BOOLEAN)
        calls = _by_argument().get(inner.type)
        match self.choose.choice(("then", "when", "coalesce", "and", "or", *["call"] * 15)):
            case "then":
                return Case(((is_null, column),), inner, inner.type)
            case "when":
                return Case(((is_null, column), (condition, column)), column, inner.type)
            case "coalesce":
                return Call("coalesce", (column, inner), inner.type)
            case "and" | "or" as name:
                return Call(name, (is_null, condition), BOOLEAN)
        if calls is None:
            return condition
        call, place = self.choose.choice(calls)
        parts = [arg if isinstance(arg, Literal) else self.column(arg.type) for arg in operands(call)]
        return with_operands(call, [*parts[:place], inner, *parts[place + 1 :]])


@pytest.mark.parametrize("seed", range(60))
def test_sql_grows_with_the_tree(seed: int) -> None:
    expr = _Trees(seed).tree(_DEPTH)
    assert len(select_of([expr])) <= _PER_NODE * sum(1 for _ in walk(expr))


@pytest.mark.parametrize("seed", range(300))
def test_the_whole_is_what_its_parts_give(seed: int) -> None:
    """What one query gives for a tree is what queries for each node give: also which rows fail."""
    trees = _Trees(seed)
    expr = trees.tree(trees.choose.randint(2, 7))
    values = [_values(type_) for type_ in trees.types]
    for _ in range(6):
        row = [column.slice(trees.choose.randrange(len(column)), 1) for column in values]
        chunk = make_chunk(np.ones(1, np.int8), row)
        expected, failures = part_by_part(expr, chunk)
        try:
            found = whole(typed(run(select_of([expr]), chunk)[0], expr.type))
        except duckdb.Error:
            assert failures, (expr, row)
        else:
            # DuckDB need not compute what fails if another operand is NULL, and so is the result, nor what decides no
            # condition: `b OR (f AND b)` is b.
            assert failures == 0 or found.null_count or expr.type == BOOLEAN, (expr, row)
            assert not distinct_rows([found], [expected], 1).any(), (expr, row, found, expected)


@cache
def _values(type_: SqlType) -> pa.Array:
    """Some values of a type: a grid's, or NULL where there is no grid."""
    texts = next((g.values for g in GRIDS.values() if g.type == str(type_)), ())
    known: list[object] = [None]
    for text in texts[:20]:
        with suppress(SqlError):  # too long for this one of the kind
            known.append(None if text is None else parse_text(type_, text, time_zone="UTC"))
    return pa.array(known, type_.arrow)


def test_sql_of_each_function_on_itself_grows_with_the_tree() -> None:
    """f(f(f(…))), where it takes what it gives: 30 deep."""
    for type_, calls in _by_argument().items():
        for call, place in calls:
            if call.type != type_:
                continue
            expr: Expr = InputRef(0, type_)
            for _ in range(30):
                parts = [*operands(call)]
                parts[place] = expr
                expr = with_operands(call, parts)
            nodes = sum(1 for _ in walk(expr))
            assert len(select_of([expr])) <= _PER_NODE * nodes, call
            assert len(compile_expression(expr, _column)) <= _PER_NODE * nodes, call
