"""Rewrites the items of WITH MUTUALLY RECURSIVE into queries over what changes from level to level.

Item k of n is computed at the levels k, k + n, k + 2n, …, from the contents that all items have then. What an item has
at a level is the sum of its differences up to there: rows (level, weight, columns), where the weight says how many more
such rows there are than at the level before. A query over contents becomes one over differences:

    t, which reads no item   =>  (-1, 1, t): it is there from the beginning
    Filter, Project, Union   =>  the same over differences
    a JOIN b                 =>  level = greatest(a.level, b.level), weight = a.weight * b.weight
    DISTINCT, min, max       =>  the levels at which a group of rows comes or goes, or has another extreme
    any other operator       =>  at each moment, a level at which the group of its input changes, computed over the
                                 contents of the group until its next moment; its rows come at the one, go at the other

So a row takes part in the work of one level, that at which it comes, and all operators are those of other queries: they
follow changes of their inputs, levels and weights included. (McSherry, Murray, Isaacs and Isard, "Differential
Dataflow", CIDR 2013; a level is their iteration.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from risingpy.errors import InternalError
from risingpy.optimizer.rewrite import column_references, recursive_names
from risingpy.optimizer.rules.numeric_keys import numeric_keys
from risingpy.optimizer.rules.push_down_domain import Domain, top_n
from risingpy.optimizer.stream.expressions import unsupported
from risingpy.plan.expression_trees import conjuncts, shifted, transform
from risingpy.plan.expressions import Call, Case, Expr, InputRef, Literal
from risingpy.plan.logical import (
    AggCall,
    Aggregate,
    ChangeLog,
    Expand,
    Field,
    Filter,
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
    Schema,
    Sort,
    TopN,
    Union,
    Values,
)
from risingpy.plan.recursion.operators import MomentsOf
from risingpy.types import BIGINT, BOOLEAN, INTEGER, array_of

LEVEL = Field("_level", BIGINT, hidden=True)
UNTIL = Field("_until", BIGINT, hidden=True)
WEIGHT = Field("_weight", INTEGER, hidden=True)
ALL_ITEMS = "#items"
"""The name by which the step reads the differences of all items: the level, the output's columns, the weight."""

_AT = (LEVEL, WEIGHT)
_OVER = (LEVEL, UNTIL)
_LEVEL, _UNTIL, _WEIGHT = InputRef(0, BIGINT), InputRef(1, BIGINT), InputRef(1, INTEGER)
_BEGINNING = Literal(-1, BIGINT)
_ONE, _TAKEN_BACK = Literal(1, INTEGER), Literal(-1, INTEGER)
_SIDE = Field("_side", INTEGER, hidden=True)
_NO_SIDE = Literal(-1, INTEGER)
_INNER = (JoinKind.INNER, JoinKind.CROSS)
_OF_LEFT = (JoinKind.LEFT, JoinKind.LEFT_SEMI, JoinKind.LEFT_ANTI, JoinKind.ASOF, JoinKind.ASOF_LEFT)
# Aggregates to which a row that comes twice is the same as one that comes once.
_OF_DISTINCT_ROWS = frozenset({"min", "max", "bool_and", "bool_or", "bit_and", "bit_or"})


@dataclass(frozen=True, slots=True)
class StepPart:
    """A plan that is computed once, and which others read by its name, `schema` being what they read.

    With `gives`, these are the moments of the plan's differences, by the first `grouped` of its columns.
    """

    name: str
    plan: LogicalPlan
    schema: Schema
    grouped: int = 0
    gives: MomentsOf | None = None


@dataclass(frozen=True, slots=True)
class Differences:
    """`step` gives the differences of all items, each at the next level that is the item's, like ALL_ITEMS.

    It and each of `parts` may read ALL_ITEMS and the parts before it, by their names.
    """

    parts: tuple[StepPart, ...]
    step: LogicalPlan


