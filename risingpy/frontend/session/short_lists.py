"""SELECTs of a few rows by the first columns of a key, or of an index's, answered at once: see `short_reads`.

Rows that the log has, and no epoch yet, may be among those that are asked for: then they wait for the epoch, without a
thread.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from risingpy.batch import Datums, PrefixRead
from risingpy.errors import SqlError
from risingpy.frontend.command import PlainQuery
from risingpy.frontend.results import TakesLonger
from risingpy.frontend.session.short_selects import ShortSelect
from risingpy.frontend.session.statement_clock import StatementClock
from risingpy.plan.catalog import StoredRelation

if TYPE_CHECKING:
    from risingpy.frontend.session.context import SessionContext


class SessionShortList(ShortSelect):
    """A `ShortRead`. `relation` is the one that the statement names: an index is as new as its table."""

    def __init__(
        self,
        context: SessionContext,
        clock: StatementClock,
        listed: PrefixRead,
        relation: StoredRelation,
        plain: PlainQuery,
        text: str,
    ) -> None:
        super().__init__(context, clock, relation, plain, text)
        self.finds_one = False
        self._listed = listed

    def rows(self, parameters: Sequence[object | None]) -> Sequence[Datums]:
        """See `ShortRead`."""
        began = time.perf_counter()
        self._look_at_session()
        _, view = self._newest()
        try:
            found = self._listed.rows(view, parameters)
        except (SqlError, OverflowError):  # the view has just been released; a value that no key has
            raise TakesLonger from None
        if found is None:
            raise TakesLonger
        self._ran(began)
        return found
