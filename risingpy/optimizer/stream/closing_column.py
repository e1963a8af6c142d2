"""Keeps a column by which a view closes its windows, if its query selects none.

    SELECT id FROM t WHERE v > 0 EMIT ON WINDOW CLOSE
    Project(id; Filter(v > 0; t))  =>  Project(id, ts (hidden); Filter(v > 0; t))

This happens before the rules, which drop the columns that nobody reads. The column is the first with a watermark among
those of the operators below. An operator that itself closes windows, as a GROUP BY does, needs none.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count

from risingpy.errors import Check, unchecked
from risingpy.optimizer.rewrite import column_references
from risingpy.optimizer.rules import optimize
from risingpy.optimizer.rules.seeded_calls import seeded_calls
from risingpy.optimizer.stream.planner import plan_query
from risingpy.optimizer.stream.recursion.recursion import with_recursion_limit
from risingpy.optimizer.stream.window_close import is_closed
from risingpy.plan.catalog import Catalog
from risingpy.plan.expression_trees import remapped
from risingpy.plan.logical import Filter, Join, JoinKind, LogicalPlan, Project, Sort
from risingpy.plan.operators import StreamPlan

_SEMI = frozenset({JoinKind.LEFT_SEMI, JoinKind.LEFT_ANTI})


def optimize_view(
    query: LogicalPlan,
    catalog: Catalog,
    *,
    emit_on_window_close: bool,
    recursion_limit: int | None = None,
    check: Check = unchecked,
) -> LogicalPlan:
    """The query of a materialized view after the rules, with a column that closes its windows after its own columns.

    If no column can close the windows, none is added, and the planner refuses the query. Its recursions, which no
    windows close, may take `recursion_limit` steps.
    """
    query = seeded_calls(query)
    optimized = optimize(query, check, for_stream=True)
    if recursion_limit is not None:
        optimized = with_recursion_limit(optimized, recursion_limit)
    if not emit_on_window_close or any(field.hidden for field in query.schema):
        return optimized
    stream = _planned(optimized, catalog)
    wide = _with_all_columns(query)
    if is_closed(stream) or stream.properties.watermarks or len(wide.schema) == len(query.schema):
        return optimized
    watermarks = _planned(optimize(wide, check, for_stream=True), catalog).properties.watermarks
    column = next((each.column for each in watermarks if each.column < len(wide.schema)), None)
    if column is None:
        return optimized
    references = column_references(wide)
    shown = references[: len(query.schema)]
    hidden = replace(wide.schema[column], hidden=True)
    with_column = Project(wide, (*shown, references[column]), (*query.schema, hidden))
    return optimize(with_column, check, for_stream=True)


def _planned(query: LogicalPlan, catalog: Catalog) -> StreamPlan:
    ids = count(1)
    return plan_query(query, catalog, lambda: next(ids), "", emit_on_window_close=True)


def _with_all_columns(plan: LogicalPlan) -> LogicalPlan:
    """The plan with the columns that it would drop added after its own."""
    match plan:
        case Filter() | Sort():
            return replace(plan, input=_with_all_columns(plan.input))
        case Project():
            input = _with_all_columns(plan.input)
            added = [ref for ref in column_references(input) if ref not in plan.expressions]
            fields = [input.schema[ref.index] for ref in added]
            return Project(input, (*plan.expressions, *added), (*plan.schema, *fields))
        case Join() if plan.kind not in _SEMI:
            return _join_with_all_columns(plan)
        case _:
            return plan


def _join_with_all_columns(join: Join) -> LogicalPlan:
    left, right = _with_all_columns(join.left), _with_all_columns(join.right)
    widths, first = (len(join.left.schema), len(join.right.schema)), len(left.schema)
    moved = {i: i if i < widths[0] else first + i - widths[0] for i in range(sum(widths))}
    condition = None if join.condition is None else remapped(join.condition, moved)
    wide = Join(left, right, join.kind, condition, (*left.schema, *right.schema), join.ties)
    own = [moved[i] for i in range(sum(widths))]
    order = [*own, *(i for i in range(len(wide.schema)) if i not in own)]
    references = column_references(wide)
    return Project(wide, tuple(references[i] for i in order), tuple(wide.schema[i] for i in order))
