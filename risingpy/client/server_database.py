"""A database that a server runs: gives sessions of it."""

from __future__ import annotations

import threading
import weakref
from urllib.parse import urlsplit

from risingpy.client.interface import OpenDatabase
from risingpy.client.server_changes import ServerChanges
from risingpy.client.server_session import ServerSession
from risingpy.errors import SqlError


class ServerDatabase(OpenDatabase):
    """A server's database. Each session, and each stream of changes, is a connection of its own.

    A session whose connection is lost raises SqlError (08006) from then on: its settings are lost, too, and so it is
    not silently made anew.
    """

    def __init__(self, url: str) -> None:
        """`url` is libpq's. Raises SqlError."""
        self._url = url
        self._is_open = True
        self._guard = threading.Lock()
        self._others: weakref.WeakSet[ServerSession | ServerChanges] = weakref.WeakSet()
        self._own = self.session()

    def session(self) -> ServerSession:
        session = ServerSession(self._checked_url(), self._others.discard)
        self._others.add(session)
        return session

    def close(self) -> None:
        with self._guard:
            self._is_open = False
            others = list(self._others)
        for each in others:
            each.close()

    def __repr__(self) -> str:
        place = urlsplit(self._url)
        return f"<risingpy database at {place.netloc.rpartition('@')[2]}{place.path}>"

    def _subscribed(self, text: str) -> ServerChanges:
        changes = ServerChanges(self._checked_url(), text)
        self._others.add(changes)
        return changes

    def _checked_url(self) -> str:
        if not self._is_open:
            raise SqlError("the database is closed", sqlstate="08003")
        return self._url
