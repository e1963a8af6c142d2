"""Finds the parts of a query that occur several times and would keep state in a view, so that each runs only once.

Two parts are equal if their texts are equal, down to each literal. Parts without state (a scan, a filter) are cheaper
to repeat than to share.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from risingpy.optimizer.rewrite import plan_inputs, with_inputs
from risingpy.plan.logical import (
    Aggregate,
    Join,
    Limit,
    LogicalPlan,
    MutualRecursion,
    OverWindow,
    Recursion,
    TopN,
    Values,
)

_STATEFUL = (Aggregate, Join, TopN, OverWindow, Limit)
_ANY = Values((), ())  # stands for an input that has a number

Outline = tuple[type, tuple[int, ...]]  # an operator without what it computes: its class and the numbers of its inputs


def common_subplans(plan: LogicalPlan) -> dict[int, int]:
    """Maps the id() of each occurrence to the number of its part: from 1, by first occurrence, inner parts first.

    A part inside a common part counts once for all occurrences of that one, so it is not common for that alone. The
    result is valid as long as `plan` lives.
    """
    parts = list(_parts(plan))
    if any(isinstance(part, MutualRecursion) for part in parts):
        return _common_recursions(plan)
    if sum(isinstance(part, _STATEFUL) for part in parts) < 2 or any(isinstance(p, Recursion) for p in parts):
        return {}
    shapes = _Shapes()
    shapes.number(plan)
    readers = shapes.readers
    common = [n for n in shapes.inner_first if readers[n] > 1 and n in shapes.stateful]
    numbers = {shape: i for i, shape in enumerate(common, 1)}
    return {at: numbers[shape] for at, shape in shapes.of.items() if shape in numbers}


def _common_recursions(plan: LogicalPlan) -> dict[int, int]:
    """The mutual recursions that occur several times, as one does for each of its items that a query reads.

    Nothing else is common then: what a recursion's step reads must come from its own fragment.
    """
    found: list[list[int]] = []
    known: list[MutualRecursion] = []
    rest = [plan]
    while rest:
        part = rest.pop()
        if not isinstance(part, MutualRecursion):
            rest += plan_inputs(part)
        elif part in known:
            found[known.index(part)].append(id(part))
        else:
            known.append(part)
            found.append([id(part)])
    several = [occurrences for occurrences in found if len(occurrences) > 1]
    return {at: number for number, occurrences in enumerate(several, 1) for at in occurrences}


def _parts(plan: LogicalPlan) -> Iterator[LogicalPlan]:
    rest = [plan]
    while rest:
        part = rest.pop()
        yield part
        rest += plan_inputs(part)


class _Shapes:
    """Numbers the parts of a plan; equal parts have the same number."""

    def __init__(self) -> None:
        self.of: dict[int, int] = {}  # by id()
        self.readers: Counter[int] = Counter()  # how many different parts read a part; a self-join counts as two
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
    """The numbers of the operators with one outline, by their texts.

    The first operator's text is made only when a second one comes: most outlines have just one operator, and a text
    takes time in proportion to the operator's columns.
    """

    def __init__(self) -> None:
        self._first: tuple[LogicalPlan, int] | None = None
        self._by_text: dict[str, int] = {}

    def number(self, plan: LogicalPlan, fresh: int) -> int:
        """The number of the operator with the same text as `plan`; `fresh` if there is none yet."""
        if self._first is None:
            self._first = plan, fresh
            return fresh
        if not self._by_text:
            self._by_text[_text(self._first[0])] = self._first[1]
        return self._by_text.setdefault(_text(plan), fresh)


def _text(plan: LogicalPlan) -> str:
    """The operator without its inputs, as text: values would not tell 0 from -0, or 1.0 from 1.00."""
    return repr(with_inputs(plan, [_ANY] * len(plan_inputs(plan))))
