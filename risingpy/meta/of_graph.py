"""What epochs need to know of all jobs, found once for each graph: most epochs change a few of a hundred views."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from risingpy.meta.state import MetaState

T = TypeVar("T")


class OfGraph(Generic[T]):
    """A function of a state's jobs, whose last result is kept. For one thread."""

    def __init__(self, find: Callable[[MetaState], T]) -> None:
        self._find = find
        self._known: tuple[int, T] | None = None

    def __call__(self, state: MetaState) -> T:
        if self._known is None or self._known[0] != state.graph_version:
            self._known = state.graph_version, self._find(state)
        return self._known[1]
