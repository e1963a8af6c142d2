"""The texts that run for pages of the console, and what ends them early."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus

from risingpy.errors import CannotConnectNow, SqlError
from risingpy.frontend.console.requests import PageRefused
from risingpy.frontend.session import ClientSession
from risingpy.sockets import has_hung_up

MOST_RUNS = 24  # of a server: the other places of its listener are for monitoring
LOOK_SECONDS = 0.25  # how often clients are looked at that may have gone
_STOP_SECONDS = 10.0


class RunningText:
    """A text's session. Other sessions may cancel or end it, as its `Backend`."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.session: ClientSession | None = None
        self.ended_by: SqlError | None = None

    def cancel(self) -> None:
        """Ends what runs, with QueryCanceled. From any thread."""
        session = self.session
        if session is not None:
            session.cancel()

    def terminate(self, reason: SqlError) -> None:
        """As `cancel`, and the page is told the reason."""
        self.ended_by = reason
        self.cancel()

    def notified(self) -> None:
        """A page is sent no notifications."""


class Runs:
    """The runs of all pages, by the page's token and the name that it gave. From any thread.

    A page that is closed ends what it runs: a thread looks whether clients have hung up, while something runs.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._runs: dict[RunningText, tuple[str, str]] = {}
        self._stops = False
        self._watcher: threading.Thread | None = None

    @contextmanager
    def run(self, token: str, name: str, connection: socket.socket) -> Iterator[RunningText]:
        """Around a text that runs. Raises PageRefused if too many do, or the server stops."""
        run = RunningText(connection)
        with self._changed:
            if self._stops:
                raise PageRefused(HTTPStatus.SERVICE_UNAVAILABLE, "the server is stopping")
            if len(self._runs) >= MOST_RUNS:
                raise PageRefused(HTTPStatus.SERVICE_UNAVAILABLE, "too many statements run in consoles")
            self._runs[run] = token, name
            if self._watcher is None:
                self._watcher = threading.Thread(target=self._watch, name="console-watcher", daemon=True)
                self._watcher.start()
            self._changed.notify_all()
        try:
            yield run
        finally:
            with self._changed:
                del self._runs[run]
                self._changed.notify_all()

    def cancel(self, token: str, name: str) -> int:
        """Cancels what a page runs under a name; returns how many texts that were."""
        with self._changed:
            found = [run for run, key in self._runs.items() if key == (token, name)]
        for run in found:
            run.cancel()
        return len(found)

    def stop(self) -> None:
        """Ends all that runs, and returns when it has ended. Nothing begins any more."""
        with self._changed:
            self._stops = True
            for run in self._runs:
                run.terminate(CannotConnectNow("the database system is shutting down"))
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._runs, _STOP_SECONDS)

    def _watch(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._runs or self._stops)
                if self._stops:
                    return
                runs = list(self._runs)
            for run in runs:
                if has_hung_up(run.connection):
                    run.cancel()
            with self._changed:
                self._changed.wait_for(lambda: self._stops, LOOK_SECONDS)
