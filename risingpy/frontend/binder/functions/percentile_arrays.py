"""percentile_cont(ARRAY[0.25, 0.75]) WITHIN GROUP (ORDER BY x): an array of the results, one for each element.

The calls for the elements are calls of the same lists, so they share what they keep. Of no rows there is no array,
where an element alone would be NULL. (PostgreSQL's manual, 9.21, table 9.61.)
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from risingpy.errors import FeatureNotSupported
from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.expressions.nested import constructed
from risingpy.frontend.binder.trees import begin_of
from risingpy.frontend.binder.typing.coercion import Context, Operand
from risingpy.frontend.parser.parser_tools import START
from risingpy.functions.evaluation.evaluate import evaluate_constants
from risingpy.plan.expressions import Call, Case, Expr, Literal
from risingpy.types import BOOLEAN, DOUBLE, TypeKind, array_of

TAKE_ARRAYS = frozenset({"percentile_cont", "percentile_disc"})


def percentiles(
    binder: ExpressionBinder, tree: exp.Anonymous, bind_one: Callable[[exp.Anonymous], Expr]
) -> Expr | None:
    """The array of results; None if the call's first argument is no array. `bind_one` binds the call of one element.

    Raises FeatureNotSupported for an array that is no constant, or of several dimensions.
    """
    first = tree.expressions[0] if tree.expressions else None
    if first is None or isinstance(first, exp.Distinct | exp.Order):
        return None
    bound = ExpressionBinder(binder.context, binder.scope, "aggregate").bind(first)
    if bound.type.kind is not TypeKind.ARRAY:
        return None
    fractions = _fractions(binder, first, bound)
    if fractions is None:
        return Literal(None, array_of(bind_one(_with_fraction(tree, exp.Null())).type))
    results = [bind_one(_with_fraction(tree, fraction)) for fraction in fractions]
    if not results:
        return Literal((), array_of(bind_one(_with_fraction(tree, exp.Null())).type))
    array = constructed("array", results, array_of(results[0].type))
    known = next((r for r, each in zip(results, fractions, strict=True) if not isinstance(each, exp.Null)), None)
    if known is None:
        return array
    is_empty = Call("is_null", (known,), BOOLEAN)
    return Case(((is_empty, Literal(None, array.type)),), array, array.type)


def _fractions(binder: ExpressionBinder, tree: exp.Expr, bound: Operand) -> list[exp.Expr] | None:
    """The elements of the array; None if it is NULL."""
    if bound.type.depth > 1:
        raise FeatureNotSupported("percentiles of several dimensions are not supported", position=begin_of(tree))
    if isinstance(tree, exp.Array):
        return list(tree.expressions)
    if not isinstance(bound.expr, Literal):
        raise FeatureNotSupported("percentiles other than constants are not supported", position=begin_of(tree))
    expression = binder.context.coercer.coerce(bound, array_of(DOUBLE), Context.IMPLICIT)
    ((value,), _) = evaluate_constants([expression])
    numbers: list[float | None] | None = value[0].as_py()
    if numbers is None:
        return None
    return [exp.Null() if number is None else exp.Literal.number(repr(number)) for number in numbers]


def _with_fraction(tree: exp.Anonymous, fraction: exp.Expr) -> exp.Anonymous:
    call, number = tree.copy(), fraction.copy()
    number.meta.setdefault(START, begin_of(tree.expressions[0]) - 1)
    call.set("expressions", [number, *call.expressions[1:]])
    return call
