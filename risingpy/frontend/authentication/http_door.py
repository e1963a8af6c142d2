"""The door for HTTP requests: the rules of the database's clients, with Basic authentication for passwords.

A request's password goes through the same SCRAM exchange as a client's, in this process: so the same users, expiries,
waits after failures, log and figures hold. A request that names nobody asks as its certificate says, or as the
bootstrap superuser: whoever may log in as that one without a password may also look.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import secrets
import threading
import time
from dataclasses import dataclass

from risingpy.frontend.authentication.applicant import Applicant
from risingpy.frontend.authentication.door import Door
from risingpy.frontend.authentication.saslprep import saslprep
from risingpy.frontend.authentication.scram_secret import mac
from risingpy.plan.catalog import BOOTSTRAP_NAME

MOST_WAITING = 8  # requests that wait after failures, of a server: others of this kind are refused at once
_MECHANISM = "SCRAM-SHA-256"
_NO_BINDING = base64.b64encode(b"n,,").decode()


class CredentialsNeeded(Exception):
    """The rules want a password, and the request has none."""


class TooManyTries(Exception):
    """The next try must wait, and too many wait already."""


@dataclass(frozen=True, slots=True)
class HttpClient:
    """Who sends a request. `authorization` is its header; the others are as in `Applicant`."""

    address: str
    over_tls: bool
    certificate_name: str | None
    authorization: str | None


class HttpDoor:
    """Decides about requests. From any thread."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self._waiting = threading.BoundedSemaphore(MOST_WAITING)

    def let_in(self, client: HttpClient, database: str) -> str:
        """The user as whom the request acts. Raises CredentialsNeeded, TooManyTries, or SqlError for a stranger."""
        user, password = basic_credentials(client.authorization) or (None, None)
        return self.let_in_as(client, user, password, database)

    def let_in_as(self, client: HttpClient, user: str | None, password: str | None, database: str) -> str:
        """As `let_in`, for a user and a password that have come in another way; None: the request has none."""
        user = user or client.certificate_name or BOOTSTRAP_NAME
        self._door.let_in(self._applicant(client, user, database), _Exchange(password, self._waiting))
        return user

    def check_still_admitted(self, client: HttpClient, user: str, database: str) -> None:
        """Raises SqlError if the user, whom the door has let in before, may not have a session any more."""
        self._door.check_role(self._applicant(client, user, database))

    @staticmethod
    def _applicant(client: HttpClient, user: str, database: str) -> Applicant:
        return Applicant(
            user, database, client.address, over_tls=client.over_tls, certificate_name=client.certificate_name
        )

    def admits_address(self, client: HttpClient, database: str) -> bool:
        """Whether the rules let anybody of the address ask, with or without a password."""
        applicant = Applicant(BOOTSTRAP_NAME, database, client.address, over_tls=client.over_tls)
        return self._door.has_rule(applicant)


def basic_credentials(header: str | None) -> tuple[str, str] | None:
    """User and password of an Authorization header (RFC 7617); None if it has none."""
    scheme, _, encoded = (header or "").partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        text = base64.b64decode(encoded.strip(), validate=True).decode("utf-8")
    except (binascii.Error, ValueError):
        return None
    user, colon, password = text.partition(":")
    return (user, password) if colon and user and "\0" not in text else None


class _Exchange:
    """The client's side of SCRAM (RFC 5802), for a password that has come by itself."""

    def __init__(self, password: str | None, waiting: threading.BoundedSemaphore) -> None:
        self._password = password
        self._waiting = waiting
        self._first = f"n=,r={secrets.token_urlsafe(18)}"

    def pause(self, seconds: float) -> None:
        if self._password is None:
            raise CredentialsNeeded
        if not self._waiting.acquire(blocking=False):
            raise TooManyTries
        try:
            time.sleep(seconds)
        finally:
            self._waiting.release()

    def offer(self, mechanisms: tuple[str, ...]) -> tuple[str, bytes]:
        if self._password is None:
            raise CredentialsNeeded
        return _MECHANISM, f"n,,{self._first}".encode()

    def challenge(self, message: bytes) -> bytes:
        assert self._password is not None
        server_first = message.decode("ascii")
        fields = dict(part.split("=", 1) for part in server_first.split(","))
        prepared = saslprep(self._password).encode("utf-8", "surrogateescape")
        salted = hashlib.pbkdf2_hmac("sha256", prepared, base64.b64decode(fields["s"]), int(fields["i"]))
        key = mac(salted, b"Client Key")
        without_proof = f"c={_NO_BINDING},r={fields['r']}"
        signature = mac(hashlib.sha256(key).digest(), f"{self._first},{server_first},{without_proof}".encode())
        proof = bytes(a ^ b for a, b in zip(key, signature, strict=True))
        return f"{without_proof},p={base64.b64encode(proof).decode()}".encode()

    def finish(self, message: bytes) -> None:
        pass  # the server need not prove to itself who it is
