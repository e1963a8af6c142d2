"""Expressions as DuckDB SQL, meaning what PostgreSQL means by them.

Views and batch SELECT share this compiler, so that both give the same answers. The text runs on connections of
`duckdb_connection.connect`, whose functions it calls. Errors are raised when it is evaluated (`translate_error` makes
them ours).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import assert_never

from risingpy.errors import InternalError
from risingpy.functions.evaluation import literal_lists
from risingpy.functions.evaluation.sql.arithmetic import FLOAT_CHAINS, checked_chain, float_terms, plain_chain
from risingpy.functions.evaluation.sql.branches import IN_TURN, case_in_turn, in_turn
from risingpy.functions.evaluation.sql.casts import cast
from risingpy.functions.evaluation.sql.catalog import CATALOG
from risingpy.functions.evaluation.sql.datetime import grows_for_ever, part_as_float
from risingpy.functions.evaluation.sql.functions import SPECIAL, TEMPLATES
from risingpy.functions.evaluation.sql.maps import OVER_ELEMENTS
from risingpy.functions.evaluation.sql.nested import compared_with_all
from risingpy.functions.evaluation.sql.text import literal, own_call, quoted
from risingpy.functions.evaluation.sql.tree import DEEPEST, Guard, Layers, Piece, Tree, simple
from risingpy.functions.topics import FUNCTIONS, python_functions
from risingpy.functions.topics.numbers.wide_numbers import COMPUTED
from risingpy.plan.expression_trees import LET, OPERAND
from risingpy.plan.expressions import Call, Case, Cast, CorrelatedRef, Expr, InputRef, Literal, Parameter, Subquery
from risingpy.types import NUMERIC, SqlType, TypeKind

# Functions that never fail for a row.
_SAFE = frozenset(
    (
        *("not", "is_null", "is_not_null", "is_true", "is_not_true", "is_false", "is_not_false", "is_unknown"),
        *("is_not_unknown", "eq", "ne", "lt", "le", "gt", "ge", "is_distinct_from", "is_not_distinct_from", "in"),
        *("lower", "upper", "length", "concat_op", "starts_with", "greatest", "least", "nullif"),
    )
)

Column = Callable[[int], str]


def compile_expression(expr: Expr, column: Column) -> str:
    """SQL of exactly the expression's type, valid in any place; `column` gives the SQL of an input column."""
    return _Compiler(column, Tree(None)).piece(expr, None).text


class Selected:
    """Expressions of one SELECT over a relation called t. Values that they use twice are columns of SELECTs inside it.

    If `ordered`, the rows keep the relation's order.
    """

    def __init__(self, column: Column, *, ordered: bool = True) -> None:
        self._layers = Layers(ordered=ordered)
        self._compiler = _Compiler(column, Tree(self._layers))

    def sql(self, expr: Expr) -> str:
        """The expression as SQL for the SELECT list."""
        return self._compiler.piece(expr, None).text

    def condition(self, expr: Expr) -> str:
        """The expression as SQL for WHERE."""
        return self._compiler.condition(expr, None).text

    def source(self, relation: str) -> str:
        """The FROM of the SELECT: the relation (`(…) AS t`), with the columns that earlier expressions need."""
        return self._layers.around(relation)

    @property
    def is_plain(self) -> bool:
        """Whether the relation has no columns besides its own."""
        return not self._layers


