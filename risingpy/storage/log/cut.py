"""Ends a copy of a log where the log ended at an earlier moment, while it was written to."""

from __future__ import annotations

import os
from pathlib import Path

from risingpy.storage.log.segment import ALIGNMENT, Segment, open_segment, segment_paths


def cut_log(directory: Path, last_lsn: int) -> None:
    """Removes all records after `last_lsn`, durably, from the files of a log that nobody has open.

    `last_lsn` must have been durable when the copy began: records after it may be there in part.
    """
    for first_lsn, path in segment_paths(directory).items():
        if first_lsn > last_lsn + 1:
            path.unlink()
        else:
            end = _end(open_segment(path), last_lsn)
            with path.open("r+b") as file:
                file.truncate(end)
                os.fsync(file.fileno())


def _end(segment: Segment, last_lsn: int) -> int:
    """Where the block ends that has the record, or the segment's last one before it."""
    end = ALIGNMENT
    while (block := segment.block_at(end)) is not None and block.last_lsn <= last_lsn:
        end = block.end
    return end