def differences_of(query: MutualRecursion) -> Differences:
    """The step of `query`, whose items are optimized. Raises FeatureNotSupported for what cannot be repeated."""
    writer = _DifferencesWriter(query)
    steps = [writer.next_of(number, item) for number, item in enumerate(query.items)]
    step = Union(tuple(steps), (LEVEL, *query.schema, WEIGHT))
    parts = (replace(part, plan=numeric_keys(part.plan)) for part in writer.parts)
    return Differences(tuple(parts), numeric_keys(step))


def contents_of(differences: LogicalPlan) -> LogicalPlan:
    """The rows that are there in the end, each as often as it is, of differences that begin with their columns.

    Those of a row at other levels make one sum; its last two columns are the level and the weight.
    """
    width = len(differences.schema) - 2
    refs, columns = column_references(differences), differences.schema[:width]
    read = Project(differences, (*refs[:width], refs[width + 1]), (*columns, WEIGHT))
    total = AggCall("sum", (width,), BIGINT)
    sums = Aggregate(read, tuple(range(width)), (total,), (*columns, WEIGHT))
    weight = InputRef(width, BIGINT)
    there = Filter(sums, _call("gt", weight, Literal(0, BIGINT)))
    numbers = Call("generate_series", (Literal(1, BIGINT), weight), array_of(BIGINT))
    added = (Field("_number", BIGINT, hidden=True), Field("_element", BIGINT, hidden=True))
    expanded = ProjectSet(there, (numbers,), (*there.schema, *added))
    return numeric_keys(Project(expanded, tuple(column_references(expanded)[:width]), columns))


def _call(function: str, *args: Expr) -> Call:
    return Call(function, args, BOOLEAN)


def _picked(plan: LogicalPlan, columns: Sequence[int]) -> LogicalPlan:
    refs = column_references(plan)
    return Project(plan, tuple(refs[i] for i in columns), tuple(plan.schema[i] for i in columns))


