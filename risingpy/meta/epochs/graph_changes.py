"""Changes of the graph that wait for the end of the running epoch."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future

from risingpy.errors import CannotConnectNow
from risingpy.meta.state import MetaState

GraphChange = Callable[[MetaState], MetaState]


class GraphChanges:
    """In the order in which they came. Whoever owns it holds a lock while calling it."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[GraphChange, Future[MetaState]]] = deque()

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, change: GraphChange) -> Future[MetaState]:
        """The future gets the state after the change, or its error."""
        future: Future[MetaState] = Future()
        self._waiting.append((change, future))
        return future

    def take(self) -> tuple[GraphChange, Future[MetaState]] | None:
        """The next one, which waits no more."""
        return self._waiting.popleft() if self._waiting else None

    def withdraw(self, future: Future[MetaState]) -> bool:
        """Forgets a change; False if it has been taken."""
        for entry in self._waiting:
            if entry[1] is future:
                self._waiting.remove(entry)
                return True
        return False

    def refuse(self, reason: str) -> None:
        """There will be no more epochs: all that wait fail with this."""
        while self._waiting:
            _, future = self._waiting.popleft()
            future.set_exception(CannotConnectNow(reason))