class _Compiler:
    def __init__(self, column: Column, tree: Tree, operand: Piece | None = None) -> None:
        self._column = column
        self._tree = tree
        self._operand = operand  # of the LET around

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
                return case_in_turn(expr, self.condition, self.piece, self._tree, guard)
            case Parameter():
                raise InternalError(f"parameter ${expr.index} has no value")
            case CorrelatedRef() | Subquery():
                raise InternalError("a subquery was not unnested")
            case _:
                assert_never(expr)

    def condition(self, expr: Expr, guard: Guard | None) -> Piece:
        """The SQL of the condition of a filter or a CASE."""
        if isinstance(expr, Call) and expr.function in ("and", "or"):
            return in_turn(expr.function, _operands(expr), self.condition, self._tree, guard)
        if isinstance(expr, Call) and expr.function == LET:
            return self._let(expr, guard, as_condition=True)
        return self.piece(expr, guard)

    def _let(self, let: Call, guard: Guard | None, *, as_condition: bool = False) -> Piece:
        """The body over the operand as a column of an inner SELECT or, where there is none, as a lambda's parameter."""
        given, body, _ = let.args
        operand = self._tree.cut(self.piece(given, guard), guard)
        own = operand if operand.simple or not self._tree.has_layers else self._tree.bound(operand, guard)
        if not own.simple:
            own = simple(self._tree.parameter())
        inside = _Compiler(self._column, self._tree, own)
        made = inside.condition(body, guard) if as_condition else inside.piece(body, guard)
        return made if own is operand or self._tree.has_layers else self._tree.given(own, operand, made)

    def _cast(self, expr: Cast, guard: Guard | None) -> Piece:
        part = expr.arg
        if isinstance(part, Call) and expr.type.is_float and grows_for_ever(part):
            return self._tree.applied(partial(part_as_float, part, expr), [self.piece(part.args[0], guard)], guard)

        def write(args: list[str]) -> str:
            converted = cast(args[0], expr.arg.type, expr.type)
            return f"TRY({converted})" if expr.safe else converted

        return self._tree.applied(write, [self.piece(expr.arg, guard)], guard, apart=expr.safe)

    def _call(self, call: Call, guard: Guard | None) -> Piece:
        if call.function == "lambda_parameter":
            if call.args[0] == OPERAND:
                assert self._operand is not None
                return self._operand
            return simple(_written(call, []))
        if call.function == LET:
            return self._let(call, guard)
        if call.function in IN_TURN:
            as_condition = call.function == "coalesce"
            return in_turn(call.function, _operands(call), self.piece, self._tree, guard, as_condition=as_condition)
        if call.function == "in_list":
            return self._in_list(call, guard)
        if call.function in OVER_ELEMENTS:
            return self._over_elements(call, guard)
        if call.type.is_float and any(call.function in operators for operators in FLOAT_CHAINS):
            return self._float_chain(call, guard)
        args = [self.piece(arg, guard) for arg in call.args]
        made = self._tree.applied(partial(_written, call), args, guard, safe=call.function in _SAFE)
        if call.function in CATALOG and self._tree.has_layers:  # no lambda may have a subquery in it
            return self._tree.bound(made, guard, joins=True)
        return made

    def _in_list(self, call: Call, guard: Guard | None) -> Piece:
        """A long list is joined in a SELECT inside, if there may be one: nothing of it then stands in a lambda."""
        joined = self._tree.has_layers
        operand = self.piece(call.args[0], guard)
        if joined and not operand.simple:  # what a join compares is computed for all rows, whatever CASE is around it
            operand = self._tree.bound(operand, guard)
        found = self._tree.applied(
            lambda args: literal_lists.written(call, args[0], joined=joined), [operand], guard, safe=True
        )
        return self._tree.bound(found, guard, joins=True) if joined else found

    def _over_elements(self, call: Call, guard: Guard | None) -> Piece:
        """A function that is given a function, whose body stays where it is: it reads a lambda's parameter."""
        given, body, variable = call.args
        inside = _Compiler(self._column, self._tree.in_lambda(), self._operand).piece(body, None)
        args = [self.piece(given, guard), replace(inside, simple=True), self.piece(variable, guard)]
        return self._tree.applied(partial(_written, call), args, guard)

    def _float_chain(self, call: Call, guard: Guard | None) -> Piece:
        """a + b - c … or a * b * c …, with one check for many of them."""
        terms = float_terms(call)
        operators = [operator for operator, _ in terms[1:]]
        pieces = [self.piece(term, guard) for _, term in terms]
        if len(terms) > DEEPEST and self._tree.has_layers:
            return self._long_chain(call.type, operators, pieces, guard)
        total = pieces[0]
        for start in range(0, len(operators), DEEPEST):
            some = slice(start, start + DEEPEST)
            write = partial(checked_chain, call.type, operators[some])
            total = self._tree.applied(write, [total, *pieces[1:][some]], guard)
        return total

    def _long_chain(self, type_: SqlType, operators: Sequence[str], pieces: list[Piece], guard: Guard | None) -> Piece:
        """A chain in pieces of as many terms as an expression may have, with one check at the end."""
        columns = [piece if piece.simple else self._tree.bound(piece, guard) for piece in pieces]
        total = columns[0]
        for start in range(0, len(operators), DEEPEST):
            some = slice(start, start + DEEPEST)
            write = partial(plain_chain, operators[some])
            added = self._tree.applied(write, [total, *columns[1:][some]], guard, safe=True)
            total = self._tree.bound(added, guard)

        def write_check(args: list[str]) -> str:
            return checked_chain(type_, operators, args[1:], args[0])

        return self._tree.applied(write_check, [total, *columns], guard)


def _operands(call: Call) -> list[Expr]:
    """The arguments; those of an AND in an AND are further ones, and likewise of OR and COALESCE."""
    found: list[Expr] = []
    rest: list[Expr] = [call]
    while rest:
        part = rest.pop()
        if isinstance(part, Call) and part.function == call.function:
            rest += reversed(part.args)
        else:
            found.append(Cast(part, call.type) if call.type.is_wide and not part.type.is_wide else part)
    return found


def _written(call: Call, args: list[str]) -> str:
    """The call of arguments given as SQL, of which it may use any several times."""
    # The fields of a row keep their own types.
    if call.function != "row" and (call.type.is_wide or any(arg.type.is_wide for arg in call.args)):
        numbers = zip(args, call.args, strict=True)
        args = [cast(a, e.type, NUMERIC) if e.type.kind is TypeKind.NUMERIC else a for a, e in numbers]
        if call.function in COMPUTED:
            return own_call(f"wide_{call.function}", args, call.type)
    if call.function in CATALOG:
        return CATALOG[call.function](call, args)
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
