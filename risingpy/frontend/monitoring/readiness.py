"""Whether the server is ready for clients."""

from __future__ import annotations

import threading

from risingpy.meta.database import Database

STALLED_SECONDS = 300.0  # a backfill's epoch takes seconds; no epoch that gets on takes minutes


class Readiness:
    """What the server has reached. The server's main thread writes it, requests read it."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._database: Database | None = None
        self._stops = False

    @property
    def database(self) -> Database | None:
        """The database, once it is recovered and serves clients."""
        return self._database

    def serves(self, database: Database) -> None:
        """The database is recovered, and clients can connect."""
        with self._guard:
            self._database = database

    def stops(self) -> None:
        """From now on, clients are told to go."""
        with self._guard:
            self._stops = True
            self._database = None

    def obstacle(self) -> str | None:
        """Why clients should not come here now; None if they should."""
        if self._stops:
            return "the server is stopping"
        database = self._database
        if database is None:
            return "the server is starting: it recovers the database"
        if database.stalled is not None:
            return f"epochs cannot run, and are tried again: {database.stalled}"
        times = database.introspection.epoch_times
        if times.failing is not None:
            return f"the last epoch failed, and is tried again: {times.failing}"
        if times.busy_seconds > STALLED_SECONDS:
            return f"an epoch has been running for {times.busy_seconds:.0f} s"
        return None
