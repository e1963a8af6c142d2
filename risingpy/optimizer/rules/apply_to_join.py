"""Makes joins of all dependent joins, innermost first.

    Apply(semi; t, Filter(a = outer$0; u))          =>  Join(semi, a = t.x; t, u)
    Apply(left; t, sum(b) of Filter(a = outer$0; u))=>  Join(left, k = t.x; t, Aggregate(key a AS k, sum(b); u))
    Apply(kind; t, anything else)                   =>  Join(kind, t.x IS NOT DISTINCT FROM d; t, anything for all d)

In order: what reads nothing of the row is a join as it is; a computed column goes above; comparisons become the join's
condition (`pull_up_correlation`), an aggregation's equalities its group keys; the rest is answered for the domain
(`push_down_domain`).
"""

from __future__ import annotations

from collections.abc import Sequence

from risingpy.optimizer.facts import exactly_one_row
from risingpy.optimizer.rewrite import correlated_refs, plan_inputs, with_inputs
from risingpy.optimizer.rules.pull_up_correlation import PulledUp, grouped, pull_up, reads_outside
from risingpy.optimizer.rules.push_down_domain import Domain, over_nothing, same_values
from risingpy.plan.expression_trees import conjunction, conjuncts, remapped, shifted, substituted, transform
from risingpy.plan.expressions import CorrelatedRef, Expr, InputRef, Literal
from risingpy.plan.logical import Aggregate, Apply, Field, Join, JoinKind, LogicalPlan, Project, Schema, Sort
from risingpy.types import BOOLEAN

_ONE_SIDED = (JoinKind.LEFT_SEMI, JoinKind.LEFT_ANTI)


def apply_to_join(plan: LogicalPlan) -> LogicalPlan:
    plan = with_inputs(plan, [apply_to_join(each) for each in plan_inputs(plan)])
    return _unnested(plan) if isinstance(plan, Apply) else plan


def _unnested(apply: Apply) -> LogicalPlan:
    right = apply.right
    if apply.kind in _ONE_SIDED and apply.condition is None:
        right = _rows_only(right)
    if not correlated_refs(right):
        return _joined(apply, right, [])
    if _is_plain(apply):
        kind = JoinKind.CROSS if apply.kind is JoinKind.LEFT and exactly_one_row(right) else apply.kind
        if kind is JoinKind.CROSS and isinstance(right, Project) and any(map(reads_outside, right.expressions)):
            return _project_above(apply, right)
        scalar = _scalar_aggregate(apply, right)
        if scalar is not None:
            return scalar
    pulled = pull_up(right, duplicates_matter=apply.kind not in _ONE_SIDED)
    if pulled is not None:
        return _joined_on(apply, right, pulled)
    return _over_domain(apply, right)


def _is_plain(apply: Apply) -> bool:
    """Whether all rows of the right side count."""
    is_true = apply.condition is None or apply.condition == Literal(True, BOOLEAN)
    return is_true and apply.kind in (JoinKind.CROSS, JoinKind.INNER, JoinKind.LEFT)


def _rows_only(plan: LogicalPlan) -> LogicalPlan:
    """The plan without what changes only columns, order or copies: for EXISTS."""
    while isinstance(plan, Project | Sort) or (isinstance(plan, Aggregate) and plan.group_key):
        plan = plan.input
    return plan


def _outside(expr: Expr, args: Sequence[Expr]) -> Expr:
    """The expression with the values that the row around gives."""
    return transform(expr, lambda e: args[e.index] if isinstance(e, CorrelatedRef) else None)


def _joined(apply: Apply, right: LogicalPlan, conditions: Sequence[Expr]) -> LogicalPlan:
    """The join with `right`, whose first columns are those of the Apply's; `conditions` are over both sides."""
    own = [] if apply.condition is None else conjuncts(apply.condition)
    condition = conjunction([*own, *conditions])
    kind = apply.kind
    if kind in (JoinKind.INNER, JoinKind.CROSS):
        kind = JoinKind.CROSS if condition is None else JoinKind.INNER
    if kind is JoinKind.LEFT and condition is None and exactly_one_row(right):
        kind = JoinKind.CROSS
    schema = apply.left.schema if kind in _ONE_SIDED else apply.left.schema + right.schema
    return _columns(Join(apply.left, right, kind, condition, schema), range(len(apply.schema)), apply.schema)


