"""Finds the parts of a query that occur several times, and that keep state as a view: they need not run twice.

Two parts are equal if they are written equally, down to each literal. Parts without state (a scan, a filter) are not
worth the detour.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from risingpy.optimizer.rewrite import plan_inputs, with_inputs
from risingpy.plan.logical import Aggregate, Join, Limit, LogicalPlan, OverWindow, Recursion, TopN, Values

_STATEFUL = (Aggregate, Join, TopN, OverWindow, Limit)
_ANY = Values((), ())  # stands for an input that has a number

Outline = tuple[type, tuple[int, ...]]  # an operator without what it computes: its class and the numbers of its inputs


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
    rest = [plan]
    while rest:
        part = rest.pop()
        yield part
        rest += plan_inputs(part)


class _Shapes:
    """Numbers the parts of a plan, equal ones alike."""

    def __init__(self) -> None:
        self.of: dict[int, int] = {}  # by id()
        self.readers: Counter[int] = Counter()  # how many different parts read a part, a self-join twice
        self.stateful: set[int] = set()
        self._alike: dict[Outline, _Alike] = {}
        self._count = 0

    @property
    def inner_first(self) -> Iterator[int]:
        return iter(range(self._count))

    def number(self, plan: LogicalPlan) -> int:
        below = tuple(self.number(each) for each in plan_inputs(plan))
        number = self._alike.setdefault((type(plan), below), _Alike()).number(plan, self._count)
        if number == self._count:
            self._count += 1
            self.readers.update(below)
            if isinstance(plan, _STATEFUL) or any(each in self.stateful for each in below):
                self.stateful.add(number)
        self.of[id(plan)] = number
        return number


class _Alike:
    """The numbers of the operators of one outline, by their texts.

    The first operator's text is made when a second one comes: most never meet another of their outline, and a text
    takes time in proportion to the operator's columns.
    """

    def __init__(self) -> None:
        self._first: tuple[LogicalPlan, int] | None = None
        self._by_text: dict[str, int] = {}

    def number(self, plan: LogicalPlan, fresh: int) -> int:
        """The number of the operator that is written as `plan` is; `fresh` if there is none yet."""
        if self._first is None:
            self._first = plan, fresh
            return fresh
        if not self._by_text:
            self._by_text[_text(self._first[0])] = self._first[1]
        return self._by_text.setdefault(_text(plan), fresh)


def _text(plan: LogicalPlan) -> str:
    """The operator without its inputs; as text, for 0 and -0, 1.0 and 1.00 are equal as values."""
    return repr(with_inputs(plan, [_ANY] * len(plan_inputs(plan))))
