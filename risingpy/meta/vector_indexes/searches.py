"""Searches of graphs that take long, for those who wait without a thread: one thread makes them.

    wake = searches.ask(search)      # from any thread
    wake()                           # the thread begins; for many searches once
    search.given(found)              # in that thread

Two calls of the library for one graph must not overlap, but one call searches for several vectors, on several cores. So
those who ask while it is busy share the next one.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Found:
    """The keys of the rows nearest to a vector, nearest first, among the rows of an epoch."""

    keys: Sequence[tuple[object, ...]]
    epoch: int


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """For so many rows of an index.

    `given` is called once; None: the graph has no answer. What it returns wakes whoever waits, once for many.
    """

    index_id: int
    vector: bytes
    count: int
    candidates: int
    given: Callable[[Found | None], Callable[[], None]]


FindsEach = Callable[[int, Sequence[bytes], int, int], Sequence[Found | None]]
"""`find(index, vectors, count, candidates)`, an answer for each vector."""


class GraphSearches:
    """Those of a database."""

    def __init__(self, find: FindsEach) -> None:
        self._find = find
        self._changed = threading.Condition()
        self._waiting: list[Search] = []
        self._thread: threading.Thread | None = None
        self._closed = False

    def ask(self, search: Search) -> Callable[[], None]:
        """Never blocks for long. What it returns is to be called afterwards."""
        with self._changed:
            self._waiting.append(search)
        return self._wake

    def close(self) -> None:
        """Whoever still waits gets no answer from a graph."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            thread = self._thread
        if thread is not None:
            thread.join()
        else:
            self._refuse_all()

    def _wake(self) -> None:
        with self._changed:
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._run, name="vector-searches", daemon=True)
                self._thread.start()
            self._changed.notify_all()
            late = self._closed
        if late:
            self._refuse_all()

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._waiting and not self._closed:
                    self._changed.wait()
                if self._closed:
                    break
                asked, self._waiting = self._waiting, []
            alike: dict[tuple[int, int, int], list[Search]] = {}
            for each in asked:
                alike.setdefault((each.index_id, each.count, each.candidates), []).append(each)
            for (index_id, count, candidates), searches in alike.items():
                _give(searches, self._found(index_id, [each.vector for each in searches], count, candidates))
        self._refuse_all()

    def _found(self, index_id: int, vectors: Sequence[bytes], count: int, candidates: int) -> Sequence[Found | None]:
        try:
            return self._find(index_id, vectors, count, candidates)
        except Exception:
            LOG.exception("a search of index %s failed", index_id)
            return [None] * len(vectors)

    def _refuse_all(self) -> None:
        with self._changed:
            asked, self._waiting = self._waiting, []
        _give(asked, [None] * len(asked))


def _give(searches: Sequence[Search], found: Sequence[Found | None]) -> None:
    for wake in {search.given(each) for search, each in zip(searches, found, strict=True)}:
        wake()
