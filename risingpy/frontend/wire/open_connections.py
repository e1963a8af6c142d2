"""The connections of a server, whichever socket they came through: how many there may be, and who looks after them."""

from __future__ import annotations

import secrets
import socket
import threading
from typing import TYPE_CHECKING

from risingpy.errors import CannotConnectNow, SqlError
from risingpy.frontend.wire.activity import Due
from risingpy.frontend.wire.limits import Limits
from risingpy.frontend.wire.startup import CancelRequest

if TYPE_CHECKING:
    from risingpy.frontend.wire.connection import Connection

_UNADMITTED_SPARE = 64  # sockets above max_connections: for CancelRequests, and to tell clients that the server is full


class OpenConnections:
    """From any thread."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.closing = False
        self._lock = threading.Condition()
        self._connections: dict[Connection, int] = {}  # → process id, 0 before the client is let in; oldest first

    def make_room(self) -> None:
        """Cuts the oldest client that nobody has let in yet, if there are too many of them.

        So those who connect and say nothing, or not who they are, cannot keep others out.
        """
        with self._lock:
            if len(self._connections) < self.limits.max_connections + _UNADMITTED_SPARE:
                return
            oldest = next((each for each, process_id in self._connections.items() if not process_id), None)
        if oldest is not None:
            oldest.shut(socket.SHUT_RDWR)

    def register(self, connection: Connection) -> None:
        with self._lock:
            self._connections[connection] = 0

    def unregister(self, connection: Connection) -> None:
        with self._lock:
            self._connections.pop(connection, None)
            self._lock.notify_all()

    def admit(self, connection: Connection) -> int:
        """Lets the connection in; returns an id for BackendKeyData, positive, and no other connection's.

        Raises the client's error if it cannot be served: too many clients, or the server stops.
        """
        with self._lock:
            self._check_room()
            taken = set(self._connections.values())
            while (process_id := secrets.randbelow(2**31 - 1) + 1) in taken:
                pass
            self._connections[connection] = process_id
            return process_id

    def check_room(self) -> None:
        """Raises as `admit` does."""
        with self._lock:
            self._check_room()

    def _check_room(self) -> None:
        if self.closing:
            raise CannotConnectNow("the database system is shutting down")
        admitted = sum(1 for process_id in self._connections.values() if process_id)
        if admitted >= self.limits.max_connections:
            raise SqlError("sorry, too many clients already", sqlstate="53300")

    def cancel(self, request: CancelRequest) -> None:
        """Cancels the statement of another connection. Ignores a wrong key, as the protocol demands."""
        with self._lock:
            found = [connection for connection, known in self._connections.items() if known == request.process_id]
        for connection in found:
            if connection.has_key(request.secret_key):
                connection.cancel()

    def all(self) -> list[Connection]:
        with self._lock:
            return list(self._connections)

    def wait_until_empty(self, seconds: float) -> bool:
        with self._lock:
            return self._lock.wait_for(lambda: not self._connections, seconds)

    def look_after(self, now: float) -> None:
        """One round of the watchman."""
        for connection in self.all():
            if connection.session is not None and connection.session.is_in_engine():
                connection.priority.lower_if_long()
            connection.cut_if_stuck(now)
            match connection.activity.due(now, self.limits):
                case Due.CUT:
                    connection.shut(socket.SHUT_RDWR)
                case Due.LOOK if connection.has_hung_up():
                    connection.cancel()
                case Due.REST if connection.session is not None:
                    end = connection.session.idle_end(connection.activity.rest_seconds(now))
                    if end is not None:
                        connection.terminate(end)
