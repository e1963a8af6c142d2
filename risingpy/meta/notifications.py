"""LISTEN and NOTIFY: who listens to which channel of a database, and what waits for each listener.

A session that notifies waits for nobody: it puts its notifications into the mailbox of each listener. A listener whose
client reads nothing, or whose transaction does not end, has a mailbox that fills. When it is full, its connection is
ended. To leave notifications out would be worse, since a client that listens trusts that it missed none; one that has
lost its connection looks again at whatever the notifications are about.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Sequence

from risingpy.backend import Backend, Notification
from risingpy.errors import SqlError

MOST_WAITING_BYTES = 64 << 20  # for one listener, as `Notification.size` counts


class Mailbox:
    """What waits for one session. Any thread puts; the thread that has the session's connection takes."""

    def __init__(self, backend: Backend) -> None:
        """The `backend` is told when there is something to take, and ended when there is too much."""
        self._backend = backend
        self._guard = threading.Lock()
        self._waiting: deque[Notification] = deque()
        self._bytes = 0
        self._is_full = False

    @property
    def is_empty(self) -> bool:
        return not self._waiting

    def put(self, notifications: Sequence[Notification]) -> None:
        """Adds them, in their order. Never blocks for long."""
        with self._guard:
            if self._is_full:
                return
            was_empty = not self._waiting
            self._waiting.extend(notifications)
            self._bytes += sum(each.size for each in notifications)
            self._is_full = self._bytes > MOST_WAITING_BYTES
            if self._is_full:
                self._waiting.clear()
        if self._is_full:
            self._backend.terminate(
                SqlError(
                    "terminating connection because too many notifications wait for it",
                    sqlstate="53400",
                    hint="Read what the connection receives, and do not stay in a transaction while it listens.",
                )
            )
        elif was_empty:
            self._backend.notified()

    def take(self) -> Sequence[Notification]:
        """All that waits, the oldest first."""
        if not self._waiting:
            return ()
        with self._guard:
            taken, self._waiting, self._bytes = self._waiting, deque(), 0
        return tuple(taken)


class Channels:
    """The listeners of all databases. From any thread."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._listeners: dict[tuple[int, str], dict[Mailbox, None]] = {}  # by database and channel

    @property
    def listened(self) -> frozenset[tuple[int, str]]:
        """The databases and channels to which anybody listens."""
        with self._guard:
            return frozenset(self._listeners)

    def listen(self, database_id: int, channel: str, mailbox: Mailbox) -> None:
        """From now on the mailbox gets what is said on the channel; nothing changes if it does already."""
        with self._guard:
            self._listeners.setdefault((database_id, channel), {})[mailbox] = None

    def unlisten(self, database_id: int, channel: str, mailbox: Mailbox) -> None:
        """From now on it does not; nothing changes if it did not."""
        with self._guard:
            listeners = self._listeners.get((database_id, channel), {})
            listeners.pop(mailbox, None)
            if not listeners:
                self._listeners.pop((database_id, channel), None)

    def notify(self, database_id: int, notifications: Iterable[Notification]) -> None:
        """Gives them to all listeners. Each of them gets those of one call together, and in their order."""
        mail: dict[Mailbox, list[Notification]] = {}
        with self._guard:
            for each in notifications:
                for mailbox in self._listeners.get((database_id, each.channel), ()):
                    mail.setdefault(mailbox, []).append(each)
        for mailbox, own in mail.items():
            mailbox.put(own)
