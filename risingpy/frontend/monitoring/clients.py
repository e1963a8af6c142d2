"""Metrics of sessions and statements."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterator

from prometheus_client.metrics_core import Metric

from risingpy.frontend.monitoring.samples import counter, gauge, histogram, one
from risingpy.meta.database import Database
from risingpy.meta.sessions import SessionState

_INNER_CAPITAL = re.compile(r"(?<!^)(?=[A-Z])")


def client_metrics(database: Database) -> Iterator[Metric]:
    """Of all open sessions, and of all statements since the start."""
    now = time.time()
    sessions = database.sessions.activities()
    admissions = list(database.sessions.admissions.outcomes().items())
    yield counter(
        "logins", "Clients that were accepted, by method, or refused, by SQLSTATE.", admissions, ["outcome", "reason"]
    )
    states = Counter({state: 0 for state in SessionState})
    states.update(session.state for session in sessions)
    by_state = [((state.value,), number) for state, number in states.items()]
    yield gauge("sessions", "Open sessions, by what they do.", by_state, ["state"])
    waits = Counter(s.wait for s in sessions if s.state is SessionState.ACTIVE and s.wait is not None)
    by_event = [((event.value[1],), number) for event, number in waits.items()]
    yield gauge("sessions_waiting", "Active sessions that wait, by the event.", by_event, ["event"])
    begun = [now - session.transaction_start for session in sessions if session.transaction_start is not None]
    yield gauge("oldest_transaction_seconds", "The age of the oldest transaction.", one(max([0.0, *begun])))
    times = database.sessions.statement_times
    durations = {_words(kind): found for kind, found in times.durations().items()}
    yield histogram("statement_seconds", "How long statements took, with their rows.", "kind", durations)
    failed = [((_words(kind),), number) for kind, number in times.failed().items()]
    yield counter("statement_failures", "Statements that failed or were cancelled.", failed, ["kind"])


def _words(kind: str) -> str:
    """The words of a class: `CreateTable` is "create table"."""
    return _INNER_CAPITAL.sub(" ", kind).lower()
