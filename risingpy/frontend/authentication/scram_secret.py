"""What is stored of a password, PostgreSQL's form: SCRAM-SHA-256$<iterations>:<salt>$<StoredKey>:<ServerKey>.

The three are in base64. StoredKey checks a client's proof, ServerKey proves to the client that the server knows the
secret. Neither gives the password: each guess costs `iterations` rounds of HMAC-SHA-256 (RFC 5802, section 3).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
import re
from dataclasses import dataclass

from risingpy.frontend.authentication.saslprep import saslprep

ITERATIONS = 4096  # PostgreSQL's, and the least that RFC 7677 allows; a client computes them at every login
SALT_BYTES = 16
KEY_BYTES = 32
_FORM = re.compile(r"SCRAM-SHA-256\$(\d{1,9}):([A-Za-z0-9+/=]+)\$([A-Za-z0-9+/=]{44}):([A-Za-z0-9+/=]{44})")


@dataclass(frozen=True, slots=True)
class ScramSecret:
    """The parts of a stored secret."""

    iterations: int
    salt: bytes
    stored_key: bytes
    server_key: bytes

    def text(self) -> str:
        """As it is stored."""
        salt, stored, server = (_encoded(part) for part in (self.salt, self.stored_key, self.server_key))
        return f"SCRAM-SHA-256${self.iterations}:{salt}${stored}:{server}"


def made_secret(password: str, salt: bytes | None = None, iterations: int = ITERATIONS) -> str:
    """What to store for a password."""
    salt = os.urandom(SALT_BYTES) if salt is None else salt
    prepared = saslprep(password).encode("utf-8", "surrogateescape")
    salted = hashlib.pbkdf2_hmac("sha256", prepared, salt, iterations)
    stored = hashlib.sha256(mac(salted, b"Client Key")).digest()
    return ScramSecret(iterations, salt, stored, mac(salted, b"Server Key")).text()


def is_scram_secret(text: str) -> bool:
    """Whether a text has the form of a stored secret."""
    return parsed_secret(text) is not None


def parsed_secret(text: str) -> ScramSecret | None:
    """The parts; None if the text has another form."""
    found = _FORM.fullmatch(text)
    if found is None or int(found[1]) < 1:
        return None
    try:
        salt, stored, server = (base64.b64decode(part, validate=True) for part in found.groups()[1:])
    except binascii.Error:
        return None
    if len(stored) != KEY_BYTES or len(server) != KEY_BYTES:
        return None
    return ScramSecret(int(found[1]), salt, stored, server)


def mock_secret(user: str, key: bytes) -> ScramSecret:
    """What the exchange with a user is about who has no password: always the same salt, so that nobody can tell.

    `key` is the server's secret. No password fits.
    """
    salt = hashlib.sha256(key + user.encode("utf-8", "surrogateescape")).digest()[:SALT_BYTES]
    return ScramSecret(ITERATIONS, salt, os.urandom(KEY_BYTES), os.urandom(KEY_BYTES))


def mac(key: bytes, message: bytes) -> bytes:
    """HMAC-SHA-256."""
    return hmac.digest(key, message, "sha256")


def _encoded(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
