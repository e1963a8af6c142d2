"""Decorrelation: makes joins of all dependent joins (Apply), innermost first.

    Apply(semi; t, Filter(a = outer$0; u))          =>  Join(semi, a = t.x; t, u)
    Apply(left; t, sum(b) of Filter(a = outer$0; u))=>  Join(left, k = t.x; t, Aggregate(key a AS k, sum(b); u))
    Apply(kind; t, anything else)                   =>  Join(kind, t.x IS NOT DISTINCT FROM d; t, anything for all d)

An Apply computes its right side anew for each left row. No stream operator can do that: when a row of `u` changes, it
would have to find all left rows whose subquery reads it. A join finds them by its key. So every Apply becomes a join,
in the first of these ways that works, which is the cheapest:

1. A right side that reads nothing of the left row is already the right side of a join.
2. A computed column goes above the join. An aggregate without GROUP BY takes the equalities as its group key.
3. Comparisons with the left row move up to the join's condition (`pull_up_correlation`).
4. Anything else is computed for all values that the left side can ask for, its domain, and joined by these
   (`push_down_domain`).

The second and the third way compute the right side for rows, too, that no left row asks for. Where that may fail, as in
`(SELECT sum(10 / u.b) FROM u WHERE u.a = t.x)`, the query shall not fail for their sake: so `strict_apply_to_join`
takes the fourth way there. A view has NULL for what fails, and needs no such care.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from risingpy.optimizer.facts import exactly_one_row
from risingpy.optimizer.may_fail import may_fail
from risingpy.optimizer.rewrite import correlated_refs, plan_inputs, with_inputs
from risingpy.optimizer.rules.pull_up_correlation import PulledUp, grouped, pull_up, reads_outside
from risingpy.optimizer.rules.push_down_domain import Domain, over_nothing, same_values
from risingpy.optimizer.rules.sort_above_sets import numbered_sort_above_sets
from risingpy.plan.expression_trees import (
    columns_read,
    conjunction,
    conjuncts,
    remapped,
    shifted,
    substituted,
    transform,
)
from risingpy.plan.expressions import Case, CorrelatedRef, Expr, InputRef, Literal
from risingpy.plan.logical import (
    Aggregate,
    Apply,
    Field,
    Filter,
    Join,
    JoinKind,
    LogicalPlan,
    Project,
    Scan,
    Schema,
    Sort,
)
from risingpy.types import BOOLEAN

_ONE_SIDED = (JoinKind.LEFT_SEMI, JoinKind.LEFT_ANTI)


@dataclass(frozen=True, slots=True)
class _Way:
    """`keeping`, by id(), are the inner joins made so far that give every row of their left side once.

    With `strict`, nothing that may fail is computed for rows that no left row asks for.
    """

    strict: bool
    keeping: dict[int, Join] = field(default_factory=dict)


def apply_to_join(plan: LogicalPlan) -> LogicalPlan:
    """A plan without Apply and with the same output columns. The module's docstring says which join each becomes."""
    return _without_applies(plan, _Way(strict=False))


def strict_apply_to_join(plan: LogicalPlan) -> LogicalPlan:
    """The same for a query whose errors are its client's."""
    return _without_applies(plan, _Way(strict=True))


def _without_applies(plan: LogicalPlan, way: _Way) -> LogicalPlan:
    plan = with_inputs(plan, [_without_applies(each, way) for each in plan_inputs(plan)])
    return _unnested(plan, way) if isinstance(plan, Apply) else plan