@dataclass(slots=True)
class _DifferencesWriter:
    """Writes differences of plans; they begin with LEVEL and WEIGHT."""

    query: MutualRecursion
    parts: list[StepPart] = field(default_factory=list)
    _names: set[str] = field(init=False)

    def __post_init__(self) -> None:
        self._names = {ALL_ITEMS, *self.query.names}

    def next_of(self, number: int, item: LogicalPlan) -> LogicalPlan:
        """An item's differences as rows of the whole query, at the levels at which the item is computed next."""
        count, after = len(self.query.items), Call("add", (_LEVEL, Literal(1, BIGINT)), BIGINT)
        level: Expr = after
        if count > 1:  # the least level after this one that is `number` modulo `count`
            turn = Call("modulo", (after, Literal(count, BIGINT)), BIGINT)
            missing = Call("subtract", (Literal(number + count, BIGINT), turn), BIGINT)
            level = Call("add", (after, Call("modulo", (missing, Literal(count, BIGINT)), BIGINT)), BIGINT)
        own = self.query.columns_of(number)
        columns: list[Expr] = [Literal(None, f.type) for f in self.query.schema]
        columns[0] = Literal(number, INTEGER)
        columns[own.start : own.stop] = [InputRef(2 + i, f.type) for i, f in enumerate(item.schema)]
        return Project(self.of(item), (level, *columns, _WEIGHT), (LEVEL, *self.query.schema, WEIGHT))

    def of(self, plan: LogicalPlan) -> LogicalPlan:
        """The differences of what `plan` gives."""
        if not self._reads(plan):
            one = Literal(1, INTEGER)
            return Project(plan, (_BEGINNING, one, *column_references(plan)), (*_AT, *plan.schema))
        schema = (*_AT, *plan.schema)
        match plan:
            case RecursiveScan():
                return self._scan(plan)
            case Filter():
                return Filter(self.of(plan.input), shifted(plan.predicate, 2))
            case Project():
                moved = (shifted(e, 2) for e in plan.expressions)
                return Project(self.of(plan.input), (_LEVEL, _WEIGHT, *moved), schema)
            case ProjectSet():
                lists = tuple(shifted(e, 2) for e in plan.lists)
                return replace(plan, input=self.of(plan.input), lists=lists, schema=schema)
            case Expand():
                return Expand(self.of(plan.input), plan.copies, schema)
            case Union():
                return Union(tuple(map(self.of, plan.inputs)), schema)
            case Sort():
                return self.of(plan.input)
            case Limit():
                return self.of(top_n(plan))
            case Join():
                return self._join(plan)
            case Aggregate() if plan.group_key and not plan.calls:
                return self._distinct(plan)
            case Aggregate():
                return self._aggregate(plan)
            case TopN():
                return self._by_moments(plan, plan.group_key)
            case OverWindow():
                return self._by_moments(plan, plan.partition_by)
            case Recursion() | MutualRecursion():
                hint = "Make it one of the queries of WITH MUTUALLY RECURSIVE."
                raise unsupported("a recursion that reads another one in a materialized view", hint)
            case ChangeLog():
                hint = "Have a view read the changelog of the recursion's rows."
                raise unsupported("a changelog within WITH MUTUALLY RECURSIVE", hint)
            case _:
                raise InternalError(f"{type(plan).__name__} reads a recursion")

    def _reads(self, plan: LogicalPlan) -> bool:
        return not self._names.isdisjoint(recursive_names(plan))

    def _part(self, plan: LogicalPlan, grouped: int = 0, gives: MomentsOf | None = None) -> RecursiveScan:
        """Reads a plan that is computed once, or moments of its differences."""
        name, columns = f"#{len(self.parts)}", plan.schema[2:]
        schema = plan.schema
        if gives is not None:
            schema = (*(_OVER if gives.are_contents else _AT), *columns)
        self.parts.append(StepPart(name, plan, schema, grouped, gives))
        self._names.add(name)
        return RecursiveScan(name, schema)

    def _scan(self, scan: RecursiveScan) -> LogicalPlan:
        """The differences of one item."""
        number = self.query.names.index(scan.name)
        rows = RecursiveScan(ALL_ITEMS, (LEVEL, *self.query.schema, WEIGHT))
        own = Filter(rows, _call("eq", InputRef(1, INTEGER), Literal(number, INTEGER)))
        columns = [1 + i for i in self.query.columns_of(number)]
        return replace(_picked(own, [0, len(rows.schema) - 1, *columns]), schema=(*_AT, *scan.schema))

    def _join(self, join: Join) -> LogicalPlan:
        """A join is linear in each side of an inner one, and in the side alone that may have rows without a match."""
        left_reads, right_reads = self._reads(join.left), self._reads(join.right)
        split, condition = len(join.left.schema), join.condition
        if join.kind in (JoinKind.TEMPORAL, JoinKind.TEMPORAL_LEFT):
            hint = "Join the table itself: the view then follows its changes."
            raise unsupported("a temporal join within WITH MUTUALLY RECURSIVE", hint)
        if not right_reads and (join.kind in _INNER or join.kind in _OF_LEFT):
            moved = None if condition is None else shifted(condition, 2)
            return replace(join, left=self.of(join.left), condition=moved, schema=(*_AT, *join.schema))
        if not left_reads and (join.kind in _INNER or join.kind is JoinKind.RIGHT):
            moved = None if condition is None else _moved(condition, split, 0, 2)
            right = self.of(join.right)
            joined = replace(join, right=right, condition=moved, schema=(*join.left.schema, *right.schema))
            rest = [i for i in range(len(joined.schema)) if i not in (split, split + 1)]
            return _picked(joined, [split, split + 1, *rest])
        if join.kind in _INNER:
            return self._join_of_both(join)
        return self._join_by_moments(join)

    def _join_of_both(self, join: Join) -> LogicalPlan:
        left, right, split = self.of(join.left), self.of(join.right), len(join.left.schema)
        moved = None if join.condition is None else _moved(join.condition, split, 2, 4)
        joined = replace(join, left=left, right=right, condition=moved, schema=(*left.schema, *right.schema))
        refs, second = column_references(joined), 2 + split
        level = Case(((_call("gt", refs[0], refs[second]), refs[0]),), refs[second], BIGINT)
        weight = Call("multiply", (refs[1], refs[second + 1]), INTEGER)
        columns: list[Expr] = [level, weight, *refs[2:second], *refs[second + 2 :]]
        return Project(joined, tuple(columns), (*_AT, *join.schema))

    def _distinct(self, plan: Aggregate) -> LogicalPlan:
        """Of each group the levels at which it comes to have rows, and those at which it has none any more."""
        groups = _picked(self.of(plan.input), [0, 1, *(2 + key for key in plan.group_key)])
        comings = self._part(groups, len(plan.group_key), MomentsOf.GROUPS)
        return replace(comings, schema=(*_AT, *plan.schema))

    def _aggregate(self, plan: Aggregate) -> LogicalPlan:
        """By moments, over the columns alone that are read: equal rows of them become one."""
        extreme = _extreme(plan)
        if extreme is not None:
            (column,) = plan.calls[0].args
            rows = _picked(self.of(plan.input), [0, 1, *(2 + key for key in (*plan.group_key, column))])
            return replace(self._part(rows, len(plan.group_key), extreme), schema=(*_AT, *plan.schema))
        read = (*plan.group_key, *(column for call in plan.calls for column in call.columns_read))
        needed = tuple(dict.fromkeys(read))
        places = {column: i for i, column in enumerate(needed)}
        calls = tuple(call.moved(places) for call in plan.calls)
        group_key = tuple(places[key] for key in plan.group_key)
        moved = replace(plan, input=_picked(plan.input, needed), group_key=group_key, calls=calls)
        once = all(call.distinct or call.function in _OF_DISTINCT_ROWS for call in calls)
        return self._by_moments(moved, group_key, MomentsOf.DISTINCT_ROWS if once else MomentsOf.ROWS)

    def _by_moments(
        self, plan: Aggregate | TopN | OverWindow, group_key: tuple[int, ...], gives: MomentsOf = MomentsOf.ROWS
    ) -> LogicalPlan:
        """An operator of one input, whose output follows from the rows that agree on `group_key`."""
        if not group_key:
            contents, (input,) = self._sides([plan.input], [()], gives)
            return _over_moments(replace(plan, input=input), contents)
        width = len(plan.input.schema)
        order = tuple(dict.fromkeys((*group_key, *range(width))))
        differences = _picked(self.of(plan.input), [0, 1, *(2 + i for i in order)])
        contents = self._part(differences, len(set(group_key)), gives)
        input = _picked(replace(contents, schema=contents.schema[2:]), [order.index(i) for i in range(width)])
        return _over_moments(replace(plan, input=input), contents)

    def _join_by_moments(self, join: Join) -> LogicalPlan:
        """A join whose rows without a match depend on the other side, by moments of the rows that its key has equal."""
        pairs = _equal_columns(join.condition, len(join.left.schema))
        keys = [tuple(left for left, _ in pairs), tuple(right for _, right in pairs)]
        contents, (left, right) = self._sides([join.left, join.right], keys, MomentsOf.ROWS)
        return _over_moments(replace(join, left=left, right=right), contents)

    def _sides(
        self, inputs: Sequence[LogicalPlan], keys: Sequence[tuple[int, ...]], gives: MomentsOf
    ) -> tuple[RecursiveScan, list[LogicalPlan]]:
        """The moments of the rows of several inputs as one relation, whose groups change together; and its parts.

        `_side` tells these apart. Without keys all rows are one group. It has a row of its own (_NO_SIDE) from the
        beginning, so that it has moments also while it has no others.
        """
        groups = tuple(inputs[0].schema[key] for key in keys[0]) or (_SIDE,)
        columns = tuple(f for input in inputs for f in input.schema)
        schema = (*_AT, *groups, _SIDE, *columns)
        parts: list[LogicalPlan] = []
        places: list[range] = []
        for side, (input, key) in enumerate(zip(inputs, keys, strict=True)):
            differences, first = self.of(input), sum(len(own) for own in places)
            places.append(range(first, first + len(input.schema)))
            refs = column_references(differences)
            row: list[Expr] = [Literal(None, f.type) for f in columns]
            row[first : first + len(input.schema)] = refs[2:]
            group: list[Expr] = [refs[2 + i] for i in key] or [_ONE]
            parts.append(Project(differences, (*refs[:2], *group, Literal(side, INTEGER), *row), schema))
        if not keys[0]:
            nothing = (Literal(None, f.type) for f in columns)
            parts.append(Values(((_BEGINNING, _ONE, _ONE, _NO_SIDE, *nothing),), schema))
        contents = self._part(Union(tuple(parts), schema), len(groups), gives)
        rows, side_at = replace(contents, schema=contents.schema[2:]), len(groups)
        sides = []
        for side, own in enumerate(places):
            is_own = _call("eq", InputRef(side_at, INTEGER), Literal(side, INTEGER))
            sides.append(_picked(Filter(rows, is_own), [side_at + 1 + i for i in own]))
        return contents, sides


