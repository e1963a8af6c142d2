"""What is found out about an operator's whole input is found out once: a plan is immutable.

Rules ask the same of a plan at each of its levels. Computed anew each time, that would take time in proportion to the
square of a plan's depth, and exponential time where an input stands twice in it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Generic, TypeVar

from risingpy.plan.logical import LogicalPlan

T = TypeVar("T")


class OncePerOperator(Generic[T]):
    """A function of a plan whose results are kept as long as the operator lives; use it as a decorator.

    Operators are told apart by identity: comparing plans costs as much as what is saved. Threads may compute
    one result twice, but never get another operator's.
    """

    def __init__(self, compute: Callable[[LogicalPlan], T]) -> None:
        self._compute = compute
        self._kept: dict[int, tuple[weakref.ref[LogicalPlan], T]] = {}
        self.__doc__ = compute.__doc__

    def __call__(self, plan: LogicalPlan) -> T:
        key = id(plan)
        kept = self._kept.get(key)
        if kept is not None and kept[0]() is plan:
            return kept[1]
        result = self._compute(plan)
        # A late callback finds another operator's entry under a reused id, and leaves it.
        self._kept[key] = weakref.ref(plan, lambda gone: self._forget(key, gone)), result
        return result

    def _forget(self, key: int, gone: weakref.ref[LogicalPlan]) -> None:
        kept = self._kept.get(key)
        if kept is not None and kept[0] is gone:
            self._kept.pop(key, None)
