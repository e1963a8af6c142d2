"""Functions that give rows in a select list: all of them are advanced together.

SELECT id, generate_series(1, n) FROM t          =>  ProjectSet(generate_series(1, n); t)
SELECT generate_series(1, generate_series(1, n)) =>  ProjectSet(generate_series(1, $2); ProjectSet(…; t))

Those that stand in the arguments of others are expanded first, level by level, as in PostgreSQL. ORDER BY, GROUP BY,
DISTINCT ON and windows may have calls of their own, which are expanded beside the list's; equal calls there are one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.functions.table_functions import bind_lists, is_set_returning, list_names
from risingpy.frontend.binder.plans import project_set
from risingpy.plan.expressions import Call, Expr, InputRef
from risingpy.plan.logical import LogicalPlan
from risingpy.types import struct_of


def calls_in(binder: ExpressionBinder, trees: Sequence[exp.Expr]) -> Iterator[exp.Expr]:
    """The set-returning calls in items of a select list, not those inside of subqueries or of other such calls."""
    for tree in trees:
        if is_set_returning(binder, tree):
            yield tree
        elif not isinstance(tree, exp.Query | exp.Subquery):
            yield from calls_in(binder, list(tree.iter_expressions()))


def place_sets(
    plan: LogicalPlan, binder: ExpressionBinder, trees: Sequence[exp.Expr], others: Sequence[exp.Expr]
) -> tuple[LogicalPlan, int]:
    """`plan` with the elements of the calls in a select list and in `others`, and how many ProjectSets are its top.

    `binder` knows from then on what each call stands for.
    """
    levels: list[list[exp.Expr]] = []
    for call in calls_in(binder, trees):
        _add_to_levels(binder, call, levels)
    same: dict[exp.Expr, exp.Expr] = {}  # the first of equal calls
    for call in (call for level in levels for call in level):
        same.setdefault(call, call)
    twice: list[tuple[exp.Expr, exp.Expr]] = []
    for call in calls_in(binder, others):
        if call in same:
            twice.append((call, same[call]))
        else:
            _add_to_levels(binder, call, levels)
            same[call] = call
    for level in levels:
        plan = _placed(plan, binder, level)
    for call, first in twice:
        binder.sets[id(call)] = binder.sets[id(first)]
    return plan, len(levels)


def _add_to_levels(binder: ExpressionBinder, call: exp.Expr, levels: list[list[exp.Expr]]) -> int:
    """Puts the call, and those in its arguments before it, into the level of its own; returns which that is."""
    inner = calls_in(binder, list(call.iter_expressions()))
    level = max((_add_to_levels(binder, each, levels) + 1 for each in inner), default=0)
    if level == len(levels):
        levels.append([])
    levels[level].append(call)
    return level


def _placed(plan: LogicalPlan, binder: ExpressionBinder, calls: Sequence[exp.Expr]) -> LogicalPlan:
    lists = [bind_lists(binder, call) for call in calls]
    exprs = [e for each in lists for e in each.exprs]
    placed, number = project_set(plan, exprs, [n for each in lists for n in list_names(each)])
    at = number + 1
    for call, each in zip(calls, lists, strict=True):
        fields = tuple(InputRef(at + k, placed.schema[at + k].type) for k in range(len(each.exprs)))
        at += len(fields)
        parts = fields if each.members is None else each.members(fields[0])
        single = len(parts) == 1 and each.members is None
        binder.sets[id(call)] = parts[0] if single else _row_of(parts, each.names)
    return placed


def _row_of(fields: tuple[Expr, ...], names: Sequence[str]) -> Expr:
    return Call("row", fields, struct_of(names, [field.type for field in fields]))
