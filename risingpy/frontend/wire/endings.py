"""Exceptions that end a connection, not only a statement."""

from __future__ import annotations

from risingpy.errors import SqlError


class Hangup(Exception):
    """The client is gone: the connection ends silently."""


class Fatal(Exception):
    """The connection cannot continue: the server tells the client why, with severity FATAL, and closes it."""

    def __init__(self, error: SqlError) -> None:
        super().__init__(error.message)
        self.error = error
