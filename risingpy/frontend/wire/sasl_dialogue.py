"""The messages by which a client shows who it is: AuthenticationSASL and its like, and the client's answers.

server   R 10 mechanism\\0 … \\0      client   p mechanism\\0 int32 length, bytes
server   R 11 bytes                  client   p bytes
server   R 12 bytes
"""

from __future__ import annotations

from typing import Protocol

from risingpy.errors import ProtocolViolation
from risingpy.frontend.wire import server_messages
from risingpy.frontend.wire.payload import Payload


class AuthenticationChannel(Protocol):
    """The connection, as the dialogue uses it."""

    def write(self, data: bytes | memoryview) -> None: ...

    def flush(self) -> None: ...

    def next_password_message(self) -> bytes:
        """The body of the client's next message, which must be one of these."""

    def pause(self, seconds: float) -> None:
        """Waits; raises Hangup if the client goes away."""


class SaslDialogue:
    """A `Dialogue` (`authentication/applicant.py`) over a connection."""

    def __init__(self, channel: AuthenticationChannel) -> None:
        self._channel = channel

    def offer(self, mechanisms: tuple[str, ...]) -> tuple[str, bytes]:
        self._send(server_messages.authentication_sasl(mechanisms))
        payload = Payload(self._channel.next_password_message())
        mechanism, first = payload.string(), payload.value()
        payload.end()
        if first is None:
            raise ProtocolViolation("malformed SCRAM message", detail="The message is empty.")
        return mechanism, first

    def challenge(self, message: bytes) -> bytes:
        self._send(server_messages.authentication_sasl_continue(message))
        return self._channel.next_password_message()

    def finish(self, message: bytes) -> None:
        self._channel.write(server_messages.authentication_sasl_final(message))

    def pause(self, seconds: float) -> None:
        self._channel.pause(seconds)

    def _send(self, message: bytes) -> None:
        self._channel.write(message)
        self._channel.flush()
