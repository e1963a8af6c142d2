"""Prepared statements and portals of one connection."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from risingpy.frontend.wire.session_protocol import Prepared, Result


@dataclass(frozen=True, slots=True)
class PreparedEntry:
    """A named or unnamed statement. `prepared` is None for an empty text."""

    prepared: Prepared | None


class RowStream:
    """The rows of a result, taken in parts of any size without copying."""

    def __init__(self, batches: Iterator[pa.RecordBatch]) -> None:
        self._batches = batches
        self._batch: pa.RecordBatch | None = None
        self._offset = 0

    def take(self, limit: int | None) -> Iterator[pa.RecordBatch]:
        """Batches of `limit` rows in all, or of all that are left; fewer mean that the stream is at its end."""
        left = limit
        while left is None or left > 0:
            if self._batch is None:
                self._batch, self._offset = next(self._batches, None), 0
                if self._batch is None:
                    return
            part = self._batch.slice(self._offset) if left is None else self._batch.slice(self._offset, left)
            self._offset += part.num_rows
            if self._offset >= self._batch.num_rows:
                self._batch = None
            if left is not None:
                left -= part.num_rows
            yield part

    def close(self) -> None:
        """The rows are not wanted any more."""
        close = getattr(self._batches, "close", None)
        if close is not None:
            close()


class Portal:
    """A bound statement, which runs at its first Execute and gives its rows in as many parts as the client asks for."""

    __slots__ = ("done", "entry", "formats", "parameters", "result", "rows")

    def __init__(self, entry: PreparedEntry, parameters: list[object | None], formats: list[int]) -> None:
        self.entry = entry
        self.parameters = parameters
        self.formats = formats
        self.result: Result | None = None
        self.rows: RowStream | None = None
        self.done = False

    def close(self) -> None:
        if self.rows is not None:
            self.rows.close()
            self.rows = None
