"""A session's connection, as other sessions may end it, and what they may say to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from risingpy.errors import SqlError

_OVERHEAD_BYTES = 200  # a notification's objects and places in queues


@dataclass(frozen=True, slots=True)
class Notification:
    """What one session, whose process id it has, says to all that listen to a channel."""

    channel: str
    payload: str
    process_id: int

    @property
    def size(self) -> int:
        """How much memory it takes, in bytes, by estimate."""
        return len(self.channel) + len(self.payload) + _OVERHEAD_BYTES


class Backend(Protocol):
    """Any thread may call these."""

    def cancel(self) -> None:
        """Cancels the running statement, if one runs."""

    def terminate(self, reason: SqlError) -> None:
        """Ends the connection as soon as its statement has stopped, and tells its client the reason."""

    def notified(self) -> None:
        """Notifications wait for the session, and none did before: sends them as soon as its client is at rest."""
