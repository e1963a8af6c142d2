"""Expressions as DuckDB SQL, meaning what PostgreSQL means by them.

Views and batch SELECT share this compiler, so that both give the same answers. The text runs on connections of
`duckdb_connection.connect`, whose functions it calls. Errors are raised when it is evaluated (`translate_error` makes
them ours).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import assert_never

from risingpy.errors import InternalError
from risingpy.executors.expression.functions import FUNCTIONS, python_functions
from risingpy.executors.expression.functions.wide_numbers import COMPUTED
from risingpy.executors.expression.nodes import (
    Call,
    Case,
    Cast,
    CorrelatedRef,
    Expr,
    InputRef,
    Literal,
    Parameter,
    Subquery,
)
from risingpy.executors.expression.sql_arithmetic import FLOAT_SUMS, float_sum, float_terms
from risingpy.executors.expression.sql_branches import IN_TURN, case_in_turn, in_turn
from risingpy.executors.expression.sql_casts import cast
from risingpy.executors.expression.sql_functions import SPECIAL, TEMPLATES
from risingpy.executors.expression.sql_maps import OVER_ELEMENTS
from risingpy.executors.expression.sql_nested import compared_with_all
from risingpy.executors.expression.sql_text import literal, own_call, quoted
from risingpy.executors.expression.sql_tree import DEEPEST, Guard, Layers, Piece, Tree, simple
from risingpy.types import NUMERIC, TypeKind

Column = Callable[[int], str]


def compile_expression(expr: Expr, column: Column) -> str:
    """SQL of exactly the expression's type, to stand anywhere; `column` gives the SQL of an input column."""
    return _Compiler(column, Tree(None)).piece(expr, None).text


class Selected:
    """Expressions of one SELECT over a relation called t. What they use twice are columns of SELECTs inside it."""

    def __init__(self, column: Column) -> None:
        self._layers = Layers()
        self._compiler = _Compiler(column, Tree(self._layers))

    def sql(self, expr: Expr) -> str:
        """The expression, to stand in the SELECT."""
        return self._compiler.piece(expr, None).text

    def source(self, relation: str) -> str:
        """What the SELECT is from: the relation (`(…) AS t`), with columns for the expressions of before."""
        return self._layers.around(relation)

    @property
    def is_plain(self) -> bool:
        """Whether the relation has no columns besides its own."""
        return not self._layers


class _Compiler:
    def __init__(self, column: Column, tree: Tree) -> None:
        self._column = column
        self._tree = tree

    def piece(self, expr: Expr, guard: Guard | None) -> Piece:
        """The SQL of an expression that is evaluated where the guard holds."""
        match expr:
            case InputRef():
                return simple(self._column(expr.index))
            case Literal():
                return simple(literal(expr.value, expr.type))
            case Call():
                return self._call(expr, guard)
            case Cast():
                return self._cast(expr, guard)
            case Case():
                return case_in_turn(expr, self.piece, self._tree, guard)
            case Parameter():
                raise InternalError(f"parameter ${expr.index} has no value")
            case CorrelatedRef() | Subquery():
                raise InternalError("a subquery was not unnested")
            case _:
                assert_never(expr)

    def _cast(self, expr: Cast, guard: Guard | None) -> Piece:
        def write(args: list[str]) -> str:
            converted = cast(args[0], expr.arg.type, expr.type)
            return f"TRY({converted})" if expr.safe else converted

        return self._tree.applied(write, [self.piece(expr.arg, guard)], guard, apart=expr.safe)

    def _call(self, call: Call, guard: Guard | None) -> Piece:
        if call.function == "lambda_parameter":
            return simple(_written(call, []))
        if call.function in IN_TURN:
            return in_turn(call.function, _operands(call), self.piece, self._tree, guard)
        if call.function in OVER_ELEMENTS:
            return self._over_elements(call, guard)
        if call.type.is_float and call.function in FLOAT_SUMS:
            return self._float_sum(call, guard)
        return self._tree.applied(partial(_written, call), [self.piece(arg, guard) for arg in call.args], guard)

    def _over_elements(self, call: Call, guard: Guard | None) -> Piece:
        """A function that is given a function, whose body stays where it is: it reads a lambda's parameter."""
        given, body, variable = call.args
        inside = _Compiler(self._column, self._tree.in_lambda()).piece(body, None)
        args = [self.piece(given, guard), replace(inside, simple=True), self.piece(variable, guard)]
        return self._tree.applied(partial(_written, call), args, guard)

    def _float_sum(self, call: Call, guard: Guard | None) -> Piece:
        """a + b - c …, some terms at a time, with one check each time."""
        terms = float_terms(call)
        first, *others = [(sign, self.piece(term, guard)) for sign, term in terms]
        total = first[1]
        for start in range(0, len(others), DEEPEST):
            some = others[start : start + DEEPEST]
            write = partial(float_sum, call.type, [sign for sign, _ in some])
            total = self._tree.applied(write, [total, *(piece for _, piece in some)], guard)
        return total


def _operands(call: Call) -> list[Expr]:
    """The arguments; those of an AND in an AND are further ones, and likewise of OR."""
    if call.function == "coalesce":
        wide = call.type.is_wide
        return [Cast(arg, call.type) if wide and not arg.type.is_wide else arg for arg in call.args]
    found: list[Expr] = []
    rest: list[Expr] = [call]
    while rest:
        part = rest.pop()
        if isinstance(part, Call) and part.function == call.function:
            rest += reversed(part.args)
        else:
            found.append(part)
    return found


def _written(call: Call, args: list[str]) -> str:
    """The call of arguments given as SQL, of which it may use any several times."""
    if call.type.is_wide or any(arg.type.is_wide for arg in call.args):
        numbers = zip(args, call.args, strict=True)
        args = [cast(a, e.type, NUMERIC) if e.type.kind is TypeKind.NUMERIC else a for a, e in numbers]
        if call.function in COMPUTED:
            return own_call(f"wide_{call.function}", args, call.type)
    if call.function in SPECIAL:
        return SPECIAL[call.function](call, args)
    if call.function in python_functions.CALLS:
        definition = call.args[0]
        assert isinstance(definition, Literal) and isinstance(definition.value, str)
        return own_call(call.function, [quoted(python_functions.key_of(definition.value)), *args[1:]], call.type)
    if call.function in FUNCTIONS:
        return own_call(call.function, args, call.type)
    if call.function.startswith(("any_", "all_")):
        return compared_with_all(call, args, _written)
    if call.function not in TEMPLATES:
        raise InternalError(f"the function {call.function} has no SQL")
    return TEMPLATES[call.function].format(*args, type=call.type.duckdb)
