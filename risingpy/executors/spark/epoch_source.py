"""The source of the streaming queries: its offsets are epochs, and reading it runs stage 0.

Spark asks `latestOffset` and `partitions` in one long-lived process, and `read` in the tasks' workers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from risingpy.executors.spark.epoch_channel import EpochClient
from risingpy.executors.spark.stage_task import ROW_SCHEMA, descriptor_of, run_all_stages, run_first_stage

FORMAT = "risingpy_epochs"


@dataclass
class EpochPartition(InputPartition):
    """One task of stage 0; `shard` None: the whole epoch in this task."""

    epoch: int
    shard: int | None


class EpochSource(DataSource):
    """Options: `data_dir`, `channel` (the socket's path), `committed` (the epoch to start from)."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return ROW_SCHEMA

    def streamReader(self, schema: StructType) -> EpochStreamReader:
        return EpochStreamReader(self.options["data_dir"], self.options["channel"], int(self.options["committed"]))


class EpochStreamReader(DataSourceStreamReader):
    """See the module's docstring."""

    def __init__(self, data_dir: str, channel: str, committed: int) -> None:
        self._data_dir = data_dir
        self._channel = channel
        self._committed = committed
        self._client: EpochClient | None = None

    def initialOffset(self) -> dict[str, int]:
        return {"epoch": self._committed}

    def latestOffset(self, start: dict[str, Any] | None = None, limit: Any = None) -> dict[str, int]:
        if self._client is None:
            self._client = EpochClient(self._channel)
        seen = int(start["epoch"]) if start else self._committed
        return {"epoch": self._client.newest(seen)}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        epoch = int(end["epoch"])
        if epoch == int(start["epoch"]):
            return []
        descriptor = descriptor_of(self._data_dir, epoch)
        if descriptor.single_task:
            return [EpochPartition(epoch, None)]
        return [EpochPartition(epoch, shard) for shard in range(descriptor.shards)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, EpochPartition)
        if partition.shard is None:
            return run_all_stages(self._data_dir, self._channel, partition.epoch)
        return run_first_stage(self._data_dir, partition.epoch, partition.shard)
