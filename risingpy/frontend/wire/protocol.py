"""The client's half of the protocol as a state machine without I/O: bytes in, events out.

    receive(bytes)     takes bytes that have arrived; b"" is the end of the stream
    next_packet()      in STARTUP: EncryptionRequest, CancelRequest or StartupMessage
    next_message()     in IDLE, SERIES and SKIPPING: a `Message`
    next_copy_message()   in COPY_IN: a `CopyMessage`

Each returns None until the whole event is there, and raises

    Fatal      for bytes that are no message, or none that is allowed now: the connection ends with this error
    Hangup     at the end of the stream, even within a message

Events are made one at a time, on request, because the meaning of a byte depends on what the server did before it:

    STARTUP ──StartupMessage──▶ IDLE ◀──Sync, Query, FunctionCall── SERIES ◀─┐
                                 └─────Parse, Bind, Describe, Execute, Close──┘
    IDLE, SERIES ──begin_copy──▶ COPY_IN ──CopyDone, CopyFail, end_copy──▶ where it began
    SERIES ──Malformed, skip_to_sync──▶ SKIPPING ──Sync──▶ IDLE
    any ──Terminate, Fatal, Hangup, CancelRequest──▶ TERMINATED

The machine drops some messages without an event: in SKIPPING, all but Sync and Terminate; outside of a COPY, the rest
of a failed COPY's data; within a COPY, Sync and Flush. It does not keep the body of a dropped message. So its memory is
bounded by one message, and the bytes that arrived together with it.
"""

from __future__ import annotations

from enum import Enum, auto

from buenavista.postgres import ClientCommand

from risingpy.errors import ProtocolViolation, SqlError
from risingpy.frontend.wire.byte_queue import ByteQueue
from risingpy.frontend.wire.client_messages import (
    COPY_DATA,
    COPY_DONE,
    COPY_FAIL,
    FUNCTION_CALL,
    CopyData,
    CopyDone,
    CopyFail,
    CopyMessage,
    FlushMessage,
    FunctionCall,
    Malformed,
    Message,
    Sync,
    Terminate,
    decode_message,
)
from risingpy.frontend.wire.endings import Fatal, Hangup
from risingpy.frontend.wire.limits import MAX_CONTROL_BYTES, MAX_PASSWORD_BYTES, MAX_STARTUP_BYTES
from risingpy.frontend.wire.short_path.series import Repeats, cut_repeats
from risingpy.frontend.wire.startup import (
    CancelRequest,
    EncryptionRequest,
    StartupMessage,
    StartupPacket,
    decode_packet,
)

_HEADER_BYTES = 5  # a message's type and length
_MAX_ENCRYPTION_REQUESTS = 3
_EXTENDED = frozenset(
    (ClientCommand.PARSE, ClientCommand.BIND, ClientCommand.DESCRIBE, ClientCommand.EXECUTE, ClientCommand.CLOSE)
)
_COPY = frozenset((COPY_DATA, COPY_DONE, COPY_FAIL))
_DECODED = _EXTENDED | {ClientCommand.QUERY}
_DROPPED_WITHIN_COPY = frozenset((ClientCommand.SYNC, ClientCommand.FLUSH))
_ENDS_SKIPPING = frozenset((ClientCommand.SYNC, ClientCommand.TERMINATE))
_LARGE = frozenset((ClientCommand.QUERY, ClientCommand.PARSE, ClientCommand.BIND, COPY_DATA, COPY_FAIL, FUNCTION_CALL))
_KNOWN = (
    _EXTENDED
    | _LARGE
    | frozenset(
        (
            ClientCommand.SYNC,
            ClientCommand.FLUSH,
            ClientCommand.TERMINATE,
            ClientCommand.PASSWORD_MESSAGE,
            COPY_DONE,
        )
    )
)


class Phase(Enum):
    """Decides which messages the client may send now."""

    STARTUP = auto()
    AUTHENTICATION = auto()
    IDLE = auto()
    SERIES = auto()  # of extended messages, which a Sync will end
    SKIPPING = auto()  # a message of the series has failed
    COPY_IN = auto()
    TERMINATED = auto()


