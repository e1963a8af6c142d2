"""The notifications of a session that begins."""

from __future__ import annotations

from risingpy.frontend.session_notifications import SessionNotifications
from risingpy.frontend.statement_context import StatementContext


def notifications_of(session: StatementContext) -> SessionNotifications:
    """LISTEN and NOTIFY of this session, in its database of the moment."""
    channels, startup, changed = session.database.sessions.channels, session.startup, session.settings.bind_again
    own = startup.backend, startup.process_id
    return SessionNotifications(channels, *own, lambda: session.database.database_id, changed)
