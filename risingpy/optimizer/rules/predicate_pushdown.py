"""Moves filters towards the scans, conjunct by conjunct.

    Filter(x > 1; Project(a + 1 AS x; t))             =>  Project(a + 1 AS x; Filter(a + 1 > 1; t))
    Filter(k = 1 AND n > 2; Aggregate(k, count AS n)) =>  Filter(n > 2; Aggregate(k, count AS n; Filter(k = 1; …)))
    Filter(a.x = 1 AND a.y = b.y; Cross(a, b))        =>  Inner(a.y = b.y; Filter(x = 1; a), b)
    Left(a.x = b.x AND b.y = 1; a, b)                 =>  Left(a.x = b.x; a, Filter(y = 1; b))
    Filter(a.x = 1; Inner(a.x = b.x; a, b))           =>  Inner(a.x = b.x; Filter(x = 1; a), Filter(x = 1; b))
    Filter(p; Union(a, b))                            =>  Union(Filter(p; a), Filter(p; b))
    Filter(k = 1; TopN(per k))                        =>  TopN(per k; Filter(k = 1; …)), and OverWindow likewise

A filter does not move below a LIMIT, nor to the null-supplying side of an outer join (it would drop rows that must
become NULLs), nor below a global aggregate (which gives a row even without input), nor below a volatile expression that
it reads, nor below a projection whose long expressions it would repeat. A volatile filter (`random() < 0.1`) is asked
for the rows that it stands over: it does not move to where a row is several others, or other rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from risingpy.optimizer.rewrite import is_volatile, plan_inputs, with_inputs
from risingpy.optimizer.rules.transitive_predicates import predicates_of_matches, transitive_predicates
from risingpy.plan.expression_trees import columns_read, conjunction, conjuncts, remapped, shifted, substituted, walk
from risingpy.plan.expressions import Expr, InputRef, Literal
from risingpy.plan.logical import (
    FILTERS_LEFT,
    FILTERS_RIGHT,
    Aggregate,
    Expand,
    Filter,
    Join,
    JoinKind,
    LogicalPlan,
    OverWindow,
    Project,
    ProjectSet,
    Sort,
    TopN,
    Union,
)


def predicate_pushdown(plan: LogicalPlan) -> LogicalPlan:
    """The plan with each conjunct as far down as it means the same, and joins instead of filtered products."""
    return _push(plan, [])


def _push(plan: LogicalPlan, predicates: Sequence[Expr]) -> LogicalPlan:
    """`plan` filtered by `predicates`, which read its output."""
    match plan:
        case Filter():
            own = conjuncts(plan.predicate)
            return _push(plan.input, [*own, *(p for p in predicates if p not in own)])
        case Project():
            return _push_into_projection(plan, predicates)
        case Sort():
            return replace(plan, input=_push(plan.input, predicates))
        case ProjectSet():
            width = len(plan.input.schema)
            below = [p for p in predicates if all(i < width for i in columns_read(p)) and not is_volatile(p)]
            rest = [p for p in predicates if p not in below]
            return _filtered(replace(plan, input=_push(plan.input, below)), rest)
        case Union():
            below = [p for p in predicates if not is_volatile(p)]
            above = [p for p in predicates if is_volatile(p)]
            return _filtered(replace(plan, inputs=tuple(_push(i, below) for i in plan.inputs)), above)
        case Expand():
            return _push_into_copies(plan, predicates)
        case Aggregate():
            return _push_into_aggregate(plan, predicates)
        case Join():
            return _push_into_join(plan, predicates)
        case TopN():
            return _push_into_groups(plan, plan.group_key, predicates)
        case OverWindow():
            return _push_into_groups(plan, plan.partition_by, predicates)
        case _:
            inputs = [_push(i, []) for i in plan_inputs(plan)]
            return _filtered(with_inputs(plan, inputs), predicates)


def _filtered(plan: LogicalPlan, predicates: Sequence[Expr]) -> LogicalPlan:
    condition = conjunction(predicates)
    return plan if condition is None else Filter(plan, condition)


# The largest filter that is moved below a projection. Each column that it reads becomes the column's whole expression:
# `SELECT v + v AS v FROM (SELECT v + v AS v FROM …)` would double it at every level.
_MAX_NODES = 1_000


def _push_into_projection(plan: Project, predicates: Sequence[Expr]) -> LogicalPlan:
    """Predicates that would become too long, or that read a volatile expression, stay above."""
    if all(isinstance(column, InputRef) and column.index == i for i, column in enumerate(plan.expressions)):
        return replace(plan, input=_push(plan.input, predicates))  # the columns keep their positions
    above: list[Expr] = []
    below: list[Expr] = []
    for predicate in predicates:
        reads = [part.index for part in walk(predicate) if isinstance(part, InputRef)]
        computed = [column for i in reads if not isinstance(column := plan.expressions[i], InputRef | Literal)]
        stays = computed and (_is_long([predicate, *computed]) or any(map(is_volatile, computed)))
        (above if stays else below).append(predicate)
    inner = [substituted(p, plan.expressions) for p in below]
    return _filtered(replace(plan, input=_push(plan.input, inner)), above)


def _is_long(expressions: Sequence[Expr]) -> bool:
    nodes = (part for expression in expressions for part in walk(expression))
    return next(islice(nodes, _MAX_NODES, None), None) is not None


def _push_into_copies(plan: Expand, predicates: Sequence[Expr]) -> LogicalPlan:
    """Predicates that do not read the number of the copy go below."""
    number = len(plan.schema) - 1
    below = [predicate for predicate in predicates if number not in columns_read(predicate)]
    above = [predicate for predicate in predicates if number in columns_read(predicate)]
    return _filtered(replace(plan, input=_push(plan.input, below)), above)


def _push_into_aggregate(plan: Aggregate, predicates: Sequence[Expr]) -> LogicalPlan:
    keys = set(range(len(plan.group_key)))
    below: list[Expr] = []
    above: list[Expr] = []
    for predicate in predicates:
        read = columns_read(predicate)
        moves = plan.group_key and read and read <= keys and not is_volatile(predicate)
        (below if moves else above).append(predicate)
    positions = dict(enumerate(plan.group_key))
    inner = [remapped(p, positions) for p in below]
    return _filtered(replace(plan, input=_push(plan.input, inner)), above)


def _push_into_groups(plan: TopN | OverWindow, group_key: Sequence[int], predicates: Sequence[Expr]) -> LogicalPlan:
    """Predicates that read only the group key keep or drop whole groups, so they go below."""
    groups = set(group_key)
    below = [p for p in predicates if columns_read(p) and columns_read(p) <= groups and not is_volatile(p)]
    above = [p for p in predicates if p not in below]
    return _filtered(replace(plan, input=_push(plan.input, below)), above)


_INNER = frozenset({JoinKind.INNER, JoinKind.CROSS})
# The kinds of joins for which part of the condition may move to a side.
_CONDITION_LEFT = frozenset(
    {JoinKind.INNER, JoinKind.CROSS, JoinKind.RIGHT, JoinKind.LEFT_SEMI, JoinKind.ASOF, JoinKind.TEMPORAL}
)
_CONDITION_RIGHT = frozenset(JoinKind) - {JoinKind.RIGHT, JoinKind.FULL}


def _push_into_join(plan: Join, predicates: Sequence[Expr]) -> LogicalPlan:
    split = len(plan.left.schema)
    predicates = [*predicates, *transitive_predicates(plan, predicates)]
    of_matches = predicates_of_matches(plan, predicates)
    left = of_matches if plan.kind is JoinKind.RIGHT else []
    right = [] if plan.kind is JoinKind.RIGHT else [shifted(each, -split) for each in of_matches]
    condition: list[Expr] = []
    above: list[Expr] = []
    for part in [] if plan.condition is None else conjuncts(plan.condition):
        read = columns_read(part)
        if read and max(read) < split and plan.kind in _CONDITION_LEFT:
            left.append(part)
        elif read and min(read) >= split and plan.kind in _CONDITION_RIGHT:
            right.append(shifted(part, -split))
        elif not read and plan.kind in _INNER | {JoinKind.TEMPORAL}:
            above.append(part)
        else:
            condition.append(part)
    for predicate in predicates:
        read = columns_read(predicate)
        if read and max(read) < split and plan.kind in FILTERS_LEFT:
            left.append(predicate)
        elif read and min(read) >= split and plan.kind in FILTERS_RIGHT:
            right.append(shifted(predicate, -split))
        elif read and plan.kind in _INNER | {JoinKind.TEMPORAL}:
            condition.append(predicate)
        else:
            above.append(predicate)
    kind = plan.kind
    if kind is JoinKind.CROSS and condition:
        kind = JoinKind.INNER
    elif kind is JoinKind.INNER and not condition:
        kind = JoinKind.CROSS
    sides = _push(plan.left, left), _push(plan.right, right)
    joined = Join(*sides, kind, conjunction(condition), plan.schema, plan.ties)
    return _filtered(joined, above)
