"""The rows of a SELECT between FROM and the select list: groups, windows, and where set-returning functions stand.

    SELECT unnest(tags), count(*) FROM t GROUP BY 1          the elements are grouped
    =>  Aggregate(key unnest; count)
          ProjectSet(unnest(tags); t)

    SELECT g, generate_series(1, count(*)) FROM t GROUP BY g     the groups are expanded
    =>  ProjectSet(generate_series(1, $1))
          Aggregate(key g; count; t)

As in PostgreSQL, a call is computed where it is needed first: below the groups if a key is made of its elements, below
the windows if a PARTITION BY or ORDER BY is, else above both. Calls that are equal are one, wherever they stand. So a
call above the groups reads the keys that calls below them became: `generate_series(1, generate_series(1, n))` beside
`GROUP BY generate_series(1, n)` has one call above the groups.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from risingpy.errors import GroupingError, WindowError
from risingpy.frontend.binder.plans import expanded_rows, project_set
from risingpy.frontend.binder.query.grouping import Grouping
from risingpy.frontend.binder.query.grouping_sets import GroupKey
from risingpy.frontend.binder.scope.aggregates import AggregateCalls
from risingpy.frontend.binder.scope.windows import WindowCalls, is_window, place_windows
from risingpy.optimizer.rewrite import is_volatile
from risingpy.plan.expression_trees import transform, walk
from risingpy.plan.expressions import Expr, InputRef
from risingpy.plan.logical import Filter, LogicalPlan, ProjectSet

Over = Callable[[Expr], Expr]  # from expressions over the FROM clause to expressions over other rows


class SelectedRows:
    """`plan` is the rows as they are now; `levels` is how many ProjectSets are its top.

    Expressions are bound over the FROM clause, with the select list's set-returning functions as ProjectSets over it
    (`place_sets`). `over` brings them to `plan`.
    """

    def __init__(self, bound: LogicalPlan, levels: int) -> None:
        """`bound` has `levels` such ProjectSets as its top; they are taken off, to be placed where they are needed."""
        self.plan = expanded_rows(bound, levels)
        self.levels = 0
        self._width = len(self.plan.schema)  # an element is an InputRef from here on
        self._lists: dict[int, Expr] = {}  # of each element, the list that it is of
        self._names: dict[int, str] = {}
        self._same: dict[int, int] = {}  # an element of a call that another one equals, and the element of that
        self._places: dict[int, Expr] = {}  # where `plan` has the elements that it has
        self._grouped: dict[int, Expr] = {}  # where the elements that are grouped were below the groups
        self._key: Callable[[Expr], Expr | None] = _no_key
        self._items: Mapping[int, Expr] = {}  # items of the select list that are keys, over the groups
        self._over_columns: Over = _itself
        self._over_windows: Over = _itself
        self._collect(bound, levels)

    def _collect(self, bound: LogicalPlan, levels: int) -> None:
        numbers: dict[Expr, int] = {}
        for level in reversed(range(levels)):
            placed = expanded_rows(bound, level)
            assert isinstance(placed, ProjectSet)
            for at, each in enumerate(placed.lists, len(placed.input.schema) + 1):
                unified = self.unified(each)
                if not is_volatile(unified) and numbers.setdefault(unified, at) != at:
                    self._same[at] = numbers[unified]
                else:
                    self._lists[at], self._names[at] = unified, placed.schema[at].name

    # -- the stages ---------------------------------------------------------------------------------------------------

    def group(self, sets: Sequence[Sequence[GroupKey]], collected: AggregateCalls) -> None:
        """GROUP BY the grouping sets."""
        needed = self._closure(self._needed(key.expr for keys in sets for key in keys))
        for part in (part for index in needed for part in walk(self._lists[index])):
            if is_window(part):
                raise WindowError("window functions are not allowed in GROUP BY")
            if isinstance(part, InputRef) and part.index < 0:
                raise GroupingError("aggregate functions are not allowed in GROUP BY")
        self._expand(needed)
        keys = [[replace(key, expr=self.over(key.expr)) for key in each] for each in sets]
        grouping = Grouping(self.plan, keys, collected)
        self._grouped, self._places = self._places, {}
        self._over_columns, self._items = grouping.over_groups, grouping.items
        known = {key.expr for each in keys for key in each}

        def key_of(expr: Expr) -> Expr | None:
            """The group's value of an expression with elements, if it is a key."""
            elements = [self._number(part) for part in walk(expr) if self._is_element(part)]
            if not elements or not all(number in self._grouped for number in elements):
                return None
            below = transform(expr, lambda e: self._grouped[self._number(e)] if self._is_element(e) else None)
            return grouping.over_groups(below) if below in known else None

        self._key = key_of
        self.plan, self.levels = grouping.plan, 0

    def check(self, exprs: Iterable[Expr]) -> None:
        """Raises GroupingError for the first column in `exprs` that is not grouped."""

        def look(part: Expr) -> Expr | None:
            if self._key(part) is not None:
                return part
            if self._is_element(part):
                self.check([self._lists[self._number(part)]])
                return part
            if self._reads_elements(part):
                return None
            self._over_columns(part)
            return part

        for expr in exprs:
            transform(expr, look)

    def having(self, condition: Expr) -> None:
        """The groups for which it holds."""
        self.plan = Filter(self.plan, self.over(condition))

    def place_windows(self, windows: WindowCalls) -> None:
        """The windows, which see each row once, however many elements it will have."""
        if not windows.calls:
            return
        read = [expr for call in windows.calls for expr in call.exprs]
        self._expand(self._closure(self._needed(read)))
        self.plan, self._over_windows = place_windows(self.plan, windows, self.over)
        self.levels = 0

    def expand(self, exprs: Iterable[Expr]) -> None:
        """The elements that `exprs` read, and those that nothing reads: a function of them became a constant."""
        needed = self._closure(self._needed(exprs))
        known = {*needed, *self._places, *self._grouped}
        self._expand(self._closure([*needed, *(index for index in self._lists if index not in known)]))

    def over(self, expr: Expr) -> Expr:
        """`expr` over `plan`. Raises GroupingError for a column that is not grouped."""
        if not self._lists:
            return self._over_windows(self._over_columns(expr))
        return self._over_windows(transform(expr, self._replacement))

    def item(self, number: int, expr: Expr) -> Expr:
        """`expr`, which is an item of the select list, over `plan`."""
        key = self._items.get(number)
        return self.over(expr) if key is None else key

    # -- elements -----------------------------------------------------------------------------------------------------

    def _is_element(self, expr: Expr) -> bool:
        return isinstance(expr, InputRef) and expr.index >= self._width

    def _number(self, element: Expr) -> int:
        assert isinstance(element, InputRef)
        return self._same.get(element.index, element.index)

    def unified(self, expr: Expr) -> Expr:
        """`expr` with one element for those of equal calls: expressions that are equal so have equal values."""
        return transform(expr, lambda e: InputRef(self._number(e), e.type) if self._is_element(e) else None)

    def _reads_elements(self, expr: Expr) -> bool:
        return any(self._is_element(part) for part in walk(expr))

    def _replacement(self, expr: Expr) -> Expr | None:
        key = self._key(expr)
        if key is not None:
            return key
        if self._is_element(expr):
            return self._places[self._number(expr)]
        return None if self._reads_elements(expr) else self._over_columns(expr)

    def _needed(self, exprs: Iterable[Expr]) -> dict[int, None]:
        """The elements that `exprs` read, beside those in keys."""
        found: dict[int, None] = {}

        def look(part: Expr) -> Expr | None:
            if self._key(part) is not None:
                return part
            if self._is_element(part):
                found[self._number(part)] = None
            return None

        for expr in exprs if self._lists else ():
            transform(expr, look)
        return found

    def _closure(self, elements: Iterable[int]) -> dict[int, int]:
        """The level of each of the elements that `plan` has not, and of those in the arguments of their calls."""
        levels: dict[int, int] = {}

        def level_of(index: int) -> int:
            if index not in levels:
                inner = (each for each in self._needed([self._lists[index]]) if each not in self._places)
                levels[index] = max((level_of(each) + 1 for each in inner), default=0)
            return levels[index]

        for index in elements:
            if index not in self._places:
                level_of(index)
        return levels

    def _expand(self, levels: dict[int, int]) -> None:
        """Puts a ProjectSet for each level on top of `plan`."""
        self.levels = max(levels.values(), default=-1) + 1
        for level in range(self.levels):
            mine = sorted(index for index, own in levels.items() if own == level)
            lists = [self.over(self._lists[index]) for index in mine]
            self.plan, number = project_set(self.plan, lists, [self._names[index] for index in mine])
            for at, index in enumerate(mine, number + 1):
                self._places[index] = InputRef(at, self.plan.schema[at].type)


def _itself(expr: Expr) -> Expr:
    return expr


def _no_key(expr: Expr) -> Expr | None:
    return None
