"""What ends a connection, rather than a statement."""

from __future__ import annotations

from risingpy.errors import SqlError


class Hangup(Exception):
    """The client is gone: end silently."""


class Fatal(Exception):
    """The connection cannot go on: tell the client why, with severity FATAL, and close."""

    def __init__(self, error: SqlError) -> None:
        super().__init__(error.message)
        self.error = error
