"""Computes a correlated subquery once for all outer values that it can read: its domain.

    Apply(t, q(t.a))  =>  t JOIN q' ON t.a IS NOT DISTINCT FROM d, where d = DISTINCT t.a and q' has (d, q(d)) for all d

`pushed` builds q', whose columns are the domain's, then the subquery's. It joins the domain to the lowest parts of the
subquery that read no outer value, and carries its columns up: an aggregation also groups by them, a join also compares
them, a limit counts per value. This works for any subquery. The domain has each value once, so q' is computed once per
value, however many outer rows ask for it. NULL is a value, too, hence IS NOT DISTINCT FROM.
(Neumann and Kemper, "Unnesting Arbitrary Queries", BTW 2015.)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import assert_never

from risingpy.errors import InternalError
from risingpy.optimizer.limit_by_number import limit_by_number
from risingpy.optimizer.rewrite import correlated_refs, moved_window, recursive_names
from risingpy.optimizer.rules.constant_folding import fold
from risingpy.plan.expression_trees import conjunction, transform
from risingpy.plan.expressions import Call, CorrelatedRef, Expr, InputRef, Literal
from risingpy.plan.logical import (
    AggCall,
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
    Schema,
    Sort,
    SystemScan,
    TopN,
    Union,
    Values,
)
from risingpy.types import BIGINT, BOOLEAN

_ONE_SIDED = (JoinKind.LEFT_SEMI, JoinKind.LEFT_ANTI)
_EVERYTHING = 1 << 61  # more rows than there can be
_ZERO_OVER_NOTHING = frozenset({"count", "approx_count_distinct", "regr_count"})


def same_values(left: int, right: int, schema: Schema) -> list[Expr]:
    """Null-safe equalities of two runs of columns, which begin at `left` and `right` and are as long as `schema`."""
    pairs = [(InputRef(left + i, f.type), InputRef(right + i, f.type)) for i, f in enumerate(schema)]
    return [Call("is_not_distinct_from", pair, BOOLEAN) for pair in pairs]


def over_nothing(call: AggCall, value: Expr) -> Expr:
    """An aggregate's value if the outer join finds no group: NULL, but 0 for counts."""
    if call.function not in _ZERO_OVER_NOTHING:
        return value
    return Call("coalesce", (value, Literal(0, BIGINT)), call.type)


def top_n(limit: Limit) -> TopN | LogicalPlan:
    """A LIMIT as a TopN, to which a group key can be added; by the rows' numbers if one of its own is no constant."""
    input, keys = (limit.input.input, limit.input.keys) if isinstance(limit.input, Sort) else (limit.input, ())
    given = [None if each is None else fold(each) for each in (limit.limit, limit.offset)]
    if not all(each is None or isinstance(each, Literal) for each in given):
        return limit_by_number(limit)
    rows, skipped = _number(given[0]), _number(given[1]) or 0
    if rows is None and not skipped:
        return input
    return TopN(input, (), keys, _EVERYTHING if rows is None else rows, limit.with_ties, skipped)


def _number(expr: Expr | None) -> int | None:
    return expr.value if isinstance(expr, Literal) and isinstance(expr.value, int) else None


