"""Moves subqueries from expressions into Apply nodes below.

    Filter(EXISTS(q); t)                 =>  Apply(semi; t, q)
    Filter(x IN (y of q); t)             =>  Apply(semi; t, Filter(x = y; q))
    Filter(x NOT IN (y of q); t)         =>  Apply(anti; t, Filter(x = y; q)), and no row if x or a y is NULL
    Project(a + (q); t)                  =>  Project(a + v; Apply(left; t, q AS v))
    Project(EXISTS(q); t)                =>  Project(n > 0; Apply(left; t, Aggregate(count(*) AS n; q)))
    ProjectSet(series(1, (q)); t)        =>  ProjectSet(series(1, v); Apply(left; t, q AS v))

A scalar subquery that may give several rows becomes `only_row(min(value), count(*))`. With one row, min is its value;
with more, `only_row` raises the error 21000. Like any expression's error, it occurs only for rows that are read, and
gives NULL in a view. `any_value.py` handles an ANY whose value matters, with its NULLs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from risingpy.errors import FeatureNotSupported, InternalError
from risingpy.optimizer.facts import at_most_one_row, exactly_one_row, not_null_columns
from risingpy.optimizer.rewrite import expressions_of, plan_inputs, query_of, with_inputs
from risingpy.optimizer.rules.any_value import any_value, failing, no_nulls, nulls_matter
from risingpy.plan.expression_trees import columns_read, conjunction, conjuncts, remapped, shifted, transform, walk
from risingpy.plan.expressions import Call, CorrelatedRef, Expr, InputRef, Literal, Subquery, SubqueryKind
from risingpy.plan.logical import (
    AggCall,
    Aggregate,
    Apply,
    Field,
    Filter,
    Join,
    JoinKind,
    Limit,
    LogicalPlan,
    OverWindow,
    Project,
    ProjectSet,
    Schema,
    Union,
    Values,
)
from risingpy.types import BIGINT, BOOLEAN, TypeKind


def subqueries_to_apply(plan: LogicalPlan) -> LogicalPlan:
    """A plan whose expressions hold no subquery, with the same output columns.

    Raises FeatureNotSupported (0A000) for a subquery in LIMIT, in OFFSET or in a window's frame.
    """
    plan = with_inputs(plan, [subqueries_to_apply(each) for each in plan_inputs(plan)])
    if not any(_has_subquery(expr) for expr in expressions_of(plan)):
        return plan
    match plan:
        case Filter():
            return _filter(plan)
        case Project():
            return _project(plan)
        case ProjectSet():
            return _project_set(plan)
        case Values():
            rows = [Project(Values(((),), ()), row, plan.schema) for row in plan.rows]
            return _project(rows[0]) if len(rows) == 1 else Union(tuple(_project(row) for row in rows), plan.schema)
        case Join() | Apply():
            return _join(plan)
        case Limit():
            raise FeatureNotSupported("a subquery in LIMIT or OFFSET is not supported")
        case OverWindow():
            raise FeatureNotSupported("a subquery in the frame of a window is not supported")
        case _:
            raise InternalError(f"a {type(plan).__name__} has no subqueries")


def _has_subquery(expr: Expr) -> bool:
    return any(isinstance(part, Subquery) for part in walk(expr))


# -- operators ----------------------------------------------------------------------------------------------------


def _filter(plan: Filter) -> LogicalPlan:
    """Filters by conditions without subqueries first, so that subqueries are computed for fewer rows."""
    parts = conjuncts(plan.predicate)
    plain = conjunction([part for part in parts if not _has_subquery(part)])
    result = plan.input if plain is None else Filter(plan.input, plain)
    for part in parts:
        if _has_subquery(part):
            result = _filtered(result, part)
    return result


def _filtered(plan: LogicalPlan, condition: Expr) -> LogicalPlan:
    match condition:
        case Subquery(SubqueryKind.EXISTS) if condition.args:
            return _semi(plan, condition, JoinKind.LEFT_SEMI)
        case Call("not", (Subquery(SubqueryKind.EXISTS) as subquery,)) if subquery.args:
            return _semi(plan, subquery, JoinKind.LEFT_ANTI)
        case Subquery(SubqueryKind.ANY) if not _is_order(condition):
            return _semi(plan, _as_exists(condition), JoinKind.LEFT_SEMI)
        case Call("not", (Subquery(SubqueryKind.ANY) as subquery,)) if not _is_order(subquery):
            return _not_any(plan, subquery)
    below = _Below(plan)
    kept = below.lowered(condition)
    return _first_columns(Filter(below.plan, kept), plan.schema)


def _not_any(plan: LogicalPlan, subquery: Subquery) -> LogicalPlan:
    """NOT ANY: no row matches, and no NULL makes the comparison NULL, which is tested if there may be NULLs."""
    plan = _semi(plan, failing(subquery), JoinKind.LEFT_ANTI)
    if not nulls_matter(subquery, not_null_columns(plan)):
        return plan
    below = _Below(plan)
    lowered = replace(subquery, args=tuple(below.lowered(arg) for arg in subquery.args))
    condition = no_nulls(lowered, below.aggregated)
    return _first_columns(Filter(below.plan, condition), plan.schema)


def _is_order(subquery: Subquery) -> bool:
    """Whether the least or greatest value is enough to decide the comparison."""
    comparison = subquery.comparison
    return isinstance(comparison, Call) and comparison.function in ("lt", "le", "gt", "ge")


def _as_exists(subquery: Subquery) -> Subquery:
    assert subquery.comparison is not None
    plan = Filter(query_of(subquery), subquery.comparison)
    return Subquery(SubqueryKind.EXISTS, plan, subquery.args, BOOLEAN)


def _semi(plan: LogicalPlan, subquery: Subquery, kind: JoinKind) -> LogicalPlan:
    below = _Below(plan)
    args = tuple(below.lowered(arg) for arg in subquery.args)
    right = subqueries_to_apply(query_of(subquery))
    return _first_columns(Apply(below.plan, right, kind, args, None, below.plan.schema), plan.schema)


def _project(plan: Project) -> LogicalPlan:
    below = _Below(plan.input)
    expressions = tuple(below.lowered(expr) for expr in plan.expressions)
    return Project(below.plan, expressions, plan.schema)


def _project_set(plan: ProjectSet) -> LogicalPlan:
    """Computes the lists over the added columns, which stand between the input's and the elements: they go again."""
    below = _Below(plan.input)
    lists = tuple(below.lowered(each) for each in plan.lists)
    split = len(plan.input.schema)
    elements = plan.schema[split:]
    wider = replace(plan, input=below.plan, lists=lists, schema=below.plan.schema + elements)
    added = len(below.plan.schema) - split
    columns = [i if i < split else i + added for i in range(len(plan.schema))]
    return Project(wider, tuple(InputRef(i, wider.schema[i].type) for i in columns), plan.schema)


