"""Finds the parts of a query that occur several times, and that keep state as a view: they need not run twice.

Two parts are equal if they are written equally, down to each literal. Parts without state (a scan, a filter) are not
worth the detour.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from risingpy.optimizer.logical import (
    Aggregate,
    Join,
    Limit,
    LogicalPlan,
    OverWindow,
    Recursion,
    TopN,
    Values,
)
from risingpy.optimizer.rewrite import plan_inputs, with_inputs

_STATEFUL = (Aggregate, Join, TopN, OverWindow, Limit)
_ANY = Values((), ())  # stands for an input that has a number

Shape = tuple[type, str, tuple[int, ...]]


def common_subplans(plan: LogicalPlan) -> dict[int, int]:
    """By id() of each occurrence, the number of its part, from 1, in the order of the first ones, inner ones first.

    A part within a common one counts once for all its occurrences, so it is no common one by that alone. Valid as
    long as `plan` lives.
    """
    parts = list(_parts(plan))
    if sum(isinstance(part, _STATEFUL) for part in parts) < 2 or any(isinstance(p, Recursion) for p in parts):
        return {}
    shapes = _Shapes()
    shapes.number(plan)
    readers = shapes.readers
    common = [n for n in shapes.inner_first if readers[n] > 1 and n in shapes.stateful]
    numbers = {shape: i for i, shape in enumerate(common, 1)}
    return {at: numbers[shape] for at, shape in shapes.of.items() if shape in numbers}


def _parts(plan: LogicalPlan) -> Iterator[LogicalPlan]:
    yield plan
    for each in plan_inputs(plan):
        yield from _parts(each)


class _Shapes:
    """Numbers the parts of a plan, equal ones alike."""

    def __init__(self) -> None:
        self.of: dict[int, int] = {}  # by id()
        self.readers: Counter[int] = Counter()  # how many different parts read a part, a self-join twice
        self.stateful: set[int] = set()
        self._known: dict[Shape, int] = {}

    @property
    def inner_first(self) -> Iterator[int]:
        return iter(self._known.values())

    def number(self, plan: LogicalPlan) -> int:
        inputs = plan_inputs(plan)
        below = tuple(self.number(each) for each in inputs)
        # As text: 0 and -0, 1.0 and 1.00 are equal as values.
        shape = (type(plan), repr(with_inputs(plan, [_ANY] * len(inputs))), below)
        if shape not in self._known:
            self._known[shape] = len(self._known)
            self.readers.update(below)
            if isinstance(plan, _STATEFUL) or any(each in self.stateful for each in below):
                self.stateful.add(self._known[shape])
        self.of[id(plan)] = self._known[shape]
        return self._known[shape]
