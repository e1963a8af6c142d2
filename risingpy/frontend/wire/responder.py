"""The server's half of the protocol: writes a session's answers as messages to a channel. No I/O.

Every file that answers a message gets the `Responder` of its connection, with the session and the channel to its
client. The channel buffers output, and flushes it before the connection waits for its client.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Protocol

from risingpy.errors import InternalError, OutOfMemory, SqlError, as_out_of_range
from risingpy.frontend.results import CommandTag, Notice
from risingpy.frontend.wire import server_messages
from risingpy.frontend.wire.client_messages import CopyMessage, Message
from risingpy.frontend.wire.endings import Fatal, Hangup
from risingpy.frontend.wire.session_protocol import Session
from risingpy.frontend.wire.short_path.series import Repeats

_log = logging.getLogger(__name__)


class Channel(Protocol):
    """The client, as the responder sees it. Every method may raise Hangup, Fatal or ConnectionError."""

    def next_message(self) -> Message | None:
        """Waits for the client's next message. None: the client rests, and this thread should not wait for it."""

    def next_copy_message(self, check: Callable[[], None]) -> CopyMessage:
        """Waits for the next message of the client's COPY; calls `check` all the time, which may raise an error."""

    def sync_follows(self) -> bool:
        """Whether the client's Sync is next; also False if nothing more has arrived yet."""

    def repeats(self, most: int, answered: Repeats | None) -> Repeats | None:
        """The client's next messages, if they are one statement again and again: at most so often. None: they differ.

        Only what has arrived, after an Execute. They stay what comes next, until they are told to be `answered`.
        """

    def skip_to_sync(self) -> None:
        """Drops all that the client sends, up to its Sync."""

    def begin_copy(self) -> None:
        """The server has told the client to send the data of its COPY."""

    def end_copy(self) -> None:
        """Drops the data of a COPY that the client still sends."""

    def rest(self, forget_cancel: Callable[[], None]) -> None:
        """All requests are answered; calls `forget_cancel` before any thread can cancel the next one."""

    def check_ending(self) -> None:
        """Raises Fatal if the server ends the connection."""

    def write(self, data: bytes | memoryview) -> object:
        """Writes to the output buffer."""

    def flush(self) -> None:
        """Sends all that was written."""


class Responder:
    """Answers one client from one session."""

    def __init__(self, session: Session, channel: Channel) -> None:
        self.session = session
        self.channel = channel
        self.write = channel.write
        session.speaks_through(self.send_at_once)

    def guarded(self, work: Callable[[], None]) -> bool:
        """Runs a statement's work. If it fails, tells the client and returns False."""
        try:
            work()
            return True
        except (Hangup, Fatal, ConnectionError):
            raise
        except Exception as error:
            self.fail_statement(error)
            return False

    def fail_statement(self, error: Exception) -> None:
        """Sends ErrorResponse, and marks the transaction as failed. Raises Fatal if the server ends the connection."""
        self.session.fail()
        self.channel.check_ending()
        self.write(server_messages.error_response(as_sql_error(error)))

    def finish_series(self) -> None:
        """Sync: commit what is implicit, then ReadyForQuery."""
        try:
            self.session.sync()
        except Exception as error:
            self.fail_statement(error)
        self.ready()

    def ready(self) -> None:
        """Sends ReadyForQuery, after the notices, parameter changes and notifications of the series that it ends."""
        self.send_notices()
        for name, value in self.session.drain_parameter_changes().items():
            self.write(server_messages.parameter_status(name, value))
        for notification in self.session.drain_notifications():
            self.write(server_messages.notification_response(notification))
        self.channel.rest(self.session.forget_cancel)
        self.write(server_messages.ready_for_query(self.session.transaction_status()))
        self.channel.flush()

    def send_notices(self) -> None:
        for notice in self.session.drain_notices():
            self.write(server_messages.notice_response(notice))

    def send_at_once(self, notice: Notice) -> None:
        """Sends a notice while the statement goes on."""
        self.write(server_messages.notice_response(notice))
        self.channel.flush()

    def complete(self, tag: CommandTag, sent: int) -> None:
        """Sends CommandComplete, after the command's notices. `sent`: how many rows were sent or received."""
        self.send_notices()
        self.write(server_messages.command_complete(tag.text(sent)))

    def check_cancelled(self) -> None:
        """Raises QueryCanceled if the statement is cancelled: for steps outside of the session."""
        self.session.check()


def as_sql_error(error: Exception) -> SqlError:
    """The exception as an error for the client. One that is no SqlError is a defect, and is logged."""
    if isinstance(error, SqlError):
        return error
    if isinstance(error, MemoryError):
        return OutOfMemory("out of memory", hint="Have less in memory at a time.")
    number = as_out_of_range(error)
    if number is not None:
        return number
    _log.error("a statement failed with an internal error", exc_info=error)
    return InternalError(f"internal error: {type(error).__name__}: {error}")
