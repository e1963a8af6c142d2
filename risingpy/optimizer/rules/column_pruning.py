"""Removes columns that no operator above reads, so that they are neither read nor computed.

    Project(a; Filter(b > 1; Scan t(a, b, c)))  =>  Project(a; Filter(b > 1; Scan t(a, b)))

The plan's own output stays as it is. A scan keeps at least one column, so that its rows can be counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar, assert_never

from risingpy.errors import InternalError
from risingpy.optimizer.rewrite import moved_window, plan_inputs, with_inputs
from risingpy.plan.expression_trees import columns_read, remapped
from risingpy.plan.expressions import InputRef
from risingpy.plan.logical import (
    Aggregate,
    Apply,
    ChangeLog,
    Expand,
    Filter,
    GivenRows,
    Join,
    JoinKind,
    Limit,
    LogicalPlan,
    MutualRecursion,
    OverWindow,
    Project,
    ProjectSet,
    Recursion,
    RecursiveScan,
    Scan,
    Sort,
    SystemScan,
    TopN,
    Union,
    Values,
)
from risingpy.plan.window_calls import WindowCall

T = TypeVar("T")
Needed = tuple[int, ...]


def column_pruning(plan: LogicalPlan) -> LogicalPlan:
    """The plan with the same output columns, its operators reduced to the columns that are read above them."""
    return _prune(plan, tuple(range(len(plan.schema))))


def _prune(plan: LogicalPlan, needed: Needed) -> LogicalPlan:
    """A plan whose output is exactly the columns at `needed`, in that (ascending) order."""
    match plan:
        case Scan():
            kept = needed or (0,)
            columns, schema = _pick(plan.columns, kept), _pick(plan.schema, kept)
            pruned = replace(plan, columns=columns, schema=schema, counts_only=not needed)
            return _exactly(pruned, kept, needed)
        case SystemScan():
            kept = needed or (0,)
            columns, schema = _pick(plan.columns, kept), _pick(plan.schema, kept)
            return _exactly(replace(plan, columns=columns, schema=schema), kept, needed)
        case Values():
            return Values(tuple(_pick(row, needed) for row in plan.rows), _pick(plan.schema, needed))
        case Filter():
            return _prune_filter(plan, needed)
        case Project():
            return _prune_project(plan, needed)
        case ProjectSet():
            return _prune_project_set(plan, needed)
        case Aggregate():
            return _prune_aggregate(plan, needed)
        case Join():
            return _prune_join(plan, needed)
        case Union():
            return Union(tuple(_prune(i, needed) for i in plan.inputs), _pick(plan.schema, needed))
        case ChangeLog():  # a change of any column is a change
            everything = tuple(range(len(plan.schema)))
            return _exactly(replace(plan, input=_prune(plan.input, everything[:-2])), everything, needed)
        case Expand():
            return _prune_expand(plan, needed)
        case Sort():
            return _prune_sort(plan, needed)
        case Limit():
            return _prune_limit(plan, needed)
        case TopN():
            return _prune_top_n(plan, needed)
        case Recursion() | MutualRecursion():
            return _prune_recursion(plan, needed)
        case RecursiveScan() | GivenRows():
            return _exactly(plan, tuple(range(len(plan.schema))), needed)
        case Apply():
            raise InternalError("columns are pruned when subqueries are unnested")
        case OverWindow():
            return _prune_over_window(plan, needed)
        case _:
            assert_never(plan)


def _prune_recursion(plan: Recursion | MutualRecursion, needed: Needed) -> LogicalPlan:
    """Its parts keep their columns: rows are told apart by them."""
    inputs = [_prune(each, tuple(range(len(each.schema)))) for each in plan_inputs(plan)]
    return _exactly(with_inputs(plan, inputs), tuple(range(len(plan.schema))), needed)


def _prune_project(plan: Project, needed: Needed) -> LogicalPlan:
    expressions = _pick(plan.expressions, needed)
    below = _sorted(set().union(*(columns_read(e) for e in expressions)))
    positions = _positions(below)
    moved = tuple(remapped(e, positions) for e in expressions)
    return Project(_prune(plan.input, below), moved, _pick(plan.schema, needed))


def _prune_expand(plan: Expand, needed: Needed) -> LogicalPlan:
    number = len(plan.schema) - 1  # the column with the number of the copy
    kept = tuple(i for i in needed if i != number)
    pruned = replace(plan, input=_prune(plan.input, kept), schema=_pick(plan.schema, (*kept, number)))
    return _exactly(pruned, (*kept, number), needed)


def _prune_filter(plan: Filter, needed: Needed) -> LogicalPlan:
    below = _sorted({*needed, *columns_read(plan.predicate)})
    predicate = remapped(plan.predicate, _positions(below))
    return _exactly(Filter(_prune(plan.input, below), predicate), below, needed)


def _prune_top_n(plan: TopN, needed: Needed) -> LogicalPlan:
    below = _sorted({*needed, *plan.group_key, *(key.index for key in plan.keys)})
    positions = _positions(below)
    keys = tuple(replace(key, index=positions[key.index]) for key in plan.keys)
    group_key = tuple(positions[i] for i in plan.group_key)
    return _exactly(replace(plan, input=_prune(plan.input, below), group_key=group_key, keys=keys), below, needed)


def _prune_over_window(plan: OverWindow, needed: Needed) -> LogicalPlan:
    width = len(plan.input.schema)
    calls = [i for i in range(len(plan.calls)) if width + i in needed]
    if not calls:
        return _prune(plan.input, needed)
    read = {*plan.partition_by, *(key.index for key in plan.order_by), *(i for i in needed if i < width)}
    for i in calls:
        read |= _read_by_window(plan.calls[i])
    below = _sorted(read)
    positions = _positions(below)
    kept = (*below, *(width + i for i in calls))
    pruned = OverWindow(
        _prune(plan.input, below),
        tuple(positions[i] for i in plan.partition_by),
        tuple(replace(key, index=positions[key.index]) for key in plan.order_by),
        tuple(moved_window(plan.calls[i], positions) for i in calls),
        _pick(plan.schema, kept),
    )
    return _exactly(pruned, kept, needed)


def _read_by_window(call: WindowCall) -> set[int]:
    read = set() if call.filter is None else {call.filter}
    return read.union(*(columns_read(arg) for arg in call.args))


def _prune_project_set(plan: ProjectSet, needed: Needed) -> LogicalPlan:
    """Keeps all lists: the longest determines the number of rows."""
    width = len(plan.input.schema)
    read = set().union(*(columns_read(e) for e in plan.lists))
    below = _sorted({*read, *(i for i in needed if i < width)})
    lists = tuple(remapped(e, _positions(below)) for e in plan.lists)
    have = (*below, *range(width, len(plan.schema)))
    pruned = replace(plan, input=_prune(plan.input, below), lists=lists, schema=_pick(plan.schema, have))
    return _exactly(pruned, have, needed)


def _prune_sort(plan: Sort, needed: Needed) -> LogicalPlan:
    below = _sorted({*needed, *(key.index for key in plan.keys)})
    positions = _positions(below)
    keys = tuple(replace(key, index=positions[key.index]) for key in plan.keys)
    return _exactly(Sort(_prune(plan.input, below), keys), below, needed)


def _prune_limit(plan: Limit, needed: Needed) -> LogicalPlan:
    below = _prune(plan.input, needed)
    if isinstance(below, Project) and isinstance(below.input, Sort):  # nothing may stand between a sort and its limit
        return replace(below, input=replace(plan, input=below.input))
    return replace(plan, input=below)


def _prune_aggregate(plan: Aggregate, needed: Needed) -> LogicalPlan:
    """Keeps the whole group key: it determines the rows."""
    keys = len(plan.group_key)
    calls = [i for i in range(len(plan.calls)) if keys + i in needed]
    read = set(plan.group_key)
    for i in calls:
        read.update(plan.calls[i].columns_read)
    below = _sorted(read)
    positions = _positions(below)
    kept = (*range(keys), *(keys + i for i in calls))
    pruned = Aggregate(
        _prune(plan.input, below),
        tuple(positions[key] for key in plan.group_key),
        tuple(plan.calls[i].moved(positions) for i in calls),
        _pick(plan.schema, kept),
    )
    if not kept:  # a global aggregate is one row, even if none of its results is read
        return Values(((),), ())
    return _exactly(pruned, kept, needed)


def _prune_join(plan: Join, needed: Needed) -> LogicalPlan:
    split = len(plan.left.schema)
    read = set(needed) | (set() if plan.condition is None else columns_read(plan.condition))
    read |= {split + i for i in plan.ties}
    left = _sorted(i for i in read if i < split)
    right = _sorted(i - split for i in read if i >= split)
    below = _sorted(read)
    condition = None if plan.condition is None else remapped(plan.condition, _positions(below))
    inputs = _prune(plan.left, left), _prune(plan.right, right)
    kept = below[: len(left)] if plan.kind in (JoinKind.LEFT_SEMI, JoinKind.LEFT_ANTI) else below
    ties = tuple(right.index(i) for i in plan.ties)
    pruned = Join(*inputs, plan.kind, condition, _pick(plan.schema, kept), ties)
    return _exactly(pruned, kept, needed)


def _exactly(plan: LogicalPlan, have: Needed, needed: Needed) -> LogicalPlan:
    """Drops the columns that only the operator itself reads."""
    if have == needed:
        return plan
    positions = [have.index(i) for i in needed]
    schema = _pick(plan.schema, positions)
    return Project(plan, tuple(InputRef(i, plan.schema[i].type) for i in positions), schema)


def _positions(columns: Needed) -> dict[int, int]:
    return {old: new for new, old in enumerate(columns)}


def _sorted(columns: Iterable[int]) -> Needed:
    return tuple(sorted(columns))


def _pick(items: Sequence[T], positions: Sequence[int]) -> tuple[T, ...]:
    return tuple(items[i] for i in positions)
