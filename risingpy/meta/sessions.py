"""The open sessions: who each client is, what it runs, and how another session's statement ends it.

A session writes its own `SessionRecord`, in its own thread; all threads read it. A reader may see a new text with the
time of the one before it, which no reader of pg_stat_activity can tell from a query of a microsecond earlier or later.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import count

from risingpy.backend import Backend
from risingpy.errors import AdminShutdown
from risingpy.meta.cancellation import CancelFlag, WaitEvent
from risingpy.meta.notifications import Channels
from risingpy.meta.statement_times import StatementTimes


class SessionState(Enum):
    """What a session does; the value is the word in pg_stat_activity."""

    ACTIVE = "active"
    IDLE = "idle"
    IN_TRANSACTION = "idle in transaction"
    IN_FAILED_TRANSACTION = "idle in transaction (aborted)"


class Signal(Enum):
    """What one session may send another; the value is the function's name."""

    CANCEL = "pg_cancel_backend"
    TERMINATE = "pg_terminate_backend"


@dataclass(frozen=True, slots=True)
class SessionActivity:
    """A session at one moment. Times are in seconds since 1970; `process_id` is 0 for one without a connection."""

    process_id: int
    user: str
    database: str
    application_name: str
    client_address: str
    state: SessionState
    query: str
    backend_start: float
    transaction_start: float | None
    query_start: float | None
    state_change: float
    wait: WaitEvent | None


class SessionRecord:
    """What a session lets others know of it. `idle_state` says what it is while it runs nothing."""

    def __init__(
        self,
        *,
        process_id: int,
        user: str,
        database: str,
        client_address: str,
        application_name: Callable[[], str],
        idle_state: Callable[[], SessionState],
        cancelled: CancelFlag,
        backend: Backend | None,
    ) -> None:
        self.process_id = process_id
        self.backend = backend
        self.user = user  # its name when it logged in
        self.database = database  # which a statement may change
        self._client_address = client_address
        self._application_name = application_name
        self._idle_state = idle_state
        self._cancelled = cancelled
        self._query = ""
        self._is_working = False
        self._began = self._changed = time.time()
        self._query_start: float | None = None
        self._transaction_start: float | None = None

    @property
    def is_working(self) -> bool:
        return self._is_working

    def work(self, query: str) -> None:
        """The session begins with a text of its client."""
        self._query = query
        self._query_start = self._changed = time.time()
        if self._transaction_start is None:
            self._transaction_start = self._query_start
        self._is_working = True

    def ran(self, query: str) -> None:
        """The session, at rest, has run a statement, so fast that nobody could see it run."""
        self._query = query
        self._query_start = self._changed = time.time()

    def began(self, query: str) -> None:
        """The session, at rest, has begun a transaction, as fast."""
        self.ran(query)
        self._transaction_start = self._query_start

    def ended(self, query: str) -> None:
        """It has ended one."""
        self.ran(query)
        self._transaction_start = None

    def rest(self) -> None:
        """All requests are answered; does nothing if they already were."""
        if self._is_working:
            self._is_working = False
            self._changed = time.time()
            if self._idle_state() is SessionState.IDLE:
                self._transaction_start = None

    def activity(self) -> SessionActivity:
        state = SessionState.ACTIVE if self._is_working else self._idle_state()
        waits = self._cancelled.waits_for if self._is_working else WaitEvent.CLIENT
        return SessionActivity(
            process_id=self.process_id,
            user=self.user,
            database=self.database,
            application_name=self._application_name(),
            client_address=self._client_address,
            state=state,
            query=self._query,
            backend_start=self._began,
            transaction_start=None if state is SessionState.IDLE else self._transaction_start,
            query_start=self._query_start,
            state_change=self._changed,
            wait=waits,
        )


class Admissions:
    """How many clients were let in, by method, and refused, by SQLSTATE. From any thread."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._outcomes: Counter[tuple[str, str]] = Counter()

    def count(self, outcome: str, reason: str) -> None:
        """One more: ("accepted", method) or ("refused", SQLSTATE)."""
        with self._guard:
            self._outcomes[outcome, reason] += 1

    def outcomes(self) -> Mapping[tuple[str, str], int]:
        """All since the start."""
        with self._guard:
            return dict(self._outcomes)


class Sessions:
    """The records of all open sessions, the times of all statements, and who listens. Any thread may call these."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self.statement_times = StatementTimes()
        self.admissions = Admissions()
        self.channels = Channels()
        self._records: dict[SessionRecord, None] = {}  # in the order in which they were opened
        self._numbers: set[int] = set()  # of the temporary schemas of open sessions

    def add(self, record: SessionRecord) -> None:
        with self._guard:
            self._records[record] = None

    def remove(self, record: SessionRecord) -> None:
        with self._guard:
            self._records.pop(record, None)

    def take_number(self) -> int:
        """The least number from 1 that no open session has taken, for a temporary schema."""
        with self._guard:
            number = next(each for each in count(1) if each not in self._numbers)
            self._numbers.add(number)
        return number

    def give_back(self, number: int) -> None:
        """A session ends that has taken a number."""
        with self._guard:
            self._numbers.discard(number)

    def activities(self) -> Sequence[SessionActivity]:
        """What every session does, in the order in which they were opened."""
        return [record.activity() for record in self._all()]

    def user_of(self, process_id: int) -> str | None:
        """Who opened a session; None if there is no such session that another can end."""
        known = (each for each in self._all() if each.process_id == process_id and each.backend is not None)
        return next((each.user for each in known), None)

    def send(self, signal: Signal, process_id: int) -> bool:
        """Sends the session a signal; False if there is no such session."""
        for record in self._all():
            if record.process_id == process_id and record.backend is not None:
                if signal is Signal.CANCEL:
                    record.backend.cancel()
                else:
                    record.backend.terminate(AdminShutdown("terminating connection due to administrator command"))
                return True
        return False

    def has(self, process_id: int) -> bool:
        return any(record.process_id == process_id for record in self._all())

    def _all(self) -> list[SessionRecord]:
        with self._guard:
            return list(self._records)
