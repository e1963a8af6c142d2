"""Caches what is derived from an operator and all below it. A plan is immutable, so the result stays true.

Rules ask the same question at each level of a plan. Without the cache that takes time in proportion to the square of
the plan's depth, and exponential time where an input occurs twice.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Generic, TypeVar

from risingpy.plan.logical import LogicalPlan

T = TypeVar("T")


class OncePerOperator(Generic[T]):
    """A function of a plan whose results are kept as long as the operator lives; use it as a decorator.

    The cache identifies operators by id(): comparing plans would cost as much as the cache saves. Two threads may
    compute the same result, but never get another operator's.
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
        # The id may already belong to a new operator when the callback runs: its entry stays.
        self._kept[key] = weakref.ref(plan, lambda gone: self._forget(key, gone)), result
        return result

    def _forget(self, key: int, gone: weakref.ref[LogicalPlan]) -> None:
        kept = self._kept.get(key)
        if kept is not None and kept[0] is gone:
            self._kept.pop(key, None)
