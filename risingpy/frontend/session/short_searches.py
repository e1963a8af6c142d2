"""SELECTs of the rows nearest to a vector that an index finds, answered at once.

A search that takes the loop no longer than a fraction of a millisecond is made at once, if the graph is at rest and has
all of the newest epoch. A thread makes the others (`Awaits`), on several cores; what it has found is the answer unless
the relation has changed meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from risingpy.batch import Datums, NearestRead
from risingpy.errors import SqlError
from risingpy.frontend.command import PlainQuery
from risingpy.frontend.results import TakesLonger
from risingpy.frontend.session.short_selects import ShortSelect
from risingpy.frontend.session.statement_clock import StatementClock
from risingpy.frontend.session.waits import SearchWait

_MOST_TRIES = 3  # while the relation changes all the time; then its rows are compared in one snapshot

if TYPE_CHECKING:
    from risingpy.frontend.session.context import SessionContext


class SessionShortSearch(ShortSelect):
    """A `ShortRead`."""

    def __init__(
        self, context: SessionContext, clock: StatementClock, near: NearestRead, plain: PlainQuery, text: str
    ) -> None:
        super().__init__(context, clock, near.relation, plain, text)
        self.finds_one = False
        self._near = near
        self._indexes = context.database.vector_indexes
        self._wait: SearchWait | None = None
        self._began = 0.0

    def rows(self, parameters: Sequence[object | None]) -> Sequence[Datums]:
        """See `ShortRead`."""
        self._began = time.perf_counter()
        self._look_at_session()
        _, view = self._newest()
        try:
            found = self._near.rows(view, parameters, self._find)
        except (SqlError, OverflowError):  # the view has just been released; the long way has the error of a vector
            raise TakesLonger from None
        if found is None:
            raise TakesLonger
        self._ran(self._began)
        return found

    def _find(self, index_id: int, vector: bytes, count: int) -> Sequence[tuple[object, ...]] | None:
        candidates = int(self._context.settings.get("hnsw.ef_search"))
        asked, tries = (index_id, vector, count, candidates), 0
        wait, self._wait = self._wait, None
        if wait is not None and wait.asked == asked and wait.found is not None:
            self._began, tries = wait.began, wait.tries + 1
            if self._indexes.is_as_of(index_id, wait.found.epoch):
                return wait.found.keys
        if not self._indexes.takes_long(index_id, candidates):
            found = self._indexes.nearest_now(index_id, vector, count, candidates)
            if found is not None:
                return found
        if tries == _MOST_TRIES:
            return None
        self._wait = SearchWait(self._context, asked, self._began, tries)
        raise self._wait.awaited()
