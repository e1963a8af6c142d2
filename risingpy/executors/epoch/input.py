"""An epoch's own input: what executors read besides their state and other executors' output."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from risingpy.executors.epoch.handed_over import HandedOver
from risingpy.executors.epoch.source_reading import SourceRows
from risingpy.executors.few_rows.chunk import Chunk


class EpochInput(Protocol):
    """One epoch's input, for one shard. `committed` is the epoch before it."""

    epoch: int
    committed: int

    def first_epoch_of(self, job_id: int) -> bool:
        """True if the job runs for the first time in this epoch."""
        ...

    def watermark(self, watermark_id: int) -> int | None:
        """The watermark that all epochs before have reached; None if there is none yet."""
        ...

    def is_backfilling(self, job_id: int) -> bool:
        """True if the job may still read its upstreams' snapshots, with rows that watermarks passed long ago."""
        ...

    def snapshot_rows(self, job_id: int) -> int:
        """How many rows of each upstream's snapshot a job in creation reads in this epoch; 0: it pauses."""
        ...

    def limited(self, job_id: int) -> AbstractContextManager[None]:
        """A context manager in which this thread works for a job that may take only so much of the epoch.

        Its earlier work on this shard in this epoch counts as well. Raises JobTookTooLong.
        """
        ...

    def handed_over(self, job_id: int) -> HandedOver | None:
        """What the job has done on this shard in epochs of its own, if the epoch takes that over."""
        ...

    def log_changes(self, table_id: int) -> Chunk | None:
        """The epoch's logged changes of a table (`op`, `c0`…) for all shards, in log order; None if there are none."""
        ...

    def source_rows(self, job_id: int, source_id: int, columns: Sequence[int]) -> Iterable[SourceRows]:
        """This shard's part of a source's rows that are new to the job. Raises SourceFailed.

        The changes have `op`, and as `c0`… the relation's columns at the positions `columns`. The position after the
        relation's last column stands for the row id.
        """
        ...
