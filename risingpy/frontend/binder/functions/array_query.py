"""ARRAY(SELECT …): the values of a query's one column, in its order; of no rows, an array without elements.

ARRAY(SELECT c FROM u ORDER BY d)  =>  (SELECT coalesce(array_agg(c ORDER BY d), '{}') FROM u)
"""

from __future__ import annotations

from sqlglot import exp

from risingpy.errors import SyntaxError_
from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.expressions.subqueries import bound_subquery
from risingpy.frontend.binder.plans import project, settled, shown
from risingpy.frontend.binder.scope.aggregates import make_aggregate
from risingpy.frontend.binder.trees import begin_of, position_of
from risingpy.frontend.binder.typing.coercion import Operand
from risingpy.optimizer.ordered_query import split_order
from risingpy.plan.expressions import Expr, InputRef, Literal, Subquery
from risingpy.plan.expressions import SubqueryKind as Kind
from risingpy.plan.logical import AggCall, Aggregate, Field


def is_array_query(tree: exp.Anonymous) -> bool:
    """Whether the call is ARRAY of a query."""
    if str(tree.this).lower() != "array" or len(tree.expressions) != 1:
        return False
    return isinstance(tree.expressions[0], exp.Query | exp.Values)


def array_query(binder: ExpressionBinder, tree: exp.Anonymous) -> Expr:
    """The array of a query's rows."""
    (query,) = tree.expressions
    plan, outer = bound_subquery(binder, query)
    if len(plan.schema) != 1:
        raise SyntaxError_("subquery must return only one column", position=begin_of(query))
    coercer = binder.context.coercer
    ordered = split_order(shown(settled(plan, coercer), coercer))
    value = Operand(InputRef(0, ordered.query.schema[0].type), query)
    bound = make_aggregate(coercer, "array_agg", [value], position_of(tree), distinct=False, condition=None)
    call = AggCall("array_agg", (0,), bound.type, order_by=ordered.keys)
    rows = Aggregate(ordered.query, (), (call,), (Field("array", call.type),))
    parts = [Operand(InputRef(0, call.type), tree), Operand(Literal((), call.type), tree)]
    array = project(rows, [binder.calls.form("COALESCE", parts, "ARRAY")], ["array"])
    return Subquery(Kind.SCALAR, array, tuple(outer.values), call.type)
