"""percentile_cont(ARRAY[0.25, 0.75]) WITHIN GROUP (ORDER BY x): an array of the results, one for each element.

percentile_cont(ARRAY[[0.25, a], [0.75, NULL]]) …                 likewise, of as many dimensions

The calls for the elements are calls of the same lists, so they share what they keep. Of no values there is no array;
of a fraction that is NULL, the element is NULL. (PostgreSQL's manual, 9.21, table 9.61.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sqlglot import exp

from risingpy.errors import FeatureNotSupported
from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.expressions.nested import constructed
from risingpy.frontend.binder.trees import begin_of
from risingpy.frontend.binder.typing.coercion import Context, Operand
from risingpy.frontend.parser.parser_tools import START
from risingpy.functions.evaluation.evaluate import evaluate_constants
from risingpy.plan.expressions import Call, Case, Expr, Literal
from risingpy.types import BIGINT, BOOLEAN, DOUBLE, SqlType, TypeKind, array_of

TAKE_ARRAYS = frozenset({"percentile_cont", "percentile_disc"})

Fractions = list["exp.Expr | Fractions"]
Numbers = list["float | Numbers | None"]


def percentiles(
    binder: ExpressionBinder,
    tree: exp.Anonymous,
    bind_one: Callable[[exp.Anonymous], Expr],
    bind_count: Callable[[], Expr],
) -> Expr | None:
    """The array of results; None if the call's first argument is no array. `bind_one` binds the call of one element.

    `bind_count` gives the number of values. Raises FeatureNotSupported for an array that is neither a constant nor
    written as ARRAY[…].
    """
    first = tree.expressions[0] if tree.expressions else None
    if first is None or isinstance(first, exp.Distinct | exp.Order):
        return None
    bound = ExpressionBinder(binder.context, binder.scope, "aggregate").bind(first)
    if bound.type.kind is not TypeKind.ARRAY:
        return None
    fractions = _fractions(binder, first, bound)

    def bind(fraction: exp.Expr) -> Expr:
        return bind_one(_with_fraction(tree, fraction))

    if fractions is None:
        return Literal(None, _nested(bind(exp.Null()).type, bound.type.depth))
    array = _results(fractions, bind)
    # A fraction that is a number has a result if there are values.
    number = next((each for each in _leaves(fractions) if isinstance(each, exp.Literal)), None)
    if number is not None:
        is_empty = Call("is_null", (bind(number),), BOOLEAN)
    else:
        is_empty = Call("eq", (bind_count(), Literal(0, BIGINT)), BOOLEAN)
    return Case(((is_empty, Literal(None, array.type)),), array, array.type)


def _results(fractions: Fractions, bind: Callable[[exp.Expr], Expr]) -> Expr:
    if not fractions:
        return Literal((), array_of(bind(exp.Null()).type))
    parts = [_results(each, bind) if isinstance(each, list) else bind(each) for each in fractions]
    return constructed("array", parts, array_of(parts[0].type))


def _leaves(fractions: Fractions) -> Iterator[exp.Expr]:
    for each in fractions:
        yield from _leaves(each) if isinstance(each, list) else [each]


def _nested(element: SqlType, depth: int) -> SqlType:
    return array_of(element) if depth == 1 else array_of(_nested(element, depth - 1))


def _fractions(binder: ExpressionBinder, tree: exp.Expr, bound: Operand) -> Fractions | None:
    """The elements of the array, lists of several dimensions; None if it is NULL."""
    if isinstance(tree, exp.Array):
        return _written(tree)
    if not isinstance(bound.expr, Literal):
        raise FeatureNotSupported("percentiles other than constants are not supported", position=begin_of(tree))
    expression = binder.context.coercer.coerce(bound, _nested(DOUBLE, bound.type.depth), Context.IMPLICIT)
    ((value,), _) = evaluate_constants([expression])
    numbers: Numbers | None = value[0].as_py()
    return None if numbers is None else _constants(numbers)


def _written(tree: exp.Array) -> Fractions:
    return [_written(each) if isinstance(each, exp.Array) else each for each in tree.expressions]


def _constants(numbers: Numbers) -> Fractions:
    return [
        _constants(number)
        if isinstance(number, list)
        else exp.Null()
        if number is None
        else exp.Literal.number(repr(number))
        for number in numbers
    ]


def _with_fraction(tree: exp.Anonymous, fraction: exp.Expr) -> exp.Anonymous:
    call, number = tree.copy(), fraction.copy()
    number.meta.setdefault(START, begin_of(tree.expressions[0]) - 1)
    call.set("expressions", [number, *call.expressions[1:]])
    return call
