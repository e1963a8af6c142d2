"""Functions that give rows in a select list: all of them are advanced together.

SELECT id, generate_series(1, n) FROM t   =>  ProjectSet(generate_series(1, n); t)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.functions.table_functions import bind_lists, is_set_returning, list_names, project_set
from risingpy.plan.expressions import Call, Expr, InputRef
from risingpy.plan.logical import LogicalPlan
from risingpy.types import struct_of


def calls_in(binder: ExpressionBinder, trees: Sequence[exp.Expr]) -> Iterator[exp.Expr]:
    """The set-returning calls in items of a select list, not those inside of subqueries."""
    for tree in trees:
        if is_set_returning(binder, tree):
            yield tree
        elif not isinstance(tree, exp.Query | exp.Subquery):
            yield from calls_in(binder, list(tree.iter_expressions()))


def place_sets(
    plan: LogicalPlan, binder: ExpressionBinder, trees: Sequence[exp.Expr]
) -> tuple[LogicalPlan, dict[int, Expr]]:
    """`plan` with the elements of the calls in a select list, in step; and what each call's tree stands for."""
    calls = list(calls_in(binder, trees))
    if not calls:
        return plan, {}
    lists = [bind_lists(binder, call) for call in calls]
    exprs = [e for each in lists for e in each.exprs]
    placed, number = project_set(plan, exprs, [n for each in lists for n in list_names(each)])
    values: dict[int, Expr] = {}
    at = number + 1
    for call, each in zip(calls, lists, strict=True):
        fields = tuple(InputRef(at + k, placed.schema[at + k].type) for k in range(len(each.exprs)))
        at += len(fields)
        parts = fields if each.members is None else each.members(fields[0])
        values[id(call)] = parts[0] if len(parts) == 1 and each.members is None else _row_of(parts, each.names)
    return placed, values


def _row_of(fields: tuple[Expr, ...], names: Sequence[str]) -> Expr:
    return Call("row", fields, struct_of(names, [field.type for field in fields]))
