"""Has shards loaded on the machines that are about to run their tasks, in a job of its own, beside the epochs.

A machine that joins, or comes back with an empty disk, takes shards over from those that have too many. Loading them
takes seconds for millions of rows, and the epochs need not wait: they go on where the shards are.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass

LOG = logging.getLogger(__name__)

PAUSE_SECONDS = 5.0  # after a job that failed: its machine is lost again, or has other versions

HostShards = Mapping[str, tuple[int, ...]]  # by host, what it loads


@dataclass(frozen=True, slots=True)
class _Job:
    by_host: HostShards
    done: Future[None]


class ShardLoading:
    """One job at a time. For one thread; the job runs in another one."""

    def __init__(self, pause_seconds: float = PAUSE_SECONDS) -> None:
        self._pause_seconds = pause_seconds
        self._job: _Job | None = None
        self._not_before = 0.0

    def done(self) -> list[tuple[int, str]]:
        """The shards that a job has loaded since the last call, and where."""
        job = self._job
        if job is None or not job.done.done():
            return []
        self._job = None
        error = job.done.exception()
        if error is not None:
            LOG.warning("shards were not loaded on %s: %s", ", ".join(job.by_host), _first_line(error))
            self._not_before = time.monotonic() + self._pause_seconds
            return []
        return [(shard, host) for host, shards in job.by_host.items() for shard in shards]

    def begin(self, to_load: Mapping[int, str], load: Callable[[HostShards], None]) -> None:
        """Begins to load the shards, each on its host, if no job runs. `load` raises what keeps it from that."""
        if not to_load or self._job is not None or time.monotonic() < self._not_before:
            return
        hosts = dict.fromkeys(to_load.values())
        by_host = {host: tuple(shard for shard, wanted in to_load.items() if wanted == host) for host in hosts}
        self._job = _Job(by_host, Future())
        LOG.info("shards are being loaded: %s", by_host)
        threading.Thread(target=_run, args=(self._job, load), name="shard-loading", daemon=True).start()


def _run(job: _Job, load: Callable[[HostShards], None]) -> None:
    try:
        load(job.by_host)
        job.done.set_result(None)
    except Exception as error:  # Spark's, py4j's, a task's
        job.done.set_exception(error)


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
