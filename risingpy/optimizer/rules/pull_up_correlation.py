"""Moves a subquery's comparisons with the outer row up to its top, where they become a join's condition.

    Project(y; Filter(a = outer$0 AND b > 1; u))   =>  Project(y, a; Filter(b > 1; u))  with a = outer$0
    Aggregate(key y, sum; Filter(a = outer$0; u))  =>  Aggregate(key y, a, sum; u)      with a = outer$0

Only comparisons that are constant within a group can pass an aggregation: those of its keys, and equalities, whose
inner side becomes a key. No comparison can pass a computed column that reads the outer row, a LIMIT, a UNION, or the
null-supplying side of an outer join. `push_down_domain` handles these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from risingpy.optimizer.rewrite import correlated_refs
from risingpy.optimizer.rules.push_down_domain import top_n
from risingpy.plan.expression_trees import columns_read, conjunction, conjuncts, remapped, shifted, walk
from risingpy.plan.expressions import Call, CorrelatedRef, Expr, InputRef
from risingpy.plan.logical import (
    Aggregate,
    Field,
    Filter,
    Join,
    JoinKind,
    Limit,
    LogicalPlan,
    Project,
    Schema,
    Sort,
    TopN,
)

_SEMI = (JoinKind.LEFT_SEMI, JoinKind.LEFT_ANTI)
_EQUAL = ("eq", "is_not_distinct_from")


@dataclass(frozen=True, slots=True)
class PulledUp:
    """`plan` reads nothing of the outer row. Its columns are the original's, then those that `predicates` need."""

    plan: LogicalPlan
    predicates: tuple[Expr, ...]


def pull_up(plan: LogicalPlan, *, duplicates_matter: bool) -> PulledUp | None:
    """The plan pulled up; None if that is impossible. Without `duplicates_matter`, rows may come more or less often."""
    if not correlated_refs(plan):
        return PulledUp(plan, ())
    match plan:
        case Filter():
            return _filter(plan, duplicates_matter=duplicates_matter)
        case Project():
            return _project(plan, duplicates_matter=duplicates_matter)
        case Sort():
            return pull_up(plan.input, duplicates_matter=duplicates_matter)
        case Aggregate() if plan.group_key:
            return grouped(plan)
        case Join():
            return _join(plan, duplicates_matter=duplicates_matter)
        case Limit():
            limited = top_n(plan)
            return _top_n(limited) if isinstance(limited, TopN) else pull_up(limited, duplicates_matter=True)
        case TopN():
            return _top_n(plan)
        case _:
            return None


def grouped(plan: Aggregate) -> PulledUp | None:
    """An Aggregate with its input's equalities as group keys. Output: its columns, then the keys of the equalities."""
    inner = pull_up(plan.input, duplicates_matter=True)
    if inner is None:
        return None
    equalities = [_equality(p) for p in inner.predicates]
    keys = set(plan.group_key)
    if not all(e is not None or columns_read(p) <= keys for p, e in zip(inner.predicates, equalities, strict=True)):
        return None
    width = len(inner.plan.schema)
    insides = list(dict.fromkeys(e[0] for e in equalities if e is not None))
    input = _with_columns(inner.plan, insides)
    added = input.schema[width:]
    new_keys = tuple(range(width, width + len(insides)))
    old, calls = len(plan.group_key), len(plan.calls)
    schema = plan.schema[:old] + added + plan.schema[old:]
    aggregate = Aggregate(input, plan.group_key + new_keys, plan.calls, schema)
    order = [*range(old), *range(old + len(insides), old + len(insides) + calls), *range(old, old + len(insides))]
    result = Project(aggregate, tuple(InputRef(i, schema[i].type) for i in order), plan.schema + added)
    positions = {key: plan.group_key.index(key) for key in plan.group_key}
    places = {e: InputRef(old + calls + i, e.type) for i, e in enumerate(insides)}
    predicates = tuple(
        remapped(p, positions) if e is None else _with_inside(p, e[1], places[e[0]])
        for p, e in zip(inner.predicates, equalities, strict=True)
    )
    return PulledUp(result, predicates)


def _top_n(plan: TopN) -> PulledUp | None:
    """A TopN that gives the first rows for each value of the equalities' inner sides."""
    inner = pull_up(plan.input, duplicates_matter=True)
    if inner is None:
        return None
    equalities = [e for p in inner.predicates if (e := _equality(p)) is not None]
    if len(equalities) < len(inner.predicates):
        return None
    width = len(inner.plan.schema)
    insides = list(dict.fromkeys(e[0] for e in equalities))
    input = _with_columns(inner.plan, insides)
    limited = replace(plan, input=input, group_key=(*plan.group_key, *range(width, width + len(insides))))
    order = [*range(len(plan.schema)), *range(width, width + len(insides))]
    result = Project(limited, tuple(InputRef(i, input.schema[i].type) for i in order), _pick(input.schema, order))
    places = {e: InputRef(len(plan.schema) + i, e.type) for i, e in enumerate(insides)}
    pairs = zip(inner.predicates, equalities, strict=True)
    return PulledUp(result, tuple(_with_inside(p, e[1], places[e[0]]) for p, e in pairs))