class ClientProtocol:
    """The state of one connection, for one thread."""

    def __init__(self, max_message_bytes: int) -> None:
        """`max_message_bytes` limits the messages that carry texts, values or data."""
        self.phase = Phase.STARTUP
        self._max_message_bytes = max_message_bytes
        self._bytes = ByteQueue()
        self._ended = False
        self._header: tuple[bytes, int] | None = (
            None  # the message that has begun: its type, how many bytes are to come
        )
        self._packet_length: int | None = None
        self._encryption_requests = 0
        self._before_copy = Phase.IDLE

    # Bytes in

    def receive(self, data: bytes) -> None:
        """Takes bytes that have arrived; b"" means that no more will come."""
        if data:
            self._bytes.append(data)
        else:
            self._ended = True

    @property
    def kept_bytes(self) -> int:
        """How many bytes have arrived and are not part of an event yet."""
        return len(self._bytes)

    @property
    def missing_bytes(self) -> int:
        """How many bytes the message that has begun still lacks; 0 if none has begun."""
        return 0 if self._header is None else max(0, self._header[1] - len(self._bytes))

    @property
    def has_begun(self) -> bool:
        """Whether a message has begun: its type and its length are there."""
        return self._header is not None

    @property
    def is_at_rest(self) -> bool:
        """Whether the client has sent nothing since the end of its last series."""
        return self.phase is Phase.IDLE and self._header is None and not self._bytes

    @property
    def sync_is_next(self) -> bool:
        """Whether the next message is a Sync; also False if nothing more has arrived yet."""
        return self._header is None and self._bytes.starts_with(ClientCommand.SYNC)

    def repeats(self, most: int, answered: Repeats | None) -> Repeats | None:
        """What comes next and is the same statement again and again, as far as it has arrived; it is not taken yet.

        First it takes what has been `answered` of that.
        """
        if answered is not None:
            self._bytes.drop(answered.ends[-1])
        return cut_repeats(self._bytes.all(), most) if self.phase is Phase.SERIES and self._header is None else None

    # What the server does

    def begin_authentication(self) -> None:
        """The startup packet has come, and the client must show who it is."""
        self.phase = Phase.AUTHENTICATION

    def end_authentication(self) -> None:
        """The client is let in."""
        self.phase = Phase.IDLE

    def skip_to_sync(self) -> None:
        """An extended message has failed: drops everything up to the client's Sync."""
        self.phase = Phase.SKIPPING

    def begin_copy(self) -> None:
        """The server has sent CopyInResponse."""
        self._before_copy, self.phase = self.phase, Phase.COPY_IN

    def end_copy(self) -> None:
        """The COPY has ended or failed: drops the data that its client still sends."""
        if self.phase is Phase.COPY_IN:
            self.phase = self._before_copy

    # Events out

    def next_packet(self) -> StartupPacket | None:
        """The next packet of a connection's start."""
        assert self.phase is Phase.STARTUP
        if self._encryption_requests >= _MAX_ENCRYPTION_REQUESTS:
            raise self._fatal(ProtocolViolation("too many encryption requests"))
        if self._packet_length is None:
            header = self._bytes.take(4)
            if header is None:
                self._wait()
                return None
            length = int.from_bytes(header, "big") - 4
            if not 4 <= length <= MAX_STARTUP_BYTES:
                raise self._fatal(ProtocolViolation("invalid length of startup packet"))
            self._packet_length = length
        body = self._bytes.take(self._packet_length)
        if body is None:
            self._wait()
            return None
        self._packet_length = None
        return self._packet(body)

    def next_password_message(self) -> bytes | None:
        """The body of the next message of the authentication."""
        assert self.phase is Phase.AUTHENTICATION
        if self._header is None:
            header = self._bytes.take(_HEADER_BYTES)
            if header is None:
                self._wait()
                return None
            kind, length = header[:1], int.from_bytes(header[1:], "big") - 4
            if kind != ClientCommand.PASSWORD_MESSAGE:
                raise self._fatal(ProtocolViolation(f"expected SASL response, got message type {kind[0]}"))
            if not 0 <= length <= MAX_PASSWORD_BYTES:
                raise self._fatal(ProtocolViolation("invalid message length"))
            self._header = kind, length
        body = self._bytes.take(self._header[1])
        if body is None:
            self._wait()
            return None
        self._header = None
        return body

    def next_message(self) -> Message | None:
        """The next message of an open session that is not dropped."""
        assert self.phase in (Phase.IDLE, Phase.SERIES, Phase.SKIPPING)
        framed = self._next_framed()
        if framed is None:
            self._wait()
            return None
        return self._message(*framed)

    def next_copy_message(self) -> CopyMessage | None:
        """The next message of a COPY FROM STDIN that is not dropped."""
        assert self.phase is Phase.COPY_IN
        framed = self._next_framed()
        if framed is None:
            self._wait()
            return None
        return self._copy_message(*framed)

    # Inside

    def _wait(self) -> None:
        """Called when more bytes are needed. Raises Hangup if none will come."""
        if self._ended:
            self.phase = Phase.TERMINATED
            raise Hangup

    def _fatal(self, error: SqlError) -> Fatal:
        self.phase = Phase.TERMINATED
        return Fatal(error)

    def _packet(self, body: bytes) -> StartupPacket:
        try:
            packet = decode_packet(body)
        except SqlError as error:
            raise self._fatal(error) from None
        match packet:
            case EncryptionRequest():
                self._encryption_requests += 1
            case CancelRequest():
                self.phase = Phase.TERMINATED
            case StartupMessage():
                self.phase = Phase.IDLE
        return packet

    def _next_framed(self) -> tuple[bytes, bytes] | None:
        """Type and body of the next message that is not dropped; None if it has not arrived completely."""
        while True:
            if self._header is None:
                header = self._bytes.take(_HEADER_BYTES)
                if header is None:
                    return None
                self._header = self._checked(header)
            kind, length = self._header
            # Checked again as the body arrives: a COPY may be cancelled in the middle of its data.
            if self._is_dropped(kind):
                left = length - self._bytes.drop(length)
                if left:
                    self._header = kind, left
                    return None
                self._header = None
                continue
            body = self._bytes.take(length)
            if body is None:
                return None
            self._header = None
            return kind, body

    def _checked(self, header: bytes) -> tuple[bytes, int]:
        kind, length = header[:1], int.from_bytes(header[1:], "big") - 4
        if kind not in _KNOWN:
            raise self._fatal(_invalid_type(kind))
        limit = self._max_message_bytes if kind in _LARGE else MAX_CONTROL_BYTES
        if not 0 <= length <= limit:
            raise self._fatal(ProtocolViolation("invalid message length"))
        return kind, length

    def _is_dropped(self, kind: bytes) -> bool:
        phase = self.phase
        if phase is Phase.COPY_IN:
            return kind in _DROPPED_WITHIN_COPY
        return kind in _COPY if phase is not Phase.SKIPPING else kind not in _ENDS_SKIPPING

    def _message(self, kind: bytes, body: bytes) -> Message:
        if kind in _DECODED:
            return self._decoded(kind, body)
        match kind:
            case ClientCommand.SYNC:
                self.phase = Phase.IDLE
                return Sync()
            case ClientCommand.FLUSH:
                return FlushMessage()
            case ClientCommand.TERMINATE:
                self.phase = Phase.TERMINATED
                return Terminate()
            case _ if kind == FUNCTION_CALL:
                self.phase = Phase.IDLE
                return FunctionCall()
        raise self._fatal(_invalid_type(kind))

    def _decoded(self, kind: bytes, body: bytes) -> Message:
        in_series = kind != ClientCommand.QUERY
        self.phase = Phase.SERIES if in_series else Phase.IDLE
        try:
            return decode_message(kind, body)
        except SqlError as error:
            if in_series:
                self.phase = Phase.SKIPPING
            return Malformed(error, in_series)

    def _copy_message(self, kind: bytes, body: bytes) -> CopyMessage:
        if kind == COPY_DATA:
            return CopyData(body)
        self.phase = self._before_copy
        if kind == COPY_DONE:
            return CopyDone()
        if kind == COPY_FAIL:
            return CopyFail(body.rstrip(b"\0").decode(errors="replace"))
        raise self._fatal(ProtocolViolation(f"unexpected message type 0x{kind[0]:02X} during COPY from stdin"))


def _invalid_type(kind: bytes) -> ProtocolViolation:
    return ProtocolViolation(f"invalid frontend message type {kind[0]}")
