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
from contextlib import contextmanager
from types import TracebackType

IDLE_SECONDS = 0.05  # after which a query that does not compute lends its turn
_LOOK_SECONDS = 0.1  # how often one that waits looks whether it is cancelled, and whether somebody lends


class Admission:
    """For all threads."""

    def __init__(self, most: int, now: Callable[[], float] = time.monotonic) -> None:
        """`most`: so many queries compute at a time."""
        self.most = most
        self._now = now
        self._guard = threading.Lock()
        self._having: set[QueryTurn] = set()
        self._waiting: deque[QueryTurn] = deque()

    def place(self, look: Callable[[], None]) -> QueryTurn:
        """For one query. `look` raises if it is cancelled."""
        return QueryTurn(self, look)

    @property
    def waiting(self) -> int:
        """How many wait for a turn."""
        return len(self._waiting)

    @property
    def having(self) -> int:
        """How many have one."""
        return len(self._having)

    def take(self, place: QueryTurn, look: Callable[[], None]) -> None:
        """Waits for a turn, if the place has none. Raises what `look` raises."""
        with self._guard:
            if place in self._having:
                place.idle_since = None
                return
            place.called.clear()
            self._waiting.append(place)
            self._give()
        try:
            while not place.called.wait(_LOOK_SECONDS):
                look()
                with self._guard:
                    self._give()
        except BaseException:
            self.give_back(place)
            raise

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
        """With the guard held: gives turns to those who have waited longest."""
        while self._waiting and (len(self._having) < self.most or self._lent()):
            place = self._waiting.popleft()
            place.idle_since = None
            self._having.add(place)
            place.called.set()

    def _lent(self) -> bool:
        """Takes the turn of one that has not computed for a while. False: all compute."""
        before = self._now() - IDLE_SECONDS
        idle = [each for each in self._having if each.idle_since is not None and each.idle_since < before]
        if idle:
            self._having.remove(min(idle, key=lambda each: each.idle_since or 0.0))
        return bool(idle)


class QueryTurn:
    """A query's place among the others. A context manager for the query's length."""

    def __init__(self, admission: Admission, look: Callable[[], None]) -> None:
        self.called = threading.Event()
        self.idle_since: float | None = None
        self._admission = admission
        self._look = look

    def __enter__(self) -> QueryTurn:
        self._admission.take(self, self._look)
        self._admission.rest(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._admission.give_back(self)

    @contextmanager
    def working(self) -> Iterator[None]:
        """The query computes within the block; if it has lent its turn, it first waits for another one."""
        self._admission.take(self, self._look)
        try:
            yield
        finally:
            self._admission.rest(self)
