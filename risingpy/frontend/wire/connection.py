"""One connection: reads messages, keeps the protocol's state, answers errors. A thread runs it (server.py).

The rules of the loop:

1. An error in an extended-protocol message: ErrorResponse, then everything is dropped until Sync.
2. A Query is answered with exactly one ReadyForQuery, whatever happens.
3. Bytes that are no message: FATAL 08P01, and the connection ends. Half a message: it ends silently.
4. A stray CopyData, CopyDone or CopyFail is dropped: a COPY that failed leaves them behind.
5. Output is buffered, and flushed before the connection waits for its client.
"""

from __future__ import annotations

import contextlib
import logging
import secrets
import select
import socket
import threading
import time
from collections.abc import Callable
from io import BufferedReader
from typing import TYPE_CHECKING, BinaryIO

from buenavista.postgres import BuenaVistaHandler, BVContext, ClientCommand

from risingpy.errors import InternalError, OutOfMemory, ProtocolViolation, SqlError, as_out_of_range
from risingpy.frontend.wire import messages
from risingpy.frontend.wire.endings import Fatal, Hangup
from risingpy.frontend.wire.extended_query import ExtendedQuery
from risingpy.frontend.wire.limits import MAX_CONTROL_BYTES
from risingpy.frontend.wire.payload import Payload
from risingpy.frontend.wire.session_protocol import Session, StartupParameters
from risingpy.frontend.wire.simple_query import run_simple_query
from risingpy.frontend.wire.startup import PARAMETER_STATUS, CancelRequest, StartupMessage, read_startup

if TYPE_CHECKING:
    from risingpy.frontend.wire.server import _Listener

_log = logging.getLogger(__name__)

_FUNCTION_CALL = b"F"
_COPY_LEFTOVERS = frozenset((b"d", b"c", b"f"))
_LARGE = frozenset((ClientCommand.QUERY, ClientCommand.PARSE, ClientCommand.BIND, b"d", b"f", _FUNCTION_CALL))
_EXTENDED = frozenset(
    (ClientCommand.PARSE, ClientCommand.BIND, ClientCommand.DESCRIBE, ClientCommand.EXECUTE, ClientCommand.CLOSE)
)
_SMALL = frozenset((ClientCommand.SYNC, ClientCommand.FLUSH, ClientCommand.TERMINATE, b"c", b"p")) | _EXTENDED
_WAIT_MILLISECONDS = 100  # how often a COPY that waits for its client looks whether it was cancelled
_FAREWELL_SECONDS = 0.2
_FAREWELL_READS = 16
_READ_BYTES = 1 << 20  # a length is only a claim: memory is taken as the bytes arrive


class Context(BVContext):  # type: ignore[misc]  # buenavista has no types
    """The protocol's state of one connection, over buenavista's: typed, and with a key that cannot be guessed."""

    session: Session

    def __init__(self, session: Session, process_id: int, secret_key: int) -> None:
        super().__init__(session, None, {})
        self.process_id = process_id
        self.secret_key = secret_key
        self.authenticated = True

    def transaction_status(self) -> bytes:
        return self.session.transaction_status()


