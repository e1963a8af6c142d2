"""Reads the write-ahead log, from any process, while its owner appends to it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator
from pathlib import Path

from risingpy.storage.log.segment import (
    ALIGNMENT,
    BlockPlace,
    DamagedLog,
    LogRecord,
    Segment,
    open_segment,
    segment_paths,
)
from risingpy.storage.log.spill import spilled_records


class LogReader:
    """Keeps the log's files mapped from one read to the next. For one thread at a time."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._segments: list[_IndexedSegment] = []

    def read(self, after_lsn: int, up_to_lsn: int, table_ids: Collection[int] | None = None) -> Iterator[LogRecord]:
        """The records of rows with after_lsn < lsn <= up_to_lsn in order, of `table_ids` only if given.

        A record with a spill comes as the records in its file, all with its lsn.

        The caller knows that all of them are durable. Their payloads stay readable as long as they are held,
        also when the log has dropped the file. DamagedLog if a record is not there or not what was written.
        """
        wanted = None if table_ids is None else frozenset(table_ids)
        for record in self._read(after_lsn, up_to_lsn, wanted):
            if record.spill is not None:
                yield from spilled_records(self._directory, record)
            elif record.offset is None:
                yield record

    def offsets(self, after_lsn: int, up_to_lsn: int) -> dict[int, str]:
        """The last offset of each pushed source in after_lsn < lsn <= up_to_lsn. Reads no rows."""
        records = self._read(after_lsn, up_to_lsn, None, checked=False)
        return {record.table_id: record.offset for record in records if record.offset is not None}

    def _read(
        self, after_lsn: int, up_to_lsn: int, wanted: frozenset[int] | None, *, checked: bool = True
    ) -> Iterator[LogRecord]:
        lsn = after_lsn + 1
        while lsn <= up_to_lsn:
            segment, block = self._find(lsn)
            for record in segment.records_of(block, wanted, checked=checked):
                if lsn <= record.lsn <= up_to_lsn:
                    yield record
            lsn = block.last_lsn + 1

    def _find(self, lsn: int) -> tuple[Segment, BlockPlace]:
        found = self._find_in_known(lsn)
        if found is None:
            self._refresh()
            found = self._find_in_known(lsn)
        if found is None:
            raise DamagedLog(f"the log in {self._directory} has no record {lsn}")
        return found

    def _find_in_known(self, lsn: int) -> tuple[Segment, BlockPlace] | None:
        position = bisect_right(self._segments, lsn, key=lambda known: known.segment.first_lsn)
        if position == 0:
            return None
        known = self._segments[position - 1]
        block = known.find(lsn)
        return None if block is None else (known.segment, block)

    def _refresh(self) -> None:
        """Maps new files and lets go of those that the log has dropped."""
        known = {known.segment.first_lsn: known for known in self._segments}
        self._segments = []
        for first_lsn, path in segment_paths(self._directory).items():
            try:
                self._segments.append(known.get(first_lsn) or _IndexedSegment(open_segment(path)))
            except FileNotFoundError:
                continue  # the log has dropped it since it was listed


class _IndexedSegment:
    """A segment and the blocks found in it so far."""

    def __init__(self, segment: Segment) -> None:
        self.segment = segment
        self._blocks: list[BlockPlace] = []

    def find(self, lsn: int) -> BlockPlace | None:
        """The block that holds record `lsn`; None if no such block is there yet."""
        end = self._blocks[-1].end if self._blocks else ALIGNMENT
        next_lsn = self._blocks[-1].last_lsn + 1 if self._blocks else self.segment.first_lsn
        while next_lsn <= lsn:
            block = self.segment.block_at(end)
            if block is None or block.first_lsn != next_lsn:
                return None
            self._blocks.append(block)
            end, next_lsn = block.end, block.last_lsn + 1
        return self._blocks[bisect_right(self._blocks, lsn, key=lambda block: block.first_lsn) - 1]
