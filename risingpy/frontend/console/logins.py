"""Who has logged in to the console.

A page has a token, which it sends with each request and which no other page sees: no cookie, so a browser adds nothing
to a request by itself.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from risingpy.plan.catalog import Role

IDLE_SECONDS = 12 * 3600.0
MOST_LOGINS = 1000


@dataclass(frozen=True, slots=True)
class Login:
    """A user whom the door has let in from an address; `secret` is what checked the password.

    From another address, or with another password, one logs in again.
    """

    user: str
    address: str
    database: str
    role_id: int
    secret: str | None

    def holds(self, role: Role | None, address: str) -> bool:
        """Whether the role of its name, with its password, and the address of a request are still those."""
        found = None if role is None else (role.role_id, role.secret, address)
        return found == (self.role_id, self.secret, self.address)


class Logins:
    """The logins by token. From any thread. Tokens are kept as their hashes."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._guard = threading.Lock()
        self._logins: dict[bytes, tuple[Login, float]] = {}  # with the time of the last use; the oldest first

    def add(self, login: Login) -> str:
        """The token of a new login. If there are too many, the one that was not used for the longest time ends."""
        token = secrets.token_urlsafe(32)
        with self._guard:
            while len(self._logins) >= MOST_LOGINS:
                del self._logins[next(iter(self._logins))]
            self._logins[_hash(token)] = login, self._clock()
        return token

    def get(self, token: str) -> Login | None:
        """The token's login, which is used by this; None if it never was, or has ended."""
        key, now = _hash(token), self._clock()
        with self._guard:
            login, used = self._logins.pop(key, (None, now))
            if login is None or used + IDLE_SECONDS < now:
                return None
            self._logins[key] = login, now
        return login

    def end(self, token: str) -> None:
        with self._guard:
            self._logins.pop(_hash(token), None)


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