class Connection(BuenaVistaHandler):  # type: ignore[misc]
    """Handles one client from startup to goodbye."""

    server: _Listener
    request: socket.socket
    rfile: BufferedReader
    wfile: BinaryIO
    rbufsize = wbufsize = 1 << 16

    def setup(self) -> None:
        super().setup()
        self.ctx: Context | None = None
        self.ending: SqlError | None = None
        self.busy = False
        self.started = self.idle_since = time.monotonic()
        self._state = threading.Lock()
        self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
        self.request.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, True)

    def handle(self) -> None:
        try:
            self.server.register(self)
            ctx = self._start()
            if ctx is not None:
                self._serve(ctx)
        except (Hangup, ConnectionError, TimeoutError):
            pass
        except Fatal as end:
            self._say_fatal(end.error)
        except SqlError as error:
            self._say_fatal(error)
        except Exception as error:
            _log.exception("a connection failed")
            self._say_fatal(InternalError(f"internal error: {error}"))
        finally:
            self._end()

    def finish(self) -> None:
        with contextlib.suppress(OSError):  # nobody is left to read the last bytes
            super().finish()

    def _end(self) -> None:
        ctx = self.ctx
        if ctx is not None:
            try:
                ctx.session.portals.close_all()
            except Exception:
                _log.exception("rows of a closed connection could not be released")
            try:
                ctx.session.close()
            except Exception:
                _log.exception("a session could not be closed")
        self.server.unregister(self)

    # Startup

    def _start(self) -> Context | None:
        first = read_startup(self.rfile, self.wfile)
        match first:
            case CancelRequest(process_id, key):
                self.server.cancel(process_id, key)
                return None
            case StartupMessage():
                return self._open(first)
            case _:
                return None

    def _open(self, first: StartupMessage) -> Context:
        self.server.admit(self)
        if first.needs_negotiation:
            self.wfile.write(messages.negotiate_protocol_version(0, first.unknown_options))
        process_id = self.server.new_process_id(self)
        address = ":".join(str(part) for part in self.client_address[:2])
        session = self.server.open_session(
            StartupParameters(first.user, first.database, first.settings, process_id, address)
        )
        ctx = self.ctx = Context(session, process_id, secrets.randbits(32))
        self.send_authentication_ok()
        known = {**PARAMETER_STATUS, "session_authorization": first.user, **session.parameter_status()}
        self.send_parameter_status(known)
        self.wfile.write(messages.backend_key_data(ctx.process_id, ctx.secret_key))
        self.ready(ctx)
        return ctx

    # The loop

    def _serve(self, ctx: Context) -> None:
        extended = ExtendedQuery(self, ctx)
        while True:
            kind, body = self.read_message()
            if kind == ClientCommand.TERMINATE:
                return
            if kind == ClientCommand.SYNC:
                ctx.has_error = False
                self.finish_series(ctx)
            elif ctx.has_error or kind in _COPY_LEFTOVERS:
                continue
            elif kind == ClientCommand.QUERY:
                run_simple_query(self, ctx, body)
                self.finish_series(ctx)
            elif kind in _EXTENDED:
                if not self.guarded(ctx, lambda: extended.handle(kind, Payload(body))):  # noqa: B023
                    ctx.has_error = True
                    self.wfile.flush()
            elif kind == ClientCommand.FLUSH:
                self.wfile.flush()
            elif kind == _FUNCTION_CALL:
                refusal = SqlError("function call messages are not supported", sqlstate="0A000")
                self.fail_statement(ctx, refusal)
                self.finish_series(ctx)
            else:
                raise Fatal(ProtocolViolation(f"invalid frontend message type {kind[0]}"))

    def read_message(self, *, within_statement: bool = False) -> tuple[bytes, bytes]:
        """The next message; raises Hangup and Fatal. `within_statement`: a COPY is waiting, and may be cancelled."""
        if not within_statement:
            self._set_busy(busy=False)
        self._check_ending()
        header = self._read_exactly(5, within_statement=within_statement)
        self._check_ending()
        if not within_statement:
            self._set_busy(busy=True)
        kind, length = header[:1], int.from_bytes(header[1:], "big") - 4
        if kind not in _LARGE and kind not in _SMALL:
            raise Fatal(ProtocolViolation(f"invalid frontend message type {kind[0]}"))
        limit = self.server.limits.max_message_bytes if kind in _LARGE else MAX_CONTROL_BYTES
        if not 0 <= length <= limit:
            raise Fatal(ProtocolViolation("invalid message length"))
        return kind, self._read_exactly(length, within_statement=within_statement)

    def sync_follows(self) -> bool:
        """Whether the client's Sync is next. False, too, if nothing more has come yet."""
        return bool(self._peek() == ClientCommand.SYNC)

    def _check_ending(self) -> None:
        if self.ending is not None:
            raise Fatal(self.ending)

    def _read_exactly(self, length: int, *, within_statement: bool) -> bytes:
        """That many bytes; raises Hangup. Within a statement, QueryCanceled too, for which the client need not move."""
        if length <= _READ_BYTES and not within_statement:
            body = self.rfile.read(length)
            if len(body) < length:
                self._check_ending()
                raise Hangup
            return body
        parts = []
        while length:
            if within_statement:
                self._wait_for_bytes()
            part = self.rfile.read1(min(length, _READ_BYTES))
            if not part:
                self._check_ending()
                raise Hangup
            parts.append(part)
            length -= len(part)
        return b"".join(parts)

    def _wait_for_bytes(self) -> None:
        """Returns when there is something to read, be it the end. Raises QueryCanceled, and why the server ends."""
        while not self._peek():
            self._check_ending()
            self.check_cancelled()
            poller = select.poll()
            poller.register(self.request, select.POLLIN)
            if poller.poll(_WAIT_MILLISECONDS):
                return

    def _peek(self) -> bytes:
        """The next byte if it has come already."""
        self.request.setblocking(False)
        try:
            return self.rfile.peek(1)[:1]
        finally:
            self.request.setblocking(True)

    # Answers

    def guarded(self, ctx: Context, work: Callable[[], None]) -> bool:
        """Runs a statement's work; False if it failed, and the client has been told."""
        try:
            work()
            return True
        except (Hangup, Fatal, ConnectionError):
            raise
        except Exception as error:
            self.fail_statement(ctx, error)
            return False

    def fail_statement(self, ctx: Context, error: Exception) -> None:
        """ErrorResponse, and the transaction has failed. While the server ends the connection: that instead."""
        ctx.session.fail()
        self._check_ending()
        self.wfile.write(messages.error_response(as_sql_error(error)))

    def finish_series(self, ctx: Context) -> None:
        """Sync: commit what is implicit, then ReadyForQuery."""
        try:
            ctx.session.sync()
        except Exception as error:
            self.fail_statement(ctx, error)
        self.ready(ctx)

    def ready(self, ctx: Context) -> None:
        self.send_notices(ctx)
        changes = ctx.session.drain_parameter_changes()
        if changes:
            self.send_parameter_status(dict(changes))
        with self._state:
            self.busy = False
            self.idle_since = time.monotonic()
            ctx.session.forget_cancel()
        self.wfile.write(messages.ready_for_query(ctx.transaction_status()))
        self.wfile.flush()

    def send_notices(self, ctx: Context) -> None:
        for notice in ctx.session.drain_notices():
            self.wfile.write(messages.notice_response(notice))

    def complete(self, ctx: Context, tag: str) -> None:
        """CommandComplete, after the notices of the command."""
        self.send_notices(ctx)
        self.send_command_complete(tag + "\0")

    def check_cancelled(self) -> None:
        """Between the steps of a statement, where the session would not notice: raises QueryCanceled."""
        if self.ctx is not None:
            self.ctx.session.check()

    # Called from other threads

    def cancel(self) -> None:
        """Cancels the running statement, if one runs."""
        with self._state:
            ctx = self.ctx
            if self.busy and ctx is not None:
                ctx.session.cancel()

    def terminate(self, reason: SqlError) -> None:
        """Ends the connection as soon as its statement lets go: the client is told `reason`."""
        self.ending = reason
        self.cancel()
        self.shut(socket.SHUT_RD)

    def shut(self, how: int) -> None:
        """Wakes the connection's thread from reading (SHUT_RD), or from anything (SHUT_RDWR)."""
        with contextlib.suppress(OSError):  # closed already
            self.request.shutdown(how)

    def _set_busy(self, *, busy: bool) -> None:
        with self._state:
            self.busy = busy
            if not busy:
                self.idle_since = time.monotonic()

    def _say_fatal(self, error: SqlError) -> None:
        with contextlib.suppress(OSError):  # the client is gone
            self.wfile.write(messages.error_response(error, fatal=True))
            self.wfile.flush()
            # A socket that is closed with input unread resets the connection, and the message is lost.
            self.request.shutdown(socket.SHUT_WR)
            self.request.settimeout(_FAREWELL_SECONDS)
            for _ in range(_FAREWELL_READS):
                if not self.request.recv(_READ_BYTES):
                    break


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