@dataclass(frozen=True, slots=True)
class Domain:
    """`plan` has the distinct values; `places` maps the index of each CorrelatedRef that is read to a column of `plan`.

    `recursive` are the names of enclosing recursive queries whose rows already begin with the domain's columns.
    """

    plan: LogicalPlan
    places: dict[int, int]
    recursive: frozenset[str] = frozenset()

    @property
    def width(self) -> int:
        return len(self.plan.schema)

    def pushed(self, plan: LogicalPlan) -> LogicalPlan:
        """For each value of the domain: the value, then the rows of `plan` for it."""
        if not self._reads(plan):
            return Join(self.plan, plan, JoinKind.CROSS, None, self.plan.schema + plan.schema)
        match plan:
            case Filter():
                return Filter(self.pushed(plan.input), self._moved(plan.predicate, self.width))
            case Project():
                expressions = tuple(self._moved(e, self.width) for e in plan.expressions)
                schema = self.plan.schema + plan.schema
                return Project(self.pushed(plan.input), (*self._own(0), *expressions), schema)
            case ProjectSet():
                lists = tuple(self._moved(e, self.width) for e in plan.lists)
                return replace(plan, input=self.pushed(plan.input), lists=lists, schema=self.plan.schema + plan.schema)
            case Aggregate():
                return self._aggregate(plan)
            case Join():
                return self._join(plan)
            case Union():
                inputs = tuple(self.pushed(each) for each in plan.inputs)
                return Union(inputs, self.plan.schema + plan.schema)
            case Expand():
                return Expand(self.pushed(plan.input), plan.copies, self.plan.schema + plan.schema)
            case Sort():
                return self.pushed(plan.input)
            case Values():
                return self._values(plan)
            case Limit():
                return self.pushed(top_n(plan))
            case TopN():
                return self._top_n(plan)
            case OverWindow():
                return self._over_window(plan)
            case Recursion():
                return self._recursion(plan)
            case RecursiveScan():
                return replace(plan, schema=self.plan.schema + plan.schema)
            case Apply() | Scan() | SystemScan() | ChangeLog() | GivenRows() | MutualRecursion():
                raise InternalError("what reads no outer value is joined, and inner subqueries are unnested first")
            case _:
                assert_never(plan)

    def _reads(self, plan: LogicalPlan) -> bool:
        """Whether the plan's rows depend on the domain's value."""
        return bool(correlated_refs(plan)) or not self.recursive.isdisjoint(recursive_names(plan))

    def _recursion(self, plan: Recursion) -> LogicalPlan:
        """Runs the recursions of all values together. A row carries its value from step to step.

        So the step reads the value from the row that it continues, and a row is new if no row of the same value equals
        it.
        """
        inside = replace(self, recursive=self.recursive | {plan.name})
        keys = tuple(self._moved(key, self.width) for key in plan.keys)
        return replace(
            plan,
            start=self.pushed(plan.start),
            step=inside.pushed(plan.step),
            schema=self.plan.schema + plan.schema,
            keys=(*self._own(0), *keys) if keys else (),
        )

    def _own(self, first: int) -> tuple[Expr, ...]:
        """References to the domain's columns, which begin at `first`."""
        return tuple(InputRef(first + i, field.type) for i, field in enumerate(self.plan.schema))

    def _moved(self, expr: Expr, offset: int, domain: int = 0) -> Expr:
        """An expression of the subquery, whose own columns now begin at `offset`, and the domain's at `domain`."""

        def changed(part: Expr) -> Expr | None:
            match part:
                case InputRef():
                    return InputRef(part.index + offset, part.type)
                case CorrelatedRef():
                    return InputRef(domain + self.places[part.index], part.type)
            return None

        return transform(expr, changed)

    def _aggregate(self, plan: Aggregate) -> LogicalPlan:
        """Groups by the domain, too. Without GROUP BY, a value without rows gets the aggregate over no rows."""
        width, schema = self.width, self.plan.schema + plan.schema
        keys = (*range(width), *(key + width for key in plan.group_key))
        places = {i: i + width for i in range(len(plan.input.schema))}
        calls = tuple(call.moved(places) for call in plan.calls)
        groups = Aggregate(self.pushed(plan.input), keys, calls, schema)
        if plan.group_key:
            return groups
        condition = conjunction(same_values(0, width, self.plan.schema))
        joined = Join(self.plan, groups, JoinKind.LEFT, condition, self.plan.schema + schema)
        values = [over_nothing(c, InputRef(2 * width + i, c.type)) for i, c in enumerate(plan.calls)]
        return Project(joined, (*self._own(0), *values), schema)

    def _top_n(self, plan: TopN) -> LogicalPlan:
        width = self.width
        keys = tuple(replace(key, index=key.index + width) for key in plan.keys)
        group_key = (*range(width), *(key + width for key in plan.group_key))
        return replace(plan, input=self.pushed(plan.input), group_key=group_key, keys=keys)

    def _over_window(self, plan: OverWindow) -> LogicalPlan:
        """Partitions by the domain, too."""
        width = self.width
        places = {i: i + width for i in range(len(plan.input.schema))}
        return OverWindow(
            self.pushed(plan.input),
            (*range(width), *(column + width for column in plan.partition_by)),
            tuple(replace(key, index=key.index + width) for key in plan.order_by),
            tuple(moved_window(call, places) for call in plan.calls),
            self.plan.schema + plan.schema,
        )

    def _values(self, plan: Values) -> LogicalPlan:
        schema = self.plan.schema + plan.schema
        rows = [(*self._own(0), *(self._moved(e, 0) for e in row)) for row in plan.rows]
        projects = tuple(Project(self.plan, row, schema) for row in rows)
        return projects[0] if len(projects) == 1 else Union(projects, schema)

    def _join(self, plan: Join) -> LogicalPlan:
        """Pushes the domain to the side that reads it, or to both sides, which then must have the same value."""
        left_reads, right_reads = self._reads(plan.left), self._reads(plan.right)
        width, split = self.width, len(plan.left.schema)
        inner = plan.kind in (JoinKind.INNER, JoinKind.CROSS)
        if (right_reads and not left_reads and inner) or (plan.kind is JoinKind.RIGHT and not left_reads):
            return self._join_right(plan)
        left = self.pushed(plan.left)
        if not right_reads and plan.kind not in (JoinKind.RIGHT, JoinKind.FULL):
            schema = left.schema if plan.kind in _ONE_SIDED else left.schema + plan.right.schema
            condition = None if plan.condition is None else self._moved(plan.condition, width)
            one_kind = JoinKind.CROSS if condition is None and inner else plan.kind
            return Join(left, plan.right, one_kind, condition, schema, plan.ties)
        right = self.pushed(plan.right)
        conditions = same_values(0, width + split, self.plan.schema)
        if plan.condition is not None:
            conditions.append(self._across(plan.condition, split))
        kind = JoinKind.INNER if inner else plan.kind
        condition = conjunction(conditions)
        if kind in _ONE_SIDED:
            return Join(left, right, kind, condition, left.schema)
        ties = tuple(width + i for i in plan.ties)
        joined = Join(left, right, kind, condition, left.schema + right.schema, ties)
        return self._without_second(joined, split)

    def _across(self, condition: Expr, split: int) -> Expr:
        """A join's condition if both sides begin with the domain's columns."""
        width = self.width

        def changed(part: Expr) -> Expr | None:
            match part:
                case InputRef():
                    return InputRef(part.index + (width if part.index < split else 2 * width), part.type)
                case CorrelatedRef():
                    return InputRef(self.places[part.index], part.type)
            return None

        return transform(condition, changed)

    def _without_second(self, joined: Join, split: int) -> LogicalPlan:
        """Drops the second of the two domains; in a full or right join, keeps the one that is not NULL."""
        width = self.width
        own = self._own(0)
        if joined.kind in (JoinKind.RIGHT, JoinKind.FULL):
            pairs = zip(own, self._own(width + split), strict=True)
            own = tuple(Call("coalesce", pair, pair[0].type) for pair in pairs)
        kept = [*range(width, width + split), *range(2 * width + split, len(joined.schema))]
        refs = tuple(InputRef(i, joined.schema[i].type) for i in kept)
        schema = self.plan.schema + tuple(joined.schema[i] for i in kept)
        return Project(joined, (*own, *refs), schema)

    def _join_right(self, plan: Join) -> LogicalPlan:
        """Pushes the domain to the right side only, and then puts the columns in order."""
        split, width = len(plan.left.schema), self.width
        right = self.pushed(plan.right)
        condition = None
        if plan.condition is not None:
            condition = transform(plan.condition, lambda part: self._beside(part, split))
        kind = JoinKind.CROSS if condition is None and plan.kind is not JoinKind.RIGHT else plan.kind
        joined = Join(plan.left, right, kind, condition, plan.left.schema + right.schema)
        order = [*range(split, split + width), *range(split), *range(split + width, len(joined.schema))]
        refs = tuple(InputRef(i, joined.schema[i].type) for i in order)
        return Project(joined, refs, self.plan.schema + plan.schema)

    def _beside(self, part: Expr, split: int) -> Expr | None:
        match part:
            case InputRef() if part.index >= split:
                return InputRef(part.index + self.width, part.type)
            case CorrelatedRef():
                return InputRef(split + self.places[part.index], part.type)
        return None
