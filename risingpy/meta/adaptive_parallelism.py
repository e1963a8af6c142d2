"""As many shards as there are cores, where ALTER SYSTEM SET parallelism = adaptive asks for it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from risingpy.config import MAX_PARALLELISM
from risingpy.meta.database import Database
from risingpy.meta.schema.system_parameters import with_shards_of_cores

LOG = logging.getLogger(__name__)

LOOK_SECONDS = 5.0
MORE_SECONDS, FEWER_SECONDS = 60.0, 600.0


class AdaptiveParallelism:
    """Looks at the engine's cores, and has the state moved when they have been others for long enough.

    A move reads and writes the whole state, and a machine that is lost usually comes back; until then its shards run on
    those that are left. So cores that are gone count after FEWER_SECONDS, cores that have come after MORE_SECONDS. Any
    change meanwhile begins the time anew. While the engine knows no cores, as without an executor, nothing is decided.
    """

    def __init__(self, database: Database, cores: Callable[[], int | None]) -> None:
        self._database = database
        self._cores = cores
        self._seen = 0
        self._since = 0.0

    def start(self, stop: threading.Event) -> None:
        """Looks until `stop`, in a thread: a Spark that stands still keeps whoever asks it."""

        def watch() -> None:
            while not stop.wait(LOOK_SECONDS):
                self.look(time.monotonic())

        threading.Thread(target=watch, name="adaptive-parallelism", daemon=True).start()

    def look(self, now: float) -> None:
        """Once, at a moment of the monotonic clock. It waits for nothing: the next epoch follows the move."""
        state = self._database.reads.state
        found = self._cores() if state.adaptive_parallelism and not state.wanted_shards else None
        if found is None:
            self._seen = 0
            return
        shards = min(found, MAX_PARALLELISM)
        if shards != self._seen:
            self._seen, self._since = shards, now
        settled = MORE_SECONDS if shards > state.shards else FEWER_SECONDS
        if shards != state.shards and now - self._since >= settled:
            LOG.info("the state is moved from %d to %d shards: there are so many cores", state.shards, shards)
            self._database.ddl.change_soon(lambda state: with_shards_of_cores(state, shards))
            self._seen = 0
