"""A streaming query that runs epochs, and the socket on which its source and its task wait for them.

There are two, because a micro-batch costs far more than a small epoch. The *narrow* one has an endless micro-batch: its
only task runs whole epochs, one after the other, reports each on the socket, and ends when it is told to. A micro-batch
of the *wide* one is one epoch; `foreachBatch` chains its stages with shuffles between them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from risingpy.executors.spark.epoch_channel import EpochChannel
from risingpy.executors.spark.java_output import without_java_stack
from risingpy.executors.spark.session import EPOCH_FORMAT

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

# Spark writes and syncs two small files per micro-batch, and starts a process to chmod each: 12 ms. Nobody reads these
# files, since recovery is ours. With asynchronous progress Spark writes them once in this interval.
_PROGRESS = {
    "asyncProgressTrackingEnabled": "true",
    "asyncProgressTrackingCheckpointIntervalMs": str(24 * 3600 * 1000),
    # Spark allows this only for sinks that it knows not to need the files. Ours does not need them.
    "_asyncProgressTrackingOverrideSinkSupportCheck": "true",
}


class EpochQuery:
    """`open_epoch` starts an epoch; it can succeed as long as `is_running`.

    A wide query calls `run_batch` with each micro-batch; a narrow one has None.
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

        Each start has a new checkpoint directory: nothing depends on Spark's checkpoints.
        """
        # A query whose task waits runs. To ask Spark means a call to another process, for each small epoch.
        if self._channel.task_waits or self.is_running or self._stopped:
            return
        self._channel.open_epoch(committed)  # a new query must not begin with an epoch that failed
        self._starts += 1
        stream = (
            session.readStream.format(EPOCH_FORMAT)
            .option("data_dir", str(data_dir))
            .option("channel", str(self._channel.path))
            .option("committed", str(committed))
            .option("start", str(committed if self._run_batch else committed - 1))
            .option("one_task", str(self._run_batch is None))
            .load()
        )
        name = f"{self._name}-{self._starts}"
        writer: Any = stream.writeStream.queryName(name).option("checkpointLocation", str(scratch / name))
        sink = writer.format("noop") if self._run_batch is None else writer.foreachBatch(self._run_batch)
        self._query = sink.options(**_PROGRESS).start()
        if self._stopped:  # another thread has stopped it meanwhile, and may not have seen `_query`
            self.stop()

    def open_epoch(self, epoch: int, order: bytes = b"") -> None:
        """Has the query run an epoch: a wide one as its descriptor says, a narrow one as the order does."""
        self._channel.open_epoch(epoch, order)

    def dismiss_task(self) -> None:
        """Ends the micro-batch of a narrow query: its task would occupy a core that the wide query needs."""
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
        """Spark's reason why the query ended."""
        return "it was never started" if self._query is None else without_java_stack(str(self._query.exception()))

    def forget(self) -> None:
        """The session is no more, and its queries with it: the next start has another one."""
        self._query = None
        self._channel.forget_task()

    def refuse_starts(self) -> None:
        """Prevents starts from now on; a query that another thread is just starting ends as soon as it has started."""
        self._stopped = True

    def close_channel(self) -> None:
        """Answers the waiting source and task, so that `stop` need not wait for them."""
        self._channel.close()

    def stop(self) -> None:
        """Ends the query, also one that another thread is just starting. No epoch runs on it afterwards."""
        self.refuse_starts()
        with contextlib.suppress(Exception):
            if self._query is not None:
                self._query.stop()
