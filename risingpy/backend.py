"""A session's connection, as other sessions may end it."""

from __future__ import annotations

from typing import Protocol

from risingpy.errors import SqlError


class Backend(Protocol):
    """Any thread may call these."""

    def cancel(self) -> None:
        """Cancels the running statement, if one runs."""

    def terminate(self, reason: SqlError) -> None:
        """Ends the connection as soon as its statement has stopped, and tells its client the reason."""
