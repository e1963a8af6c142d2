"""Somebody who wants in: what is known of a client before anybody has checked who it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Applicant:
    """A client at its startup.

    `address` is its IP address (None: it came through the Unix socket, and `system_user` is its operating system's
    user). With TLS, `binding` is the digest of the server's certificate, and `certificate_name` the common name of the
    client's own certificate, if it has shown one that the CA has signed.
    """

    user: str
    database: str
    address: str | None
    over_tls: bool = False
    system_user: str | None = None
    certificate_name: str | None = None
    binding: bytes | None = None

    @property
    def shown_address(self) -> str:
        return "[local]" if self.address is None else self.address

    @property
    def shown_encryption(self) -> str:
        return "SSL encryption" if self.over_tls else "no encryption"


class Dialogue(Protocol):
    """How the door talks to an applicant: the wire's SASL messages."""

    def offer(self, mechanisms: tuple[str, ...]) -> tuple[str, bytes]:
        """Sends the list; returns the mechanism that the client has chosen, and its first message."""

    def challenge(self, message: bytes) -> bytes:
        """Sends a message of the exchange; returns the client's answer."""

    def finish(self, message: bytes) -> None:
        """Sends the last message of an exchange that has succeeded."""

    def pause(self, seconds: float) -> None:
        """Lets the client wait. Raises Hangup if it goes away."""
