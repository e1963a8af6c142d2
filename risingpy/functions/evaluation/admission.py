"""Lets so many queries compute at a time; the others wait for their turn, in the order in which they came.

    place = admission.place(look)
    with place:                 # waits for its turn
        with place.working():   # computes something: perhaps waits for another turn
            ...

Each query that computes has memory and threads of its own, so that hundreds at a time would have too little of both,
and fail. A query keeps its turn until it ends. But one that has not computed for a while, since its client takes its
rows slowly or has gone to do something else, lends its turn to others: so no client, and no lock that a client holds,
keeps all of them waiting.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import TracebackType

IDLE_SECONDS = 0.05  # after which a query that does not compute lends its turn
_LOOK_SECONDS = 0.1  # how often the first that waits looks whether somebody lends

CalledWhenCancelled = Callable[[Callable[[], None]], AbstractContextManager[None]]
"""Within its block, the function is called when the query is cancelled."""


def _is_never_cancelled(call: Callable[[], None]) -> AbstractContextManager[None]:
    return nullcontext()


class Admission:
    """For all threads."""

    def __init__(self, most: int, now: Callable[[], float] = time.monotonic) -> None:
        """`most`: so many queries compute at a time."""
        self.most = most
        self._now = now
        self._guard = threading.Lock()
        self._having: set[QueryTurn] = set()
        self._waiting: deque[QueryTurn] = deque()
        self._first: QueryTurn | None = None  # of those who wait: it has been called to look whether somebody lends

    def place(self, look: Callable[[], None], cancelled: CalledWhenCancelled = _is_never_cancelled) -> QueryTurn:
        """For one query. `look` raises if it is cancelled, and `cancelled` tells when."""
        return QueryTurn(self, look, cancelled)

    @property
    def waiting(self) -> int:
        """How many wait for a turn."""
        return len(self._waiting)

    @property
    def having(self) -> int:
        """How many have one."""
        return len(self._having)

    def take(self, place: QueryTurn) -> None:
        """Waits for a turn, if the place has none. Raises what its `look` raises."""
        with self._guard:
            if place in self._having:
                place.idle_since = None
                return
            self._waiting.append(place)
            self._give()
            has_turn = place in self._having
        if has_turn:
            return
        try:
            with place.cancelled(place.called.set):
                self._wait(place)
        except BaseException:
            self.give_back(place)
            raise

    def _wait(self, place: QueryTurn) -> None:
        """Until the place has a turn. Only the first in the queue wakes by itself.

        Were it all of them, a few hundred would take the interpreter's lock from short statements all the time.
        """
        while True:
            place.called.clear()
            place.look()
            with self._guard:
                self._give()
                if place in self._having:
                    return
                is_first = self._waiting[0] is place
            place.called.wait(_LOOK_SECONDS if is_first else None)

    def rest(self, place: QueryTurn) -> None:
        """The place does not compute for now."""
        with self._guard:
            place.idle_since = self._now()

    def give_back(self, place: QueryTurn) -> None:
        """It needs no turn any more."""
        with self._guard:
            self._having.discard(place)
            if place in self._waiting:
                self._waiting.remove(place)
            self._give()

    def _give(self) -> None:
        """With the guard held: gives turns to those who have waited longest, and calls the first of the others."""
        while self._waiting and (len(self._having) < self.most or self._lent()):
            place = self._waiting.popleft()
            place.idle_since = None
            self._having.add(place)
            place.called.set()
        first = self._waiting[0] if self._waiting else None
        if first is not None and first is not self._first:
            first.called.set()
        self._first = first

    def _lent(self) -> bool:
        """Takes the turn of one that has not computed for a while. False: all compute."""
        before = self._now() - IDLE_SECONDS
        idle = [each for each in self._having if each.idle_since is not None and each.idle_since < before]
        if idle:
            self._having.remove(min(idle, key=lambda each: each.idle_since or 0.0))
        return bool(idle)


class QueryTurn:
    """A query's place among the others. A context manager for the query's length."""

    def __init__(self, admission: Admission, look: Callable[[], None], cancelled: CalledWhenCancelled) -> None:
        self.called = threading.Event()
        self.look = look
        self.cancelled = cancelled
        self.idle_since: float | None = None
        self._admission = admission

    def __enter__(self) -> QueryTurn:
        self._admission.take(self)
        self._admission.rest(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._admission.give_back(self)

    @contextmanager
    def working(self) -> Iterator[None]:
        """The query computes within the block; if it has lent its turn, it first waits for another one."""
        self._admission.take(self)
        try:
            yield
        finally:
            self._admission.rest(self)
