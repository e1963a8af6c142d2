"""Where each value of row events begins: one pass over the bytes, because a row begins where the one before it ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numba import njit

from risingpy.connectors.mysql_cdc.events import MapColumn

Positions = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
Ops = npt.NDArray[np.int8]
NULL = -1  # the length of a value that is none
ENDS_EARLY = -1


@dataclass(frozen=True, slots=True)
class EventRows:
    """Rows of events of one table, in order: an update is a deletion and an insertion.

    `starts` and `lengths` have a row for each column; both count in `data`. `events` are the rows' events.
    """

    data: Bytes
    ops: Ops
    starts: npt.NDArray[np.int64]
    lengths: npt.NDArray[np.int64]
    events: Positions


def event_rows(
    bodies: Sequence[bytes], begins: Sequence[int], kinds: Sequence[int], columns: Sequence[MapColumn]
) -> EventRows:
    """The rows of events whose first row is at `begins` in each body; `kinds`: 1 written, -1 deleted, 0 updated.

    Raises ValueError for events that do not end with a row.
    """
    data = np.frombuffer(b"".join([*bodies, bytes(8)]), np.uint8)
    sizes = np.fromiter(map(len, bodies), np.int64, len(bodies))
    ends = np.cumsum(sizes)
    firsts = ends - sizes + np.asarray(begins, np.int64)
    layout = np.array([[column.size, column.has_length] for column in columns], np.int64).reshape(-1, 2)
    of_events = np.asarray(kinds, np.int8)
    nothing = np.empty((len(columns), 0), np.int64)
    count = _walk(data, firsts, ends, of_events, layout, nothing, nothing, nothing[0], np.empty(0, np.int8))
    if count == ENDS_EARLY:
        raise ValueError("a row event ends within a row")
    starts, lengths = (np.zeros((len(columns), count), np.int64) for _ in range(2))
    events, ops = np.empty(count, np.int64), np.empty(count, np.int8)
    _walk(data, firsts, ends, of_events, layout, starts, lengths, events, ops)
    return EventRows(data, ops, starts, lengths, events)


@njit(error_model="numpy")
def _walk(data, firsts, ends, kinds, layout, starts, lengths, events, ops):  # type: ignore[no-untyped-def]
    """Counts the rows, and notes them where there is room. ENDS_EARLY if a row goes beyond its event."""
    count = 0
    columns = len(layout)
    for event in range(len(firsts)):
        at, end = firsts[event], ends[event]
        in_event = 0
        while at < end:
            nulls = at
            at += (columns + 7) // 8
            for column in range(columns):
                if at > end:
                    return -1
                start, length = at, np.int64(-1)
                if not data[nulls + column // 8] >> (column % 8) & 1:
                    length = layout[column, 0]
                    if layout[column, 1]:
                        size = length
                        if at + size > end:
                            return -1
                        length = np.int64(0)
                        for k in range(size):
                            length |= np.int64(data[at + k]) << (8 * k)
                        start = at + size
                    at = start + length
                if len(ops):
                    starts[column, count], lengths[column, count] = (start if length > 0 else 0), length
            if at > end:
                return -1
            if len(ops):
                events[count] = event
                ops[count] = kinds[event] if kinds[event] != 0 else (-1 if in_event % 2 == 0 else 1)
            count += 1
            in_event += 1
    return count