def _joined_on(apply: Apply, right: LogicalPlan, pulled: PulledUp) -> LogicalPlan:
    split = len(apply.left.schema)
    return _joined(apply, pulled.plan, [_over_both(p, split, apply.args) for p in pulled.predicates])


def _over_both(predicate: Expr, split: int, args: Sequence[Expr]) -> Expr:
    """A subquery's condition over the row around it, then its own columns."""
    return _outside(shifted(predicate, split), args)


def _project_above(apply: Apply, right: Project) -> LogicalPlan:
    """Apply(t, Project(e; q)) => Project(t.*, e; Apply(t, q)): as many rows, so that no NULLs have to be made."""
    split = len(apply.left.schema)
    below = Apply(apply.left, right.input, JoinKind.CROSS, apply.args, None, apply.left.schema + right.input.schema)
    own = tuple(InputRef(i, field.type) for i, field in enumerate(apply.left.schema))
    computed = tuple(_over_both(e, split, apply.args) for e in right.expressions)
    return Project(_unnested(below), (*own, *computed), apply.schema)


def _scalar_aggregate(apply: Apply, right: LogicalPlan) -> LogicalPlan | None:
    """An aggregate without GROUP BY, and what is computed of it: grouped by what it is asked for, outer-joined."""
    expressions: list[Expr] = [InputRef(i, field.type) for i, field in enumerate(right.schema)]
    while isinstance(right, Project):
        expressions = [substituted(e, right.expressions) for e in expressions]
        right = right.input
    if not isinstance(right, Aggregate) or right.group_key:
        return None
    pulled = grouped(right)
    if pulled is None:
        return None
    split = len(apply.left.schema)
    condition = conjunction([_over_both(p, split, apply.args) for p in pulled.predicates])
    schema = apply.left.schema + pulled.plan.schema
    joined = Join(apply.left, pulled.plan, JoinKind.LEFT, condition, schema)
    results = [over_nothing(call, InputRef(split + i, call.type)) for i, call in enumerate(right.calls)]
    computed = tuple(_outside(substituted(e, results), apply.args) for e in expressions)
    own = tuple(InputRef(i, field.type) for i, field in enumerate(apply.left.schema))
    return Project(joined, (*own, *computed), apply.schema)


def _over_domain(apply: Apply, right: LogicalPlan) -> LogicalPlan:
    read = sorted(correlated_refs(right))
    args = tuple(dict.fromkeys(apply.args[i] for i in read))
    fields = tuple(Field(f"outer{i}", arg.type) for i, arg in enumerate(args))
    values = Aggregate(Project(apply.left, args, fields), tuple(range(len(args))), (), fields)
    domain = Domain(values, {i: args.index(apply.args[i]) for i in read})
    pushed = domain.pushed(right)
    return _joined_with_domain(apply, right.schema, pushed, args, fields)


def _joined_with_domain(
    apply: Apply, schema: Schema, pushed: LogicalPlan, args: tuple[Expr, ...], fields: Schema
) -> LogicalPlan:
    """Joins by the arguments, computed on the left; the right side has the domain, then the subquery's columns."""
    own = tuple(InputRef(i, field.type) for i, field in enumerate(apply.left.schema))
    left = Project(apply.left, (*own, *args), apply.left.schema + fields)
    split, width = len(own), len(fields)
    positions = {i: i if i < split else i + 2 * width for i in range(split + len(schema))}
    conditions = [] if apply.condition is None else [remapped(e, positions) for e in conjuncts(apply.condition)]
    condition = conjunction([*same_values(split, split + width, fields), *conditions])
    if apply.kind in _ONE_SIDED:
        return _columns(Join(left, pushed, apply.kind, condition, left.schema), range(split), apply.schema)
    kind = JoinKind.INNER if apply.kind is JoinKind.CROSS else apply.kind
    joined = Join(left, pushed, kind, condition, left.schema + pushed.schema)
    return _columns(joined, [positions[i] for i in range(len(apply.schema))], apply.schema)


def _columns(plan: LogicalPlan, columns: Sequence[int], schema: Schema) -> LogicalPlan:
    if len(plan.schema) == len(columns):
        return plan
    return Project(plan, tuple(InputRef(i, plan.schema[i].type) for i in columns), schema)
