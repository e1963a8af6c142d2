"""GROUP BY: puts an Aggregate between the FROM clause and what is computed from the groups.

    SELECT a + 1, sum(b * 2) FROM t GROUP BY a + 1
    =>  Project($0, $1)
          Aggregate(key 0, sum($1))
            Project(a + 1, b * 2)
              Scan t

With several grouping sets every row is copied once per set, and the number of the copy is part of the key:

    SELECT a, b, count(*) FROM t GROUP BY ROLLUP (a, b)          sets 0: (a, b), 1: (a), 2: ()
    =>  Aggregate(keys a, b, copy; count filter (real))
          Project(CASE WHEN copy IN (0, 1) THEN a END, CASE WHEN copy = 0 THEN b END, real, copy)
            Union
              Expand(3 copies; Project(a, b, true AS real; Scan t))
              Values(NULL, NULL, false, 2)                          for the set () gives a row even over nothing
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from risingpy.errors import GroupingError
from risingpy.frontend.binder.plans import project, references
from risingpy.frontend.binder.query.direct_arguments import aggregated_columns, is_direct, of_copy, plain
from risingpy.frontend.binder.query.grouping_sets import GroupKey
from risingpy.frontend.binder.scope.aggregates import GROUPING, AggregateCall, AggregateCalls, no_key
from risingpy.frontend.binder.scope.windows import is_window
from risingpy.plan.expression_trees import transform
from risingpy.plan.expressions import Call, Case, Expr, InputRef, Literal
from risingpy.plan.logical import AggCall, Aggregate, Expand, Field, LogicalPlan, SortKey, Union, Values
from risingpy.types import BIGINT, BOOLEAN, INTEGER


class Grouping:
    """The Aggregate over `plan`, and the way from expressions over the FROM clause to expressions over the groups."""

    def __init__(self, plan: LogicalPlan, sets: Sequence[Sequence[GroupKey]], collected: AggregateCalls) -> None:
        self._several = len(sets) > 1
        if not self._several:  # equal keys have the same values
            sets = [[GroupKey(expr) for expr in dict.fromkeys(key.expr for key in sets[0])]]
        self._sets = sets
        self._keys = list(dict.fromkeys(key for keys in sets for key in keys))
        self._collected = collected
        places = {key: place for place, key in enumerate(self._keys)}
        # PostgreSQL takes an expression for the first item of the select list that is such a key.
        first = sorted(self._keys, key=lambda key: len(places) if key.item is None else key.item, reverse=True)
        self._places = {key.expr: places[key] for key in first}
        self.items = {key.item: self._reference(places[key]) for key in self._keys if key.item is not None}
        for argument in collected.direct:
            self._check_direct(plain(argument.expr))
        self.plan = self._of_sets(plan) if self._several else self._of_keys(plan)

    def _check_direct(self, argument: Expr) -> None:
        try:
            self.over_groups(argument)
        except GroupingError as error:
            error.detail = "Direct arguments of an ordered-set aggregate must use only grouped columns."
            raise

    def _of_keys(self, plan: LogicalPlan) -> LogicalPlan:
        columns = {key.expr: i for i, key in enumerate(self._keys)}
        calls = self._calls(lambda expr: columns.setdefault(plain(expr), len(columns)))
        names = [f"key{i}" for i in range(len(self._keys))]
        names += [f"arg{i}" for i in range(len(columns) - len(self._keys))]
        return self._aggregate(project(plan, list(columns), names), len(self._keys), calls)

    def _of_sets(self, plan: LogicalPlan) -> LogicalPlan:
        arguments: dict[Expr, int] = {}  # beside the keys, which become NULL where a set has them not
        calls = self._calls(lambda expr: arguments.setdefault(expr, len(arguments)))
        # What is made of direct arguments is computed in the copies; the others once, before the row is copied.
        parts = (part for expr in arguments for part in (aggregated_columns(expr) if is_direct(expr) else [expr]))
        read = {part: place for place, part in enumerate(dict.fromkeys(parts), len(self._keys))}
        keys = len(self._keys)
        names = [*(f"key{i}" for i in range(keys)), *(f"arg{i}" for i in range(len(read))), "real"]
        rows = project(plan, [*(key.expr for key in self._keys), *read, Literal(True, BOOLEAN)], names)
        schema = (*rows.schema, Field("copy", BIGINT))
        copies: LogicalPlan = Expand(rows, len(self._sets), schema)
        empty = [number for number, each in enumerate(self._sets) if not each]
        if empty:
            nulls = [Literal(None, field.type) for field in schema[:-2]]
            values = tuple((*nulls, Literal(False, BOOLEAN), Literal(number, BIGINT)) for number in empty)
            copies = Union((copies, Values(values, schema)), schema)
        *columns, real, copy = references(schema)
        nulled = [self._nulled(key, copy) for key in columns[:keys]]
        own = dict(zip(self._places, (nulled[place] for place in self._places.values()), strict=True))

        def over_copies(expr: Expr) -> Expr:
            if expr in read:
                return columns[read[expr]]
            made = of_copy(expr, own, lambda column: columns[read[column]])
            return Case(((real, made),), Literal(None, made.type), made.type) if empty else made

        exprs = [*nulled, copy, *map(over_copies, arguments), real]
        shown = ["copy", *(f"arg{i}" for i in range(len(arguments))), "real"]
        places = {i: i + keys + 1 for i in range(len(arguments))}
        moved = [call.moved(places) for call in calls]
        if empty:
            real_at = len(exprs) - 1
            moved = [call if call.filter is not None else _only(call, real_at) for call in moved]
        return self._aggregate(project(copies, exprs, [*names[:keys], *shown]), keys + 1, moved)

    def _calls(self, column: Callable[[Expr], int]) -> list[AggCall]:
        return [_placed(call, column) for call in self._collected.calls]

    def _nulled(self, key: InputRef, copy: Expr) -> Expr:
        """The key in the copies for the sets that have it."""
        having = [number for number, each in enumerate(self._sets) if self._keys[key.index] in each]
        if len(having) == len(self._sets):
            return key
        return Case(((_is_one_of(copy, having), key),), Literal(None, key.type), key.type)

    def _aggregate(self, input: LogicalPlan, keys: int, calls: Sequence[AggCall]) -> Aggregate:
        fields = [*input.schema[:keys], *(Field(call.function, call.type) for call in calls)]
        return Aggregate(input, tuple(range(keys)), tuple(calls), tuple(fields))

    def _reference(self, place: int) -> InputRef:
        return InputRef(place, self._keys[place].expr.type)

    def over_groups(self, expr: Expr) -> Expr:
        """`expr` over the Aggregate's output. Raises GroupingError for a column that is not grouped."""
        return transform(expr, self._replacement)

    def _replacement(self, expr: Expr) -> Expr | None:
        if isinstance(expr, Call) and expr.function == GROUPING:
            return self._grouping(expr)
        if expr in self._places:
            return self._reference(self._places[expr])
        if not isinstance(expr, InputRef):
            return None
        if is_window(expr):  # has its place when the groups are there
            return expr
        if expr.index < 0:
            return InputRef(len(self._keys) + self._several - 1 - expr.index, expr.type)
        _, position, shown = self._collected.references.get(id(expr), (expr, None, "?"))
        message = f'column "{shown}" must appear in the GROUP BY clause or be used in an aggregate function'
        if id(expr) in self._collected.outer_references:
            message = f'subquery uses ungrouped column "{shown}" from outer query'
        raise GroupingError(message, position=position)

    def _grouping(self, call: Call) -> Expr:
        """A bit for each argument, the last one's lowest: 1 where the row's set has it not."""
        other = next((arg for arg in call.args if arg not in self._places), None)
        if other is not None:
            raise no_key(self._collected.position_in(other))
        # PostgreSQL takes an argument for the first such key of GROUP BY.
        keys = [next(key for key in self._keys if key.expr == arg) for arg in call.args]
        masks = [sum((key not in each) << i for i, key in enumerate(reversed(keys))) for each in self._sets]
        if len(set(masks)) == 1:
            return Literal(masks[0], INTEGER)
        copy = InputRef(len(self._keys), BIGINT)
        branches = tuple(
            (_is_one_of(copy, [number for number, own in enumerate(masks) if own == mask]), Literal(mask, INTEGER))
            for mask in sorted(set(masks))
        )
        return Case(branches, Literal(None, INTEGER), INTEGER)


def _is_one_of(copy: Expr, numbers: Sequence[int]) -> Expr:
    return Call("in", (copy, *(Literal(number, BIGINT) for number in numbers)), BOOLEAN)


def _only(call: AggCall, real: int) -> AggCall:
    """The call without the rows that only stand for a group."""
    return replace(call, filter=real)


def _placed(call: AggregateCall, column: Callable[[Expr], int]) -> AggCall:
    """The call, which reads `column`."""
    args = tuple(map(column, call.args))
    condition = None if call.filter is None else column(call.filter)
    order = tuple(SortKey(column(key.expr), key.descending, key.nulls_first) for key in call.order_by)
    return AggCall(call.function, args, call.type, call.distinct, condition, order, call.definition)
