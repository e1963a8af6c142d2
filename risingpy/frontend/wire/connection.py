"""One connection at its socket: carries bytes between it and the protocol.

A worker's thread serves it while its client has requests. At rest it is parked: the event loop waits for its client.
protocol.py reads the client's bytes, conversation.py answers them, transport.py has the socket. This file has the
clock, the calls of other threads, and the connection's end: the client is told a fatal error; half a message ends it
silently.
"""

from __future__ import annotations

import contextlib
import logging
import secrets
import socket
import ssl
import time
from collections.abc import Callable
from typing import IO, TYPE_CHECKING

from buenavista.postgres import BuenaVistaHandler

from risingpy.errors import InternalError, ProtocolViolation, SqlError
from risingpy.frontend.authentication.applicant import Applicant
from risingpy.frontend.results import StartupParameters
from risingpy.frontend.wire import server_messages
from risingpy.frontend.wire.activity import Activity
from risingpy.frontend.wire.client_messages import CopyMessage, Message
from risingpy.frontend.wire.conversation import converse, greet
from risingpy.frontend.wire.endings import Fatal, Hangup
from risingpy.frontend.wire.protocol import ClientProtocol
from risingpy.frontend.wire.responder import Responder
from risingpy.frontend.wire.sasl_dialogue import SaslDialogue
from risingpy.frontend.wire.session_protocol import Session
from risingpy.frontend.wire.short_path.at_rest import AtRest
from risingpy.frontend.wire.short_path.series import Repeats
from risingpy.frontend.wire.startup import PARAMETER_STATUS, CancelRequest, EncryptionRequest, StartupMessage
from risingpy.frontend.wire.threads.priority import StatementPriority
from risingpy.frontend.wire.tls import ALPN, common_name
from risingpy.frontend.wire.transport import WRITE_BUFFER_BYTES, Keepalives, TlsTransport, Transport, peer_name
from risingpy.sockets import has_hung_up

if TYPE_CHECKING:
    from risingpy.frontend.wire.server import _Listener

_log = logging.getLogger(__name__)

_WAIT_MILLISECONDS = 100  # how often a COPY that waits for its client checks whether it is cancelled
_FAREWELL_SECONDS = 0.2
_FAREWELL_READS = 16
_READ_BYTES = 1 << 16  # asked of the socket at a time
_TLS_HANDSHAKE = b"\x16"  # the first byte of a client that speaks TLS without asking
_PAUSE_MILLISECONDS = 250  # how often a client that must wait is looked at
_MOST_READ_BYTES = 1 << 20  # if a message lacks so much: its length is only a claim, so memory grows step by step
_STUCK_SECONDS = 5.0  # after which a client that reads nothing is not waited for
_LINGER_MILLISECONDS = 20  # a client that says its next thing so soon finds the thread that has answered the last one