def _join(plan: Join | Apply) -> LogicalPlan:
    """Moves a condition with subqueries above an inner join; else computes it on the side whose columns it reads."""
    assert plan.condition is not None
    if plan.kind in (JoinKind.INNER, JoinKind.CROSS):
        return _filter(Filter(replace(plan, kind=JoinKind.CROSS, condition=None), plan.condition))
    split = len(plan.left.schema)
    if isinstance(plan, Join) and any(_of_both(part, split) for part in walk(plan.condition)):
        return _row_by_row(plan)
    left, right = _Below(plan.left), _Below(plan.right)
    values = {part: _on_side(plan, part, left, right) for part in walk(plan.condition) if isinstance(part, Subquery)}
    added = len(left.plan.schema) - split

    def placed(expr: Expr) -> Expr | None:
        match expr:
            case Subquery():
                is_left, value = values[expr]
                return value if is_left else shifted(value, split + added)
            case InputRef() if expr.index >= split:
                return InputRef(expr.index + added, expr.type)
        return None

    schema = left.plan.schema + right.plan.schema
    condition = transform(plan.condition, placed)
    joined = replace(plan, left=left.plan, right=right.plan, condition=condition, schema=schema)
    columns = [i if i < split else i + added for i in range(len(plan.schema))]
    return Project(joined, tuple(InputRef(i, schema[i].type) for i in columns), plan.schema)


def _of_both(expr: Expr, split: int) -> bool:
    """Whether the expression is a subquery that reads columns of both sides."""
    read = columns_read(expr) if isinstance(expr, Subquery) else set()
    return any(i < split for i in read) and any(i >= split for i in read)