def _unnested(apply: Apply, way: _Way) -> LogicalPlan:
    right = apply.right
    if apply.kind in _ONE_SIDED and apply.condition is None:
        right = _rows_only(right)
    if not correlated_refs(right):
        return _joined(apply, right, [])
    if way.strict:
        right = numbered_sort_above_sets(right)
    if _is_plain(apply):
        kind = JoinKind.CROSS if apply.kind is JoinKind.LEFT and exactly_one_row(right) else apply.kind
        if kind is JoinKind.CROSS and isinstance(right, Project) and any(map(reads_outside, right.expressions)):
            return _project_above(apply, right, way)
        guarded = _guarded(right) if way.strict and not _is_join(right) else right
        if way.strict and (guarded is not right or _computes_what_may_fail(right)):
            return _over_domain(apply, guarded, way)
        scalar = _scalar_aggregate(apply, right)
        if scalar is not None:
            return scalar
    if not (way.strict and _computes_what_may_fail(right)):
        pulled = pull_up(right, duplicates_matter=apply.kind not in _ONE_SIDED)
        if pulled is not None:
            return _joined_on(apply, right, pulled)
    return _over_domain(apply, right, way)


def _computes_what_may_fail(right: LogicalPlan) -> bool:
    """Of expressions over an aggregate without GROUP BY nothing is computed but for left rows, whichever way is taken.

    Of conditions `_guarded` takes care.
    """
    while isinstance(right, Project) and exactly_one_row(right):
        right = right.input
    computed = right.expressions if isinstance(right, Project) else ()
    return any(may_fail(each, at_infinity=True) for each in computed) or any(
        map(_computes_what_may_fail, plan_inputs(right))
    )


def _is_join(right: LogicalPlan) -> bool:
    """Whether PostgreSQL, too, makes a join of it, whose conditions are checked as early as possible."""
    return isinstance(right, Project | Filter | Join | Scan) and all(map(_is_join, plan_inputs(right)))


def _guarded(right: LogicalPlan) -> LogicalPlan:
    """Has conditions that may fail checked only for rows that the left row asks for; the same plan if there are none.

    Filter(a = outer$0 AND 10 / b > 1)  =>  Filter(a = outer$0 AND CASE WHEN a = outer$0 THEN 10 / b > 1 ELSE false END)

    So no rule moves them below the join with the left rows' values. Those of EXISTS and IN become a join's.
    """
    inputs = plan_inputs(right)
    guarded = [_guarded(each) for each in inputs]
    if any(new is not old for new, old in zip(guarded, inputs, strict=True)):
        right = with_inputs(right, guarded)
    if not isinstance(right, Filter):
        return right
    parts = conjuncts(right.predicate)
    outside = conjunction([part for part in parts if reads_outside(part) and not may_fail(part, at_infinity=True)])
    if outside is None:
        return right
    made = [
        Case(((outside, part),), Literal(False, BOOLEAN), BOOLEAN)
        if may_fail(part, at_infinity=True) and not reads_outside(part)
        else part
        for part in parts
    ]
    predicate = conjunction(made)
    return right if made == parts or predicate is None else replace(right, predicate=predicate)


def _is_plain(apply: Apply) -> bool:
    """Whether each row of the right side comes out: no condition selects among them."""
    is_true = apply.condition is None or apply.condition == Literal(True, BOOLEAN)
    return is_true and apply.kind in (JoinKind.CROSS, JoinKind.INNER, JoinKind.LEFT)


def _rows_only(plan: LogicalPlan) -> LogicalPlan:
    """The plan without operators that only change columns, order or duplicates, for EXISTS."""
    while isinstance(plan, Project | Sort) or (isinstance(plan, Aggregate) and plan.group_key):
        plan = plan.input
    return plan


def _outside(expr: Expr, args: Sequence[Expr]) -> Expr:
    """The expression with the outer row's values in place of its references to them."""
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
    """A subquery's condition over the outer row's columns, then its own."""
    return _outside(shifted(predicate, split), args)


def _project_above(apply: Apply, right: Project, way: _Way) -> LogicalPlan:
    """Apply(t, Project(e; q)) => Project(t.*, e; Apply(t, q)). Both have the same rows, so no NULLs are needed."""
    split = len(apply.left.schema)
    below = Apply(apply.left, right.input, JoinKind.CROSS, apply.args, None, apply.left.schema + right.input.schema)
    own = tuple(InputRef(i, field.type) for i, field in enumerate(apply.left.schema))
    computed = tuple(_over_both(e, split, apply.args) for e in right.expressions)
    return Project(_unnested(below, way), (*own, *computed), apply.schema)


