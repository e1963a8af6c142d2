"""One connection at its socket: carries bytes between it and the protocol. A thread runs it (server.py).

protocol.py reads the client's bytes, conversation.py answers them. This file has the socket, the clock, the calls of
other threads, and the connection's end: the client is told a fatal error; half a message ends it silently.
"""

from __future__ import annotations

import contextlib
import logging
import secrets
import select
import socket
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, BinaryIO

from buenavista.postgres import BuenaVistaHandler

from risingpy.errors import InternalError, SqlError
from risingpy.frontend.results import StartupParameters
from risingpy.frontend.wire import server_messages
from risingpy.frontend.wire.activity import Activity
from risingpy.frontend.wire.client_messages import CopyMessage, Message
from risingpy.frontend.wire.conversation import converse, greet
from risingpy.frontend.wire.endings import Fatal, Hangup
from risingpy.frontend.wire.protocol import ClientProtocol
from risingpy.frontend.wire.responder import Responder
from risingpy.frontend.wire.session_protocol import Session
from risingpy.frontend.wire.startup import PARAMETER_STATUS, CancelRequest, EncryptionRequest, StartupMessage

if TYPE_CHECKING:
    from risingpy.frontend.wire.server import _Listener

_log = logging.getLogger(__name__)

_WAIT_MILLISECONDS = 100  # how often a COPY that waits for its client checks whether it is cancelled
_FAREWELL_SECONDS = 0.2
_FAREWELL_READS = 16
_READ_BYTES = 1 << 16  # asked of the socket at a time
_MOST_READ_BYTES = 1 << 20  # if a message lacks so much: its length is only a claim, so memory grows step by step


class Connection(BuenaVistaHandler):  # type: ignore[misc]  # buenavista has no types
    """Handles one client from startup to goodbye. It is the `Channel` of its conversation."""

    server: _Listener
    request: socket.socket
    wfile: BinaryIO
    rbufsize = 0  # protocol.py keeps what has been read
    wbufsize = 1 << 16

    def setup(self) -> None:
        super().setup()
        self.session: Session | None = None
        self.activity = Activity(time.monotonic())
        self._secret_key = secrets.token_bytes(4)
        self._ending: SqlError | None = None
        self._protocol = ClientProtocol(self.server.limits.max_message_bytes)
        self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
        self.request.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, True)

    def handle(self) -> None:
        try:
            self.server.register(self)
            responder = self._start()
            if responder is not None:
                converse(responder)
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
        with contextlib.suppress(OSError):  # the client may have gone, and then needs no last bytes
            super().finish()

    def _end(self) -> None:
        session = self.session
        if session is not None:
            try:
                session.portals.close_all()
            except Exception:
                _log.exception("rows of a closed connection could not be released")
            try:
                session.close()
            except Exception:
                _log.exception("a session could not be closed")
        self.server.unregister(self)

    # Startup

    def _start(self) -> Responder | None:
        while True:
            packet = self._protocol.next_packet()
            match packet:
                case None:
                    self._receive()
                case EncryptionRequest():
                    self.write(server_messages.ENCRYPTION_REFUSED)
                    self.flush()
                case CancelRequest():
                    self.server.cancel(packet)
                    return None
                case StartupMessage():
                    return self._open(packet)

    def _open(self, first: StartupMessage) -> Responder:
        self.server.admit(self)
        if first.needs_negotiation:
            self.write(server_messages.negotiate_protocol_version(0, first.unknown_options))
        process_id = self.server.new_process_id(self)
        address = ":".join(str(part) for part in self.client_address[:2])
        session = self.server.open_session(
            StartupParameters(first.user, first.database, first.settings, process_id, address, backend=self)
        )
        self.session = session
        self.activity.start(time.monotonic())
        known = {**PARAMETER_STATUS, "session_authorization": first.user, **session.parameter_status()}
        responder = Responder(session, self)
        greet(responder, known, process_id, self._secret_key)
        return responder

    # What the client says

    def next_message(self) -> Message:
        while True:
            self.check_ending()
            message = self._protocol.next_message()
            if message is None and not self._protocol.has_begun:
                self.rest()
            else:
                self.activity.work()
            if message is not None:
                return message
            self._receive()

    def next_copy_message(self, check: Callable[[], None]) -> CopyMessage:
        while True:
            self.check_ending()
            message = self._protocol.next_copy_message()
            if message is not None:
                return message
            self._receive_checking(check)

    def sync_follows(self) -> bool:
        if not self._protocol.kept_bytes:
            with contextlib.suppress(BlockingIOError):
                self._protocol.receive(self.request.recv(_READ_BYTES, socket.MSG_DONTWAIT))
        return self._protocol.sync_is_next

    def skip_to_sync(self) -> None:
        self._protocol.skip_to_sync()

    def begin_copy(self) -> None:
        self._protocol.begin_copy()

    def end_copy(self) -> None:
        self._protocol.end_copy()

    def _receive(self, flags: int = 0) -> None:
        size = min(max(self._protocol.missing_bytes, _READ_BYTES), _MOST_READ_BYTES)
        self._protocol.receive(self.request.recv(size, flags))

    def _receive_checking(self, check: Callable[[], None]) -> None:
        """Returns when bytes or the end have come. Raises what `check` raises, and Fatal if the server ends."""
        while True:
            try:
                return self._receive(socket.MSG_DONTWAIT)
            except BlockingIOError:
                self.check_ending()
                check()
                poller = select.poll()
                poller.register(self.request, select.POLLIN)
                poller.poll(_WAIT_MILLISECONDS)

    # What it is told

    def write(self, data: bytes | memoryview) -> None:
        self.wfile.write(data)

    def flush(self) -> None:
        self.wfile.flush()

    def rest(self, forget_cancel: Callable[[], None] | None = None) -> None:
        self.activity.rest(time.monotonic(), forget_cancel)

    def check_ending(self) -> None:
        if self._ending is not None:
            raise Fatal(self._ending)

    # Called from other threads

    def has_key(self, secret_key: bytes) -> bool:
        """Whether a CancelRequest with this key may cancel what this connection runs."""
        return self.session is not None and secrets.compare_digest(self._secret_key, secret_key)

    def cancel(self) -> None:
        """Cancels the running statement, if one runs."""
        session = self.session
        if session is not None:
            self.activity.cancel(session.cancel)

    def terminate(self, reason: SqlError) -> None:
        """Ends the connection as soon as its statement has stopped, and tells the client `reason`."""
        self._ending = reason
        self.cancel()
        self.shut(socket.SHUT_RD)

    def shut(self, how: int) -> None:
        """Wakes the connection's thread from reading (SHUT_RD), or from reading and writing (SHUT_RDWR)."""
        with contextlib.suppress(OSError):  # closed already
            self.request.shutdown(how)

    def has_hung_up(self) -> bool:
        """True if the client has closed its end (Linux): its statement can then be cancelled."""
        poller = select.poll()
        try:
            poller.register(self.request, select.POLLRDHUP)
            return bool(poller.poll(0))
        except (OSError, ValueError):
            return False  # closed meanwhile; its thread notices that itself

    def _say_fatal(self, error: SqlError) -> None:
        with contextlib.suppress(OSError):  # the client is gone
            self.write(server_messages.error_response(error, fatal=True))
            self.flush()
            # Closing a socket with unread input resets the connection, and the client loses the message.
            self.request.shutdown(socket.SHUT_WR)
            self.request.settimeout(_FAREWELL_SECONDS)
            for _ in range(_FAREWELL_READS):
                if not self.request.recv(_MOST_READ_BYTES):
                    break
