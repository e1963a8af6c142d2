"""DuckDB connections that belong to threads, and protects them during forks.

A forked child has one thread. Python frees the other threads' local objects there, and closing a connection waits for
threads of DuckDB that the child does not have: the child hangs and dies (seen when PySpark forks to start Java). So
every connection has one more reference while this process forks, and in the child for ever.
"""

from __future__ import annotations

import os
import threading
import weakref
from dataclasses import dataclass

import duckdb


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class OwnedConnection:
    """A thread's connection. It is closed when the thread ends, with its last reference."""

    connection: duckdb.DuckDBPyConnection


class ThreadConnections:
    """The connections of all threads, held over forks."""

    def __init__(self) -> None:
        self._guard = threading.Lock()  # of the set, which other threads change
        self._owned: weakref.WeakSet[OwnedConnection] = weakref.WeakSet()
        self._held: list[OwnedConnection] = []
        os.register_at_fork(before=self._hold, after_in_parent=self._let_go, after_in_child=self._start_anew)

    def add(self, connection: duckdb.DuckDBPyConnection) -> OwnedConnection:
        """Registers a connection for as long as the result lives."""
        owned = OwnedConnection(connection)
        with self._guard:
            self._owned.add(owned)
        return owned

    def _hold(self) -> None:
        self._guard.acquire()
        self._held = list(self._owned)

    def _let_go(self) -> None:
        self._held = []
        self._guard.release()

    def _start_anew(self) -> None:
        """In the child: keeps the references for ever; the child's threads make their own connections."""
        self._owned = weakref.WeakSet()
        self._guard = threading.Lock()