def _extreme(plan: Aggregate) -> MomentsOf | None:
    """Which row of a group is the aggregate's only result, a minimum or a maximum; None if it has another one."""
    match plan.calls:
        case (AggCall("min" | "max" as function, (column,), type_, filter=None),):
            is_of_rows = (
                plan.group_key and column not in plan.group_key and len(set(plan.group_key)) == len(plan.group_key)
            )
            if is_of_rows and plan.input.schema[column].type == type_:
                return MomentsOf.LEAST if function == "min" else MomentsOf.GREATEST
    return None


def _over_moments(over: LogicalPlan, contents: RecursiveScan) -> LogicalPlan:
    """What `over`, computed over the contents at each moment by itself, gives more or less than at the one before.

    A row comes at its moment, and goes at the next one of its group; if it is there then, too, it comes again.
    """
    moments = Aggregate(contents, (0, 1), (), _OVER)  # all rows as one group have always one of their own
    each = Domain(moments, {}, frozenset({contents.name})).pushed(over)
    width = len(over.schema)
    copies = Expand(each, 2, (*each.schema, Field("_copy", BIGINT, hidden=True)))
    comes = _call("eq", InputRef(2 + width, BIGINT), Literal(0, BIGINT))
    kept = Filter(copies, _call("or", comes, _call("is_not_null", _UNTIL)))
    level = Case(((comes, _LEVEL),), _UNTIL, BIGINT)
    weight = Case(((comes, _ONE),), _TAKEN_BACK, INTEGER)
    return Project(kept, (level, weight, *column_references(kept)[2 : 2 + width]), (*_AT, *over.schema))


def _moved(condition: Expr, split: int, left: int, right: int) -> Expr:
    """A join's condition whose sides begin with so many further columns, or have them before, in all."""

    def changed(part: Expr) -> Expr | None:
        if not isinstance(part, InputRef):
            return None
        return InputRef(part.index + (left if part.index < split else right), part.type)

    return transform(condition, changed)


def _equal_columns(condition: Expr | None, split: int) -> list[tuple[int, int]]:
    """The pairs of columns, each of its side, that a join's condition has equal."""
    pairs = []
    for part in () if condition is None else conjuncts(condition):
        match part:
            case Call("eq" | "is_not_distinct_from", (InputRef(a, one), InputRef(b, other))) if one == other:
                low, high = sorted((a, b))
                if low < split <= high:
                    pairs.append((low, high - split))
    return pairs
