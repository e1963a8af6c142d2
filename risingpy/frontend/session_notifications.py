"""LISTEN, UNLISTEN and NOTIFY of one session: they take effect when its transaction commits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from risingpy.backend import Backend, Notification
from risingpy.errors import FeatureNotSupported, InvalidParameterValue, SqlError
from risingpy.meta.notifications import MOST_WAITING_BYTES, Channels, Mailbox

MOST_CHANNEL_BYTES = 63  # of a channel's name: that of any name in PostgreSQL
MOST_PAYLOAD_BYTES = 7_999
_MOST_BYTES = MOST_WAITING_BYTES // 2  # of a transaction: it alone must not fill its listeners' mailboxes


@dataclass(frozen=True, slots=True)
class _Hearing:
    """LISTEN to a channel, or UNLISTEN; None: of all channels."""

    channel: str | None
    listens: bool


class SessionNotifications:
    """For the session's own thread, but for `has_mail`."""

    def __init__(
        self,
        channels: Channels,
        backend: Backend | None,
        process_id: int,
        database_id: Callable[[], int],
        changed: Callable[[], None],
    ) -> None:
        """`changed` is called when `channels` have changed. Without a `backend` there is nobody who could listen."""
        self._channels = channels
        self._mailbox = None if backend is None else Mailbox(backend)
        self._process_id = process_id
        self._database_id = database_id
        self._changed = changed
        self._heard: dict[tuple[int, str], None] = {}  # databases and channels that the session listens to
        self._changes: list[_Hearing] = []  # of this transaction
        self._said: dict[Notification, None] = {}  # by this transaction; what it says twice is said once
        self._bytes = 0

    @property
    def channels(self) -> tuple[str, ...]:
        """Those of this database to which the session listens; what an open transaction changes comes with COMMIT."""
        database_id = self._database_id()
        return tuple(channel for of, channel in self._heard if of == database_id)

    @property
    def waits_for_commit(self) -> bool:
        """Whether the transaction has said anything, or changed what it listens to."""
        return bool(self._changes or self._said)

    def listen(self, channel: str) -> None:
        """LISTEN."""
        if self._mailbox is None:
            raise FeatureNotSupported("LISTEN needs a connection, to which notifications are sent")
        self._changes.append(_Hearing(channel, listens=True))

    def unlisten(self, channel: str | None) -> None:
        """UNLISTEN; None: all channels."""
        self._changes.append(_Hearing(channel, listens=False))

    def notify(self, channel: str, payload: str) -> None:
        """NOTIFY. Raises InvalidParameterValue as PostgreSQL does, 54000 for more than listeners take."""
        if not channel:
            raise InvalidParameterValue("channel name cannot be empty")
        if len(channel.encode()) > MOST_CHANNEL_BYTES:
            raise InvalidParameterValue("channel name too long")
        if len(payload.encode()) > MOST_PAYLOAD_BYTES:
            raise InvalidParameterValue("payload string too long")
        said = Notification(channel, payload, self._process_id)
        if said in self._said:
            return
        if self._bytes + said.size > _MOST_BYTES:
            hint = "COMMIT after fewer notifications, or say what they are about in a table."
            raise SqlError("too many notifications in the NOTIFY queue", sqlstate="54000", hint=hint)
        self._said[said] = None
        self._bytes += said.size

    # The transaction

    def mark(self) -> Callable[[], None]:
        """A function that undoes, later in this transaction, what comes after this call."""
        changes, said, size = len(self._changes), len(self._said), self._bytes

        def go_back() -> None:
            del self._changes[changes:]
            for late in list(self._said)[said:]:
                del self._said[late]
            self._bytes = size

        return go_back

    def forget(self) -> None:
        """The transaction is undone."""
        self._changes, self._said, self._bytes = [], {}, 0

    def commit(self) -> None:
        """The transaction's writes are durable, and its locks are not released yet. Never raises.

        So whoever waits for a lock of this transaction also notifies after it. The changes come first: a session hears
        what it says itself, if it listens by then.
        """
        changes, said = self._changes, self._said
        self.forget()
        for change in changes:
            self._apply(change)
        if changes:
            self._changed()
        if said:
            self._channels.notify(self._database_id(), said)

    def _apply(self, change: _Hearing) -> None:
        assert self._mailbox is not None or not change.listens
        if change.channel is None:
            self._unlisten(list(self._heard))
            return
        key = self._database_id(), change.channel
        if not change.listens:
            self._unlisten([key])
        elif self._mailbox is not None:
            self._heard[key] = None
            self._channels.listen(*key, self._mailbox)

    def _unlisten(self, keys: Sequence[tuple[int, str]]) -> None:
        for key in keys:
            if key in self._heard and self._mailbox is not None:
                del self._heard[key]
                self._channels.unlisten(*key, self._mailbox)

    # What comes

    @property
    def has_mail(self) -> bool:
        """Whether notifications wait. From any thread."""
        return self._mailbox is not None and not self._mailbox.is_empty

    def take(self) -> Sequence[Notification]:
        """The notifications that wait for this session."""
        return () if self._mailbox is None else self._mailbox.take()

    def close(self) -> None:
        """The session ends."""
        self.forget()
        self._unlisten(list(self._heard))