def _scalar_aggregate(apply: Apply, right: LogicalPlan) -> LogicalPlan | None:
    """Rewrites an aggregate without GROUP BY, and expressions over it, as an outer join with a grouped aggregate.

    It has a result even for a left row without a group: NULL, but 0 for a count (`over_nothing`).
    """
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


def _over_domain(apply: Apply, right: LogicalPlan, way: _Way) -> LogicalPlan:
    read = sorted(correlated_refs(right))
    args = tuple(dict.fromkeys(apply.args[i] for i in read))
    fields = tuple(Field(f"outer{i}", arg.type) for i, arg in enumerate(args))
    source, from_source = _source_of(args, apply.left, way.keeping)
    values = Aggregate(Project(source, from_source, fields), tuple(range(len(args))), (), fields)
    domain = Domain(values, {i: args.index(apply.args[i]) for i in read})
    pushed = domain.pushed(right)
    joined = _with_domain(apply, right.schema, pushed, args, fields)
    if apply.kind in (JoinKind.CROSS, JoinKind.INNER) and _is_plain(apply) and exactly_one_row(right):
        way.keeping[id(joined)] = joined
    width = len(apply.left.schema)
    kept = (
        range(width) if apply.kind in _ONE_SIDED else [*range(width), *range(width + 2 * len(args), len(joined.schema))]
    )
    return _columns(joined, kept, apply.schema)


def _source_of(
    args: tuple[Expr, ...], plan: LogicalPlan, keeping: dict[int, Join]
) -> tuple[LogicalPlan, tuple[Expr, ...]]:
    """The lowest part of the plan with the same values of the arguments, and the arguments over that part.

    The subqueries of one SELECT are joined one after the other, and each join keeps all outer rows. So the domain can
    be read below these joins: read from the whole left side, each domain would double the plan.
    """
    while True:
        read = set[int]().union(*map(columns_read, args))
        match plan:
            case Join(left) if all(index < len(left.schema) for index in read) and _keeps_left(plan, keeping):
                plan = left
            case Project(input, expressions) if all(isinstance(expressions[index], InputRef) for index in read):
                plan, args = input, tuple(substituted(arg, expressions) for arg in args)
            case _:
                return plan, args


def _keeps_left(join: Join, keeping: dict[int, Join]) -> bool:
    """Whether each row of the left side is in the output at least once."""
    if join.kind is JoinKind.CROSS:
        return exactly_one_row(join.right)
    return join.kind is JoinKind.LEFT or id(join) in keeping


def _with_domain(apply: Apply, schema: Schema, pushed: LogicalPlan, args: tuple[Expr, ...], fields: Schema) -> Join:
    """Joins by the arguments, computed on the left; the right side has the domain, then the subquery's columns."""
    own = tuple(InputRef(i, field.type) for i, field in enumerate(apply.left.schema))
    left = Project(apply.left, (*own, *args), apply.left.schema + fields)
    split, width = len(own), len(fields)
    positions = {i: i if i < split else i + 2 * width for i in range(split + len(schema))}
    conditions = [] if apply.condition is None else [remapped(e, positions) for e in conjuncts(apply.condition)]
    condition = conjunction([*same_values(split, split + width, fields), *conditions])
    if apply.kind in _ONE_SIDED:
        return Join(left, pushed, apply.kind, condition, left.schema)
    kind = JoinKind.INNER if apply.kind is JoinKind.CROSS else apply.kind
    return Join(left, pushed, kind, condition, left.schema + pushed.schema)


def _columns(plan: LogicalPlan, columns: Sequence[int], schema: Schema) -> LogicalPlan:
    if len(plan.schema) == len(columns):
        return plan
    return Project(plan, tuple(InputRef(i, plan.schema[i].type) for i in columns), schema)