def _with_columns(plan: LogicalPlan, expressions: Sequence[Expr]) -> Project:
    """The plan with `expressions` as further columns after its own."""
    columns = tuple(InputRef(i, f.type) for i, f in enumerate(plan.schema))
    added = tuple(Field(f"key{i}", e.type) for i, e in enumerate(expressions))
    return Project(plan, (*columns, *expressions), plan.schema + added)


def reads_outside(expr: Expr) -> bool:
    """Whether the expression itself reads a column of the outer row; subqueries in it are not looked into."""
    return any(isinstance(part, CorrelatedRef) for part in walk(expr))


def _filter(plan: Filter, *, duplicates_matter: bool) -> PulledUp | None:
    inner = pull_up(plan.input, duplicates_matter=duplicates_matter)
    if inner is None:
        return None
    parts = conjuncts(plan.predicate)
    plain = conjunction([part for part in parts if not reads_outside(part)])
    pulled = tuple(part for part in parts if reads_outside(part))
    return PulledUp(inner.plan if plain is None else Filter(inner.plan, plain), inner.predicates + pulled)


def _project(plan: Project, *, duplicates_matter: bool) -> PulledUp | None:
    if any(reads_outside(e) for e in plan.expressions):
        return None
    inner = pull_up(plan.input, duplicates_matter=duplicates_matter)
    if inner is None:
        return None
    read = sorted(set().union(*(columns_read(p) for p in inner.predicates)))
    positions = {column: len(plan.schema) + i for i, column in enumerate(read)}
    schema = plan.schema + _pick(inner.plan.schema, read)
    kept = tuple(InputRef(i, inner.plan.schema[i].type) for i in read)
    result = Project(inner.plan, plan.expressions + kept, schema)
    return PulledUp(result, tuple(remapped(p, positions) for p in inner.predicates))


def _join(plan: Join, *, duplicates_matter: bool) -> PulledUp | None:
    parts = [] if plan.condition is None else conjuncts(plan.condition)
    if plan.kind is JoinKind.LEFT_SEMI and not duplicates_matter:
        plan = replace(plan, kind=JoinKind.INNER, schema=plan.left.schema + plan.right.schema)
    inner = plan.kind in (JoinKind.INNER, JoinKind.CROSS)
    if not inner and (plan.kind not in (JoinKind.LEFT, *_SEMI) or any(reads_outside(part) for part in parts)):
        return None
    if not inner and correlated_refs(plan.right):
        return None
    left = pull_up(plan.left, duplicates_matter=duplicates_matter)
    right = pull_up(plan.right, duplicates_matter=duplicates_matter)
    if left is None or right is None:
        return None
    return _joined(plan, left, right, parts)


def _joined(plan: Join, left: PulledUp, right: PulledUp, parts: Sequence[Expr]) -> PulledUp:
    split, width = len(plan.left.schema), len(left.plan.schema)
    positions = {i: i if i < split else i - split + width for i in range(split + len(plan.right.schema))}
    moved = [remapped(part, positions) for part in parts]
    plain = conjunction([part for part in moved if not reads_outside(part)])
    pulled = [part for part in moved if reads_outside(part)]
    pulled += [*left.predicates, *(shifted(p, width) for p in right.predicates)]
    kind = plan.kind
    if kind in (JoinKind.INNER, JoinKind.CROSS):
        kind = JoinKind.CROSS if plain is None else JoinKind.INNER
    one_sided = kind in _SEMI
    schema = left.plan.schema if one_sided else left.plan.schema + right.plan.schema
    joined = Join(left.plan, right.plan, kind, plain, schema, plan.ties)
    first = list(range(split)) if one_sided else [positions[i] for i in range(len(plan.schema))]
    order = first + [i for i in range(len(schema)) if i not in first]
    result = Project(joined, tuple(InputRef(i, schema[i].type) for i in order), _pick(schema, order))
    places = {column: place for place, column in enumerate(order)}
    return PulledUp(result, tuple(remapped(p, places) for p in pulled))


def _equality(predicate: Expr) -> tuple[Expr, Expr] | None:
    """(inside, outside) of `inside = outside`: one side reads only the subquery, the other only the outer row."""
    match predicate:
        case Call(function, (a, b)) if function in _EQUAL:
            for inside, outside in ((a, b), (b, a)):
                if not reads_outside(inside) and not columns_read(outside):
                    return inside, outside
    return None


def _with_inside(predicate: Expr, outside: Expr, inside: Expr) -> Expr:
    assert isinstance(predicate, Call)
    return Call(predicate.function, (inside, outside), predicate.type)


def _pick(schema: Schema, positions: Sequence[int]) -> Schema:
    return tuple(schema[i] for i in positions)