class Connection(BuenaVistaHandler):  # type: ignore[misc]  # buenavista has no types
    """Handles one client from startup to goodbye. It is the `Channel` of its conversation."""

    server: _Listener
    request: socket.socket
    wfile: IO[bytes]
    rbufsize = 0  # protocol.py keeps what has been read
    wbufsize = WRITE_BUFFER_BYTES

    def __init__(self, request: socket.socket, client_address: tuple[str, int] | str, server: _Listener) -> None:
        """Serves nothing yet, as socketserver's would."""
        self.request, self.client_address, self.server = request, client_address, server
        self.setup()

    def setup(self) -> None:
        super().setup()
        self._responder: Responder | None = None
        self._at_rest: AtRest | None = None
        self._transport = Transport(self.request)
        self._binding: bytes | None = None  # with TLS, the digest of the certificate that the client has seen
        self._certificate_name: str | None = None
        self._is_local = self.request.family == socket.AF_UNIX
        self.session: Session | None = None
        self._began = time.monotonic()
        self._who = ""  # for the log, once the client is let in
        self.activity = Activity(self._began)
        self.priority = StatementPriority()
        self._secret_key = secrets.token_bytes(4)
        self._ending: SqlError | None = None
        self._ending_since = self._began
        self._protocol = ClientProtocol(self.server.limits.max_message_bytes)
        if not self._is_local:
            self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
            self.request.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, True)
        self._keepalives = Keepalives(self.request)

    def serve(self) -> None:
        """Serves the client until it is at rest, or gone: from the start, or on from where it rested. Never raises."""
        self._transport.unpark()
        if self._is_served_to_rest() and self._at_rest is not None:
            self._at_rest.park()
            return
        self._end()
        try:
            self.finish()
        finally:
            self.server.shutdown_request(self.request)

    def _is_served_to_rest(self) -> bool:
        """Serves the client. False: the connection has ended, and the client has been told if it is told something."""
        try:
            if self._responder is None:
                self.server.open.register(self)
                self._responder = self._start()
            self._send_unsent()
            return self._responder is not None and not converse(self._responder)
        except (Hangup, ConnectionError, TimeoutError, ssl.SSLError):
            pass
        except Fatal as end:
            self._say_fatal(end.error)
        except SqlError as error:
            self._say_fatal(error)
        except Exception as error:
            _log.exception("a connection failed")
            self._say_fatal(InternalError(f"internal error: {error}"))
        return False

    def _send_unsent(self) -> None:
        unsent = b"" if self._at_rest is None else self._at_rest.take_unsent()
        if unsent:
            self.write(unsent)
            self.flush()

    def finish(self) -> None:
        with contextlib.suppress(OSError):  # the client may have gone, and then needs no last bytes
            super().finish()
        self._transport.close()

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
            if self.server.logged.disconnections:
                seconds = time.monotonic() - self._began
                _log.info("disconnection: session time: %.3f s %s", seconds, self._who)
        self.server.open.unregister(self)

    # Startup

    def _start(self) -> Responder | None:
        if self.server.tls() is not None and self.request.recv(1, socket.MSG_PEEK) == _TLS_HANDSHAKE:
            self._begin_tls(asked=False)
        while True:
            packet = self._protocol.next_packet()
            match packet:
                case None:
                    self._receive()
                case EncryptionRequest(tls):
                    if tls and self.server.tls() is not None and type(self._transport) is Transport:
                        self._begin_tls(asked=True)
                    else:
                        self.write(server_messages.ENCRYPTION_REFUSED)
                        self.flush()
                case CancelRequest():
                    self.server.open.cancel(packet)
                    return None
                case StartupMessage():
                    return self._open(packet)

    def _open(self, first: StartupMessage) -> Responder:
        self.server.open.check_room()
        if first.needs_negotiation:
            self.write(server_messages.negotiate_protocol_version(0, first.unknown_options))
        self._authenticate(first)
        process_id = self.server.open.admit(self)
        address = "" if self._is_local else ":".join(str(part) for part in self.client_address[:2])
        session = self.server.open_session(
            StartupParameters(first.user, first.database, first.settings, process_id, address, backend=self)
        )
        self.session = session
        self._who = f"user={first.user} database={first.database} client={address or '[local]'}"
        if self.server.logged.connections:
            encryption = "SSL" if isinstance(self._transport, TlsTransport) else "none"
            _log.info("connection authorized: %s encryption=%s", self._who, encryption)
        self.activity.start(time.monotonic())
        known = {**PARAMETER_STATUS, "session_authorization": first.user, **session.parameter_status()}
        own = self._transport, self._protocol, self.activity, session
        self._at_rest = AtRest(*own, self.server.loop, self.serve, self._is_ending)
        responder = Responder(session, self)
        greet(responder, known, process_id, self._secret_key)
        return responder

    def _begin_tls(self, *, asked: bool) -> None:
        """The handshake. A client that has not `asked` must name the protocol (ALPN), so that no other one is meant."""
        tls = self.server.tls()
        if tls is None:
            raise Hangup
        if asked:
            if self._protocol.kept_bytes:
                message = "received unencrypted data after SSL request"
                detail = (
                    "This could be either a client-software bug or evidence of an attempted man-in-the-middle attack."
                )
                raise ProtocolViolation(message, detail=detail)
            self.write(server_messages.ENCRYPTION_ACCEPTED)
            self.flush()
        shaken = tls.handshake(self.request)
        self.request, self._transport = shaken, TlsTransport(shaken)
        try:
            shaken.do_handshake()
        except OSError as error:  # ssl.SSLError is one
            _log.info("could not accept SSL connection of %s: %s", self.client_address, error)
            raise Hangup from None
        if not asked and shaken.selected_alpn_protocol() != ALPN:
            _log.info("direct SSL connection of %s without ALPN", self.client_address)
            raise Hangup
        self.wfile = self._transport.writer()
        self._binding, self._certificate_name = tls.binding, common_name(shaken)

    def _authenticate(self, first: StartupMessage) -> None:
        door = self.server.door
        if door is None:
            return
        applicant = Applicant(
            first.user,
            first.database,
            None if self._is_local else self.client_address[0],
            over_tls=isinstance(self._transport, TlsTransport),
            system_user=peer_name(self.request) if self._is_local else None,
            certificate_name=self._certificate_name,
            binding=self._binding,
        )
        self._protocol.begin_authentication()
        door.let_in(applicant, SaslDialogue(self))
        self._protocol.end_authentication()

    def next_password_message(self) -> bytes:
        while True:
            message = self._protocol.next_password_message()
            if message is not None:
                return message
            self._receive()

    def pause(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.check_ending()
            if self.has_hung_up():
                raise Hangup
            time.sleep(min(left, _PAUSE_MILLISECONDS / 1000))

    # What the client says

    def next_message(self) -> Message | None:
        while True:
            self.check_ending()
            message = self._protocol.next_message()
            if message is None and not self._protocol.has_begun:
                self.rest()
                has_priority = self.priority.end()
                status = self._status_at_rest()
                if self._at_rest is not None and status is not None:
                    if not has_priority or not self._transport.has_more(_LINGER_MILLISECONDS):
                        return None
                    if self._at_rest.answer():
                        self._send_unsent()
                        return None  # the loop can do as much
                    continue
            else:
                self.activity.work()
                self.priority.begin()
            if message is not None:
                return message
            self._receive()

    def _status_at_rest(self) -> bytes | None:
        """The transaction's status if all is answered and the connection can park; else None."""
        if not self._protocol.is_at_rest or self.session is None:
            return None
        status = self.session.transaction_status()
        return None if status == b"E" else status

    def next_copy_message(self, check: Callable[[], None]) -> CopyMessage:
        while True:
            self.check_ending()
            message = self._protocol.next_copy_message()
            if message is not None:
                return message
            self._receive_checking(check)

    def sync_follows(self) -> bool:
        return self._with_arrived(at_least=1).sync_is_next

    def repeats(self, most: int, answered: Repeats | None) -> Repeats | None:
        return self._with_arrived(at_least=_READ_BYTES // 2).repeats(most, answered)

    def _with_arrived(self, *, at_least: int) -> ClientProtocol:
        """The protocol, with what has arrived meanwhile if it has fewer bytes."""
        if self._protocol.kept_bytes < at_least:
            with contextlib.suppress(BlockingIOError):
                self._protocol.receive(self._transport.receive_now(_READ_BYTES))
        return self._protocol

    def skip_to_sync(self) -> None:
        self._protocol.skip_to_sync()

    def begin_copy(self) -> None:
        self._protocol.begin_copy()

    def end_copy(self) -> None:
        self._protocol.end_copy()

    def _receive(self) -> None:
        self._protocol.receive(self._transport.receive(self._read_size()))

    def _read_size(self) -> int:
        return min(max(self._protocol.missing_bytes, _READ_BYTES), _MOST_READ_BYTES)

    def _receive_checking(self, check: Callable[[], None]) -> None:
        """Returns when bytes or the end have come. Raises what `check` raises, and Fatal if the server ends."""
        while True:
            try:
                return self._protocol.receive(self._transport.receive_now(self._read_size()))
            except BlockingIOError:
                self.check_ending()
                check()
                self._transport.has_more(_WAIT_MILLISECONDS)

    # What it is told

    def write(self, data: bytes | memoryview) -> None:
        self.wfile.write(data)

    def flush(self) -> None:
        self.wfile.flush()

    def rest(self, forget_cancel: Callable[[], None] | None = None) -> None:
        if self.session is not None:
            self._keepalives.ask(self.request, self.session.keepalives())
        self.activity.rest(time.monotonic(), forget_cancel)

    def _is_ending(self) -> bool:
        return self._ending is not None

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
        self._ending, self._ending_since = reason, time.monotonic()
        self.cancel()
        self.shut(socket.SHUT_RD)

    def notified(self) -> None:
        """Notifications wait for the session: sends them, unless it works; then they come with the end of that."""
        if self._at_rest is not None:
            self._at_rest.nudge()

    def cut_if_stuck(self, now: float) -> None:
        """Cuts a client that was to be told long ago that its connection ends: it reads nothing of what is sent."""
        if self._ending is not None and now - self._ending_since > _STUCK_SECONDS:
            self.shut(socket.SHUT_RDWR)

    def shut(self, how: int) -> None:
        """Wakes the connection's thread from reading (SHUT_RD), or from reading and writing (SHUT_RDWR)."""
        self._transport.shut(how)

    def has_hung_up(self) -> bool:
        """True if the client has closed its end (Linux): its statement can then be cancelled."""
        return has_hung_up(self.request)

    def _say_fatal(self, error: SqlError) -> None:
        with contextlib.suppress(OSError):  # the client is gone
            self.write(server_messages.error_response(error, fatal=True))
            self.flush()
            # Closing a socket with unread input resets the connection, and the client loses the message.
            self.shut(socket.SHUT_WR)
            self.request.settimeout(_FAREWELL_SECONDS)
            for _ in range(_FAREWELL_READS):
                if not self.request.recv(_MOST_READ_BYTES):
                    break
