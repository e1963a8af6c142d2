"""Cancels the statement of another session, or ends the session. The rules and words are PostgreSQL 15's."""

from __future__ import annotations

import time
from collections.abc import Mapping
from types import MappingProxyType

from risingpy.errors import InsufficientPrivilege
from risingpy.frontend.session_identity import SessionIdentity
from risingpy.frontend.statement_context import StatementContext
from risingpy.meta.sessions import Signal
from risingpy.plan.catalog import Catalog
from risingpy.plan.catalog.roles import SIGNAL_BACKEND_ROLE_ID

_LOOK_SECONDS = 0.02  # how often pg_terminate_backend with a timeout looks whether the session has gone
_WORDS: Mapping[Signal, tuple[str, str]] = MappingProxyType(
    {
        Signal.CANCEL: ("cancel superuser query", "query is being canceled"),
        Signal.TERMINATE: ("terminate superuser process", "process is being terminated"),
    }
)


def send_signal(session: StatementContext, function: str, process_id: int, milliseconds: int) -> bool:
    """pg_cancel_backend and pg_terminate_backend; waits so long for the end of the other session.

    Raises InsufficientPrivilege for a session that is not this role's to end.
    """
    sessions = session.database.sessions
    check_signals(session.identity, session.database.reads.catalog, Signal(function), sessions.user_of(process_id))
    if not sessions.send(Signal(function), process_id):
        session.notice(f"PID {process_id} is not a PostgreSQL backend process", severity="WARNING", sqlstate="01000")
        return False
    end = time.monotonic() + milliseconds / 1000
    while milliseconds and sessions.has(process_id):
        if time.monotonic() > end:
            waited = f"backend with PID {process_id} did not terminate within {milliseconds} milliseconds"
            session.notice(waited, severity="WARNING", sqlstate="01000")
            return False
        session.cancelled.wait(_LOOK_SECONDS)
        session.check()
    return True


def check_signals(identity: SessionIdentity, catalog: Catalog, signal: Signal, user: str | None) -> None:
    """Raises InsufficientPrivilege unless a session may send a signal to one that `user` opened; None: there is none.

    A user that is gone, or has another name by now, counts as a superuser.
    """
    if user is None or identity.is_superuser:
        return
    role = catalog.role_named(user)
    of_superusers, of_others = _WORDS[signal]
    if role is None or role.superuser:
        raise InsufficientPrivilege(f"must be a superuser to {of_superusers}")
    if not {role.role_id, SIGNAL_BACKEND_ROLE_ID} & catalog.inherited(identity.current_id):
        raise InsufficientPrivilege(f"must be a member of the role whose {of_others} or member of pg_signal_backend")
