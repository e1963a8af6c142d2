"""The server's half of the protocol: what is said of a session's answers, to whatever carries bytes. No I/O.

Every file that answers a message gets the `Responder` of its connection: the session, and how its client is told.
Output is buffered by the channel, and flushed before the connection waits for its client.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Protocol

from risingpy.errors import InternalError, OutOfMemory, SqlError, as_out_of_range
from risingpy.frontend.results import CommandTag
from risingpy.frontend.wire import server_messages
from risingpy.frontend.wire.client_messages import CopyMessage, Message
from risingpy.frontend.wire.endings import Fatal, Hangup
from risingpy.frontend.wire.session_protocol import Session

_log = logging.getLogger(__name__)


class Channel(Protocol):
    """The client as who answers it sees it. All of it raises Hangup, Fatal and ConnectionError: the end."""

    def next_message(self) -> Message:
        """Waits for the client's next message."""

    def next_copy_message(self, check: Callable[[], None]) -> CopyMessage:
        """Waits for the client's next message of its COPY; `check` is called all along, and may raise."""

    def sync_follows(self) -> bool:
        """Whether the client's Sync is next. False, too, if nothing more has come yet."""

    def skip_to_sync(self) -> None:
        """What the client sends is to be dropped up to its Sync."""

    def begin_copy(self) -> None:
        """The client has been told that it may send its COPY."""

    def end_copy(self) -> None:
        """What the client still sends of its COPY is to be dropped."""

    def rest(self, forget_cancel: Callable[[], None]) -> None:
        """All is answered; `forget_cancel` is called before anybody can cancel what comes next."""

    def check_ending(self) -> None:
        """Raises Fatal if the server ends the connection."""

    def write(self, data: bytes | memoryview) -> object:
        """Says something, sooner or later."""

    def flush(self) -> None:
        """Says all that was written."""


class Responder:
    """Answers one client out of one session."""

    def __init__(self, session: Session, channel: Channel) -> None:
        self.session = session
        self.channel = channel
        self.write = channel.write

    def guarded(self, work: Callable[[], None]) -> bool:
        """Runs a statement's work; False if it failed, and the client has been told."""
        try:
            work()
            return True
        except (Hangup, Fatal, ConnectionError):
            raise
        except Exception as error:
            self.fail_statement(error)
            return False

    def fail_statement(self, error: Exception) -> None:
        """ErrorResponse, and the transaction has failed. While the server ends the connection: that instead."""
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
        """ReadyForQuery, after what the client is told of the series that ends with it."""
        self.send_notices()
        for name, value in self.session.drain_parameter_changes().items():
            self.write(server_messages.parameter_status(name, value))
        self.channel.rest(self.session.forget_cancel)
        self.write(server_messages.ready_for_query(self.session.transaction_status()))
        self.channel.flush()

    def send_notices(self) -> None:
        for notice in self.session.drain_notices():
            self.write(server_messages.notice_response(notice))

    def complete(self, tag: CommandTag, sent: int) -> None:
        """CommandComplete, after the notices of the command. `sent`: how many rows went, or came."""
        self.send_notices()
        self.write(server_messages.command_complete(tag.text(sent)))

    def check_cancelled(self) -> None:
        """Between the steps of a statement, where the session would not notice: raises QueryCanceled."""
        self.session.check()


def as_sql_error(error: Exception) -> SqlError:
    """What the client is told of an exception; one that is no SqlError is a defect, and is logged."""
    if isinstance(error, SqlError):
        return error
    if isinstance(error, MemoryError):
        return OutOfMemory("out of memory", hint="Have less in memory at a time.")
    number = as_out_of_range(error)
    if number is not None:
        return number
    _log.error("a statement failed with an internal error", exc_info=error)
    return InternalError(f"internal error: {type(error).__name__}: {error}")
