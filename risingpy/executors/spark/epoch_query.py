"""A streaming query that runs epochs, and the socket on which its source and its task wait for them.

There are two. The *narrow* one reads its source and drops what comes: its one task runs whole epochs, one after the
other, and reports each on the socket; its micro-batch lasts until the task is told to end. A micro-batch of the *wide*
one is one epoch, whose shuffled stages it chains in `foreachBatch`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from risingpy.executors.spark.epoch_channel import EpochChannel
from risingpy.executors.spark.session import EPOCH_FORMAT

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

# Spark writes and syncs two small files per micro-batch, and has a process of its own chmod each: 12 ms, for files
# that nobody reads, recovery being ours. Asynchronous progress leaves out all that are closer than this.
_PROGRESS = {
    "asyncProgressTrackingEnabled": "true",
    "asyncProgressTrackingCheckpointIntervalMs": str(24 * 3600 * 1000),
    # Spark knows of its own sinks only that they do not count on the files; ours does not either.
    "_asyncProgressTrackingOverrideSinkSupportCheck": "true",
}


class EpochQuery:
    """`open_epoch` starts an epoch; `is_running` tells whether it can still end well.

    `run_batch` is what a wide query calls with each micro-batch; a narrow one has None.
    """

    def __init__(self, name: str, channel: EpochChannel, run_batch: Callable[[DataFrame, int], None] | None) -> None:
        self._name = name
        self._channel = channel
        self._run_batch = run_batch
        self._query: StreamingQuery | None = None
        self._starts = 0
        self._stopped = False

    def ensure_started(self, session: SparkSession, data_dir: Path, scratch: Path, committed: int) -> None:
        """Starts the query at the committed epoch, if it does not run.

        A fresh query starts with a fresh checkpoint: Spark's own is scratch.
        """
        if self.is_running or self._stopped:
            return
        self._channel.open_epoch(committed)  # a new query must not begin with an epoch that failed
        self._starts += 1
        stream = (
            session.readStream.format(EPOCH_FORMAT)
            .option("data_dir", str(data_dir))
            .option("channel", str(self._channel.path))
            .option("committed", str(committed))
            .option("start", str(committed if self._run_batch else committed - 1))
            .load()
        )
        name = f"{self._name}-{self._starts}"
        writer: Any = stream.writeStream.queryName(name).option("checkpointLocation", str(scratch / name))
        sink = writer.format("noop") if self._run_batch is None else writer.foreachBatch(self._run_batch)
        self._query = sink.options(**_PROGRESS).start()
        if self._stopped:  # meanwhile, by another thread, which may have seen no query
            self.stop()

    def open_epoch(self, epoch: int) -> None:
        self._channel.open_epoch(epoch)

    def dismiss_task(self) -> None:
        """Ends the micro-batch of a narrow query, whose task would keep a core of Spark's from the wide one."""
        self._channel.dismiss_task()

    @property
    def is_running(self) -> bool:
        return self._query is not None and self._query.isActive

    @property
    def task_has_come(self) -> bool:
        """True as soon as a task of a narrow query is ready for epochs."""
        return self._channel.task_has_come

    @property
    def failure(self) -> str:
        """Why it ended, as Spark has it."""
        return "it was never started" if self._query is None else str(self._query.exception())

    def refuse_starts(self) -> None:
        """From now on the query is not started; one that another thread is just starting ends as soon as it has."""
        self._stopped = True

    def close_channel(self) -> None:
        """Lets the waiting source and task go, so that `stop` need not wait for them."""
        self._channel.close()

    def stop(self) -> None:
        """Ends the query, also one that another thread is just starting. No epoch runs on it any more."""
        self.refuse_starts()
        with contextlib.suppress(Exception):
            if self._query is not None:
                self._query.stop()