def _row_by_row(plan: Join) -> LogicalPlan:
    """An outer join as an Apply: for each row of the preserved side, the rows of the other that meet the condition.

    Left(EXISTS(q of l.x, r.y); l, r)  =>  Apply(left; l, Filter(EXISTS(q of $x, r.y); r))
    """
    split, condition = len(plan.left.schema), plan.condition
    assert condition is not None
    if plan.kind is JoinKind.RIGHT:
        width = len(plan.right.schema)
        moved = {i: i + width if i < split else i - split for i in range(len(plan.schema))}
        schema = plan.right.schema + plan.left.schema
        swapped = Join(plan.right, plan.left, JoinKind.LEFT, remapped(condition, moved), schema)
        columns = tuple(InputRef(moved[i], field.type) for i, field in enumerate(plan.schema))
        return Project(_row_by_row(swapped), columns, plan.schema)
    if plan.kind is not JoinKind.LEFT:
        raise FeatureNotSupported(
            "a subquery in ON of a FULL JOIN that reads both sides is not supported",
            hint="Let it read one side, or have a LEFT JOIN, and add the other side's rows by UNION ALL.",
        )
    read = sorted(i for i in columns_read(condition) if i < split)
    args = tuple(InputRef(i, plan.left.schema[i].type) for i in read)

    def placed(expr: Expr) -> Expr | None:
        match expr:
            case InputRef(index, type_) if index < split:
                return CorrelatedRef(read.index(index), type_)
            case InputRef(index, type_):
                return InputRef(index - split, type_)
        return None

    matching = subqueries_to_apply(Filter(plan.right, transform(condition, placed)))
    return Apply(plan.left, matching, JoinKind.LEFT, args, None, plan.schema)


def _on_side(plan: Join | Apply, subquery: Subquery, left: _Below, right: _Below) -> tuple[bool, Expr]:
    """Whether the subquery is computed on the left side, and its value as an expression over its side."""
    read, split = columns_read(subquery), len(plan.left.schema)
    if all(i < split for i in read) and (read or plan.kind is not JoinKind.LEFT or isinstance(plan, Apply)):
        return True, left.lowered(subquery)
    if all(i >= split for i in read) and isinstance(plan, Join):
        return False, right.lowered(shifted(subquery, -split))
    raise FeatureNotSupported("a subquery in ON of an outer join that reads both sides is not supported")


def _first_columns(plan: LogicalPlan, schema: Schema) -> LogicalPlan:
    """Drops the columns that were added below."""
    if len(plan.schema) == len(schema):
        return plan
    return Project(plan, tuple(InputRef(i, field.type) for i, field in enumerate(schema)), schema)


# -- values -------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Below:
    """A plan to which columns are added on the right, one or more for each subquery."""

    plan: LogicalPlan

    def lowered(self, expr: Expr) -> Expr:
        """The expression without subqueries, over the plan with the added columns."""
        return transform(expr, self._value)

    def _value(self, expr: Expr) -> Expr | None:
        if not isinstance(expr, Subquery):
            return None
        args = tuple(self.lowered(arg) for arg in expr.args)
        return self._of(replace(expr, args=args))

    def _of(self, subquery: Subquery) -> Expr:
        plan = query_of(subquery)
        match subquery.kind:
            case SubqueryKind.SCALAR if at_most_one_row(plan):
                (value,) = self._applied(plan, subquery.args)
                return value
            case SubqueryKind.SCALAR:
                least = "min" if subquery.type.kind is not TypeKind.BOOLEAN else "bool_and"
                calls = (AggCall(least, (0,), subquery.type), AggCall("count", (), BIGINT))
                return Call("only_row", self.aggregated(plan, subquery.args, calls), subquery.type)
            case SubqueryKind.EXISTS:
                (rows,) = self.aggregated(plan, subquery.args, (AggCall("count", (), BIGINT),))
                return Call("gt", (rows, Literal(0, BIGINT)), BOOLEAN)
            case SubqueryKind.ANY:
                return any_value(subquery, not_null_columns(self.plan), self.aggregated)

    def aggregated(self, plan: LogicalPlan, args: tuple[Expr, ...], calls: Sequence[AggCall]) -> tuple[Expr, ...]:
        fields = tuple(Field(call.function, call.type) for call in calls)
        return self._applied(Aggregate(plan, (), tuple(calls), fields), args)

    def _applied(self, plan: LogicalPlan, args: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """Adds the columns of `plan`, which gives at most one row; they are NULL if it gives none."""
        right = subqueries_to_apply(plan)
        first = len(self.plan.schema)
        kind = JoinKind.CROSS if exactly_one_row(right) else JoinKind.LEFT
        self.plan = Apply(self.plan, right, kind, args, None, self.plan.schema + right.schema)
        return tuple(InputRef(first + i, field.type) for i, field in enumerate(right.schema))
