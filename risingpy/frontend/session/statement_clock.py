"""Measures a session's statements, for the server's metrics and for the log of slow ones.

A statement's time begins when its text or its Execute came, and ends with its last row: when the client's next
statement begins, or the series is answered. So it has the time in which the client takes the rows, as PostgreSQL's has.
"""

from __future__ import annotations

import logging
import time

from risingpy.frontend.parser.ast import ParsedStatement
from risingpy.frontend.results import Statement
from risingpy.frontend.session.logged_statements import is_logged
from risingpy.frontend.settings import Settings
from risingpy.frontend.shown_text import shown_text
from risingpy.meta.sessions import SessionRecord
from risingpy.meta.statement_times import StatementTimes

MOST_LOGGED = 8192  # characters: a statement with its rows in it may have millions
UNPARSED = "Unparsed"  # the kind of a text that is no statement

_log = logging.getLogger("risingpy.statements")


class StatementClock:
    """For the session's own thread."""

    def __init__(self, times: StatementTimes, settings: Settings, record: SessionRecord) -> None:
        self._times = times
        self._settings = settings
        self._record = record
        self._came: float | None = None  # time.perf_counter
        self._kind = UNPARSED
        self._text = ""
        self._runs = False

    def text_came(self, text: str) -> None:
        """A text of statements has come, which are not known yet."""
        self.end()
        self._came, self._kind, self._text = time.perf_counter(), UNPARSED, text

    def is_known(self, statement: Statement) -> None:
        """A statement of the text is to be prepared, or runs next."""
        if self._runs:
            self.end()
        if self._came is None:
            self._came = time.perf_counter()
        parsed = statement.statement if isinstance(statement, ParsedStatement) else statement
        self._kind, self._text = type(parsed).__name__, shown_text(statement)

    def runs(self, statement: Statement) -> None:
        """The statement begins to run."""
        self.is_known(statement)
        self._runs = True
        if is_logged(statement, self._settings.get("log_statement")):
            _log.info("statement: %s", self._logged_text(), extra={"facts": self._facts()})

    def ran(self, kind: str, seconds: float, times: int = 1) -> None:
        """A statement has run, all at once, in a session that neither logs statements nor slow ones.

        It has run so many `times` in these seconds.
        """
        self._times.add(kind, seconds, failed=False, times=times)

    def end(self, *, failed: bool = False) -> None:
        """The statement has ended. One that was only prepared does not count, unless that failed."""
        came, self._came = self._came, None
        runs, self._runs = self._runs, False
        if came is None or not (runs or failed):
            return
        seconds = time.perf_counter() - came
        self._times.add(self._kind, seconds, failed=failed)
        least = int(self._settings.get("log_min_duration_statement"))
        if 0 <= least <= seconds * 1000:
            self._log_slow(seconds * 1000)

    def _log_slow(self, milliseconds: float) -> None:
        facts = {"duration_ms": round(milliseconds, 3), **self._facts()}
        _log.warning("duration: %.3f ms  statement: %s", milliseconds, facts["statement"], extra={"facts": facts})

    def _logged_text(self) -> str:
        return self._text if len(self._text) <= MOST_LOGGED else self._text[:MOST_LOGGED] + " …"

    def _facts(self) -> dict[str, object]:
        activity = self._record.activity()
        return {
            "statement": self._logged_text(),
            "process_id": activity.process_id,
            "user": activity.user,
            "application_name": activity.application_name,
            "client_address": activity.client_address,
        }
