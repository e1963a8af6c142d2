"""The source of the streaming queries: its offsets are epochs, and reading it runs stage 0.

Spark calls `latestOffset` and `partitions` in one long-lived process, and `read` in the tasks' workers. It starts four
more processes only to make the source and pickle it, so this module imports nothing that takes long.

The narrow query begins before the committed epoch, so that its first micro-batch has an epoch, but no work. When the
first real epoch comes, Spark has loaded its classes and the task already waits in a worker.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from risingpy.executors.epoch.descriptor import descriptor_of
from risingpy.executors.spark.epoch_channel import EpochClient
from risingpy.executors.spark.server_run import ServerRun
from risingpy.executors.spark.session import EPOCH_FORMAT

if TYPE_CHECKING:
    import pyarrow as pa

ROW_SCHEMA = "shard int, port bigint, payload binary"


@dataclass
class EpochPartition(InputPartition):
    """One task of stage 0 on `shard`. If `shard` is None, the task runs this whole epoch and the following ones."""

    epoch: int
    shard: int | None


class EpochSource(DataSource):
    """Options: `data_dir`, `channel` (the socket's path), `committed`, `start` (the epochs to start from), `one_task`
    (whether all epochs are of one task).
    """

    @classmethod
    def name(cls) -> str:
        return EPOCH_FORMAT

    def schema(self) -> str:
        return ROW_SCHEMA

    def streamReader(self, schema: StructType) -> EpochStreamReader:
        options = self.options
        return EpochStreamReader(
            options["data_dir"],
            options["channel"],
            int(options["committed"]),
            int(options["start"]),
            one_task=options["one_task"] == "True",
        )


class EpochStreamReader(DataSourceStreamReader):
    """See the module's docstring."""

    def __init__(self, data_dir: str, channel: str, committed: int, start: int, *, one_task: bool) -> None:
        self._data_dir = data_dir
        self._channel = channel
        self._committed = committed
        self._start = start
        self._one_task = one_task
        self._client: EpochClient | None = None

    def initialOffset(self) -> dict[str, int]:
        return {"epoch": self._start}

    def latestOffset(self, start: dict[str, Any] | None = None, limit: Any = None) -> dict[str, int]:
        if self._client is None:
            self._client = EpochClient(self._channel)
        seen = int(start["epoch"]) if start else self._start
        if seen < self._committed:
            return {"epoch": self._committed}
        return {"epoch": self._client.newest(seen)}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        epoch = int(end["epoch"])
        if epoch == int(start["epoch"]):
            return []
        if epoch == self._committed or self._one_task:
            return [EpochPartition(epoch, None)]
        descriptor = descriptor_of(Path(self._data_dir), epoch)
        return [EpochPartition(epoch, shard) for shard in range(descriptor.shards)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        # This imports the whole engine; the workers' daemon has already imported it.
        from risingpy.executors.spark.stage_task import run_epochs, run_first_stage

        assert isinstance(partition, EpochPartition)
        server = ServerRun(self._data_dir, os.path.dirname(self._channel))
        if partition.shard is None:
            # The partition's own epoch is the first to run, unless it is committed.
            return run_epochs(server, self._channel, max(self._committed, partition.epoch - 1))
        return run_first_stage(server, partition.epoch, partition.shard)
