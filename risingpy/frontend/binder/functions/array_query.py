"""ARRAY(SELECT …): the values of a query's one column, in its order; of no rows, an array without elements.

ARRAY(SELECT c FROM u ORDER BY d)  =>  (SELECT coalesce(array_agg(c ORDER BY d), '{}') FROM u)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from risingpy.errors import SyntaxError_
from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.expressions.subqueries import bound_subquery
from risingpy.frontend.binder.plans import project, references, settled, shown
from risingpy.frontend.binder.scope.aggregates import make_aggregate
from risingpy.frontend.binder.trees import begin_of, position_of
from risingpy.frontend.binder.typing.coercion import Operand
from risingpy.optimizer.ordered_query import OrderedQuery, split_order
from risingpy.plan.expressions import Call, Expr, InputRef, Literal, Subquery
from risingpy.plan.expressions import SubqueryKind as Kind
from risingpy.plan.logical import AggCall, Aggregate, Field, LogicalPlan, SortKey
from risingpy.types import SqlType


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
    return array_of_rows(binder, shown(settled(plan, coercer), coercer), outer.values, tree)


def array_of_rows(
    binder: ExpressionBinder,
    plan: LogicalPlan,
    args: Sequence[Expr],
    where: exp.Expr,
    row: SqlType | None = None,
) -> Expr:
    """The array of a query's one column, or of the `row`s that its columns are; `args`: what it reads around it."""
    ordered = split_order(plan)
    query, keys = (ordered.query, ordered.keys) if row is None else _as_rows(ordered, row)
    value = Operand(InputRef(0, query.schema[0].type), where)
    bound = make_aggregate(
        binder.context.coercer, "array_agg", [value], position_of(where), distinct=False, condition=None
    )
    call = AggCall("array_agg", (0,), bound.type, order_by=keys)
    rows = Aggregate(query, (), (call,), (Field("array", call.type),))
    parts = [Operand(InputRef(0, call.type), where), Operand(Literal((), call.type), where)]
    array = project(rows, [binder.calls.form("COALESCE", parts, "ARRAY")], ["array"])
    return Subquery(Kind.SCALAR, array, tuple(args), call.type)


def _as_rows(ordered: OrderedQuery, row: SqlType) -> tuple[LogicalPlan, tuple[SortKey, ...]]:
    """The columns of a query as one, with those that order it behind."""
    refs = references(ordered.query.schema)
    whole = Call("row", refs[: ordered.width], row)
    by = [refs[key.index] for key in ordered.keys]
    query = project(ordered.query, [whole, *by], ["row", *(f"sort{i}" for i in range(len(by)))])
    return query, tuple(replace(key, index=i) for i, key in enumerate(ordered.keys, 1))
