"""Orders inner joins: avoids products, does joins that add no rows first, and then makes the tree flat.

    Inner(a.x = c.x AND b.y = c.y; Cross(a, b), c)  =>  Project(a, b, c; Inner(c.y = b.y; Inner(a.x = c.x; a, c), b))

The rule joins two parts of the tree at a time. It takes pairs with an equality first, and among them those in which one
side has at most one row per key, because such a join does not multiply rows. Then it takes the pair that gives the
lowest tree: the height is the number of exchanges that a change passes. Then filtered inputs come first: a fact's rows
that the filter of a dimension drops are in the state of no later join. Another condition beside an equality comes after
that: if it compares with an average, say, each change of a row changes the pairs of all others that have its key, which
are few only where filters have been. The order of FROM decides last, so the same query always gets the same plan.

Columns that must be equal, directly or by way of others, form a class. Two parts that both have a column of a class can
be joined by it, and an equality that follows from others is not tested again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from heapq import heapify, heappop, heappush
from itertools import combinations

from risingpy.optimizer.facts import unique_keys
from risingpy.optimizer.rewrite import plan_inputs, with_inputs
from risingpy.optimizer.rules.equal_columns import EqualColumns, is_column_equality
from risingpy.plan.expression_trees import columns_read, conjunction, conjuncts, remapped
from risingpy.plan.expressions import Call, Expr, InputRef
from risingpy.plan.logical import Field, Filter, Join, JoinKind, LogicalPlan, Project
from risingpy.types import BOOLEAN

_INNER = frozenset({JoinKind.INNER, JoinKind.CROSS})
_FEWEST = 3  # two inputs leave no choice
_EQUALITIES = frozenset({"eq", "is_not_distinct_from"})
_Rank = tuple[bool, bool, bool, int, int, bool, int, int]
_OF_EQUALITY, _OF_FILTER, _ALL = range(3)  # how many of an input's rows are left: few, some, all


def join_reorder(plan: LogicalPlan) -> LogicalPlan:
    """The plan with its groups of inner joins ordered anew; a projection above restores the order of columns."""
    # Counted first: `flatten` also orders the joins below, and doing that again at each level would double the work.
    if isinstance(plan, Join) and _count_inputs(plan) >= _FEWEST:
        group = _JoinGroup()
        outputs = group.flatten(plan)
        return _selected(group.joined(), outputs, plan)
    inputs = plan_inputs(plan)
    ordered = [join_reorder(each) for each in inputs]
    return plan if all(a is b for a, b in zip(inputs, ordered, strict=True)) else with_inputs(plan, ordered)


def _count_inputs(plan: LogicalPlan) -> int:
    """The number of inputs that `_JoinGroup.flatten` would find below `plan`."""
    match plan:
        case Join() if plan.kind in _INNER:
            return _count_inputs(plan.left) + _count_inputs(plan.right)
        case Project(input, expressions) if all(isinstance(e, InputRef) for e in expressions):
            return _count_inputs(input)
    return 1


@dataclass(slots=True)
class _Part:
    """A part of the tree. Columns are numbered over all inputs of the group; `columns` are those of the part's output.

    `order` is the position of its first input in FROM. `keys` are sets of columns without duplicates. `classes` has,
    for every class of equal columns in the part, the position of its first column among the class's members. `kept`
    says how many rows filters have left of its inputs.
    """

    plan: LogicalPlan
    columns: list[int]
    order: int
    height: int
    kept: int
    keys: list[frozenset[int]]
    has: frozenset[int]
    classes: dict[int, int] = field(default_factory=dict)

    def is_unique(self, columns: Iterable[int]) -> bool:
        given = frozenset(columns)
        return any(key <= given for key in self.keys)


@dataclass(slots=True)
class _JoinGroup:
    """A group of nested inner joins, as the list of their inputs and that of their conditions."""

    parts: list[_Part] = field(default_factory=list)
    fields: list[Field] = field(default_factory=list)
    conditions: list[Expr] = field(default_factory=list)
    reads: list[frozenset[int]] = field(default_factory=list)  # the columns of each condition
    equal: EqualColumns = field(default_factory=EqualColumns)
    classes: list[list[int]] = field(default_factory=list)

    def flatten(self, plan: LogicalPlan) -> list[int]:
        """Adds the inputs and conditions below `plan`; returns the group's column for each of its columns."""
        match plan:
            case Join() if plan.kind in _INNER:
                columns = self.flatten(plan.left) + self.flatten(plan.right)
                if plan.condition is not None:
                    condition = remapped(plan.condition, dict(enumerate(columns)))
                    self.conditions.extend(conjuncts(condition))
                return columns
            case Project(input, expressions) if all(isinstance(e, InputRef) for e in expressions):
                columns = self.flatten(input)
                return [columns[e.index] for e in expressions if isinstance(e, InputRef)]
            case _:
                return self._take(join_reorder(plan))

    def _take(self, plan: LogicalPlan) -> list[int]:
        columns = list(range(len(self.fields), len(self.fields) + len(plan.schema)))
        self.fields.extend(plan.schema)
        keys = [frozenset(columns[i] for i in key) for key in unique_keys(plan)]
        self.parts.append(_Part(plan, columns, len(self.parts), 0, _kept(plan), keys, frozenset(columns)))
        return columns

    def joined(self) -> _Part:
        """Joins all parts to one.

        The rank of a pair does not change while other parts are joined: conditions that are used up then have read
        those parts. So each pair is ranked once: for n parts that makes n² ranks, not n² after every join.
        """
        rest = []
        for condition in self.conditions:
            if is_column_equality(condition):
                self.equal.add(condition)
            else:
                rest.append(condition)
        self.conditions, self.reads = rest, [frozenset(columns_read(condition)) for condition in rest]
        self.classes = [list(members) for members in self.equal.classes()]
        parts = {part.order: self._with_own_equalities(part) for part in self.parts}
        # A part is identified by its order; a part that has been joined to another is no longer at its own order.
        pairs = [(self._rank(a, b), a, b) for a, b in combinations(parts.values(), 2)]
        heap = [(rank, number) for number, (rank, _, _) in enumerate(pairs)]
        heapify(heap)
        while len(parts) > 1:
            _, left, right = pairs[heappop(heap)[1]]
            if parts.get(left.order) is not left or parts.get(right.order) is not right:
                continue
            merged = self._join(left, right)
            del parts[right.order]
            for other in parts.values():
                if other is not left:
                    first, second = (merged, other) if merged.order < other.order else (other, merged)
                    pairs.append((self._rank(first, second), first, second))
                    heappush(heap, (pairs[-1][0], len(pairs) - 1))
            parts[merged.order] = merged
        return next(iter(parts.values()))

    def _with_own_equalities(self, part: _Part) -> _Part:
        """An input with the equalities between its own columns as a filter."""
        own: list[Expr] = []
        for number, members in enumerate(self.classes):
            inside = [place for place, i in enumerate(members) if i in part.has]
            own += [self._equality(members[inside[0]], members[other]) for other in inside[1:]]
            if inside:
                part.classes[number] = inside[0]
        condition = conjunction(own)
        if condition is None:
            return part
        moved = remapped(condition, {column: i for i, column in enumerate(part.columns)})
        return replace(part, plan=Filter(part.plan, moved))

    def _equality(self, a: int, b: int) -> Expr:
        return Call("eq", (self._reference(a), self._reference(b)), BOOLEAN)

    def _reference(self, column: int) -> InputRef:
        return InputRef(column, self.fields[column].type)

    def _rank(self, left: _Part, right: _Part) -> _Rank:
        """The rank of a pair: pairs with the lowest rank are joined first."""
        pairs = self._equal_pairs(left, right)
        spanning = self._spanning(left, right)
        has_equality = bool(pairs) or any(isinstance(e, Call) and e.function in _EQUALITIES for e in spanning)
        multiplies = not (left.is_unique(a for a, _ in pairs) or right.is_unique(b for _, b in pairs))
        height, kept = max(left.height, right.height), left.kept + right.kept
        only_spanning = bool(spanning) and not pairs
        return not has_equality, not only_spanning, multiplies, height, kept, not spanning, left.order, right.order

    def _equal_pairs(self, left: _Part, right: _Part) -> list[tuple[int, int]]:
        """A column of each side for every class that both sides have."""
        both = sorted(left.classes.keys() & right.classes.keys())
        return [(self.classes[k][left.classes[k]], self.classes[k][right.classes[k]]) for k in both]

    def _spanning(self, left: _Part, right: _Part) -> list[Expr]:
        """The other conditions that can be tested once the two parts are joined."""
        return [
            condition
            for condition, read in zip(self.conditions, self.reads, strict=True)
            if not read.isdisjoint(left.has) and not read.isdisjoint(right.has) and read <= left.has | right.has
        ]

    def _join(self, left: _Part, right: _Part) -> _Part:
        pairs = self._equal_pairs(left, right)
        spanning = self._spanning(left, right)
        columns = left.columns + right.columns
        condition = conjunction([*(self._equality(a, b) for a, b in pairs), *spanning])
        if condition is not None:
            condition = remapped(condition, {column: i for i, column in enumerate(columns)})
        kept = [k for k, each in enumerate(self.conditions) if each not in spanning]
        self.conditions, self.reads = [self.conditions[k] for k in kept], [self.reads[k] for k in kept]
        kind = JoinKind.CROSS if condition is None else JoinKind.INNER
        schema = (*left.plan.schema, *right.plan.schema)
        plan = Join(left.plan, right.plan, kind, condition, schema)
        keys = left.keys if right.is_unique(b for _, b in pairs) else []
        keys = keys + (right.keys if left.is_unique(a for a, _ in pairs) else [])
        keys = keys or [a | b for a in left.keys[:2] for b in right.keys[:2]]
        classes = {
            k: min(left.classes.get(k, len(self.fields)), right.classes.get(k, len(self.fields)))
            for k in left.classes.keys() | right.classes.keys()
        }
        height, fewest = max(left.height, right.height) + 1, min(left.kept, right.kept)
        return _Part(plan, columns, left.order, height, fewest, keys, left.has | right.has, classes)


def _kept(plan: LogicalPlan) -> int:
    """How many rows the filters of an input leave, as far as their form tells."""
    match plan:
        case Filter():
            equal = any(isinstance(part, Call) and part.function in _EQUALITIES for part in conjuncts(plan.predicate))
            return _OF_EQUALITY if equal else min(_OF_FILTER, _kept(plan.input))
        case Project():
            return _kept(plan.input)
        case Join(kind=JoinKind.LEFT_SEMI):
            return min(_OF_FILTER, _kept(plan.left))
    return _ALL


def _selected(part: _Part, outputs: list[int], before: LogicalPlan) -> LogicalPlan:
    """The columns that the plan had before, in their order."""
    if part.columns == outputs:
        return part.plan
    position = {column: i for i, column in enumerate(part.columns)}
    columns = tuple(InputRef(position[column], f.type) for column, f in zip(outputs, before.schema, strict=True))
    return Project(part.plan, columns, before.schema)
