"""The rows of a suspended portal in a file, so that its query need not stay open.

A query that waits for its client keeps a DuckDB instance, the blocks of its sorts and joins, and a snapshot. Of a few
that is cheap, and the rest of their rows may never be asked for. When many are open, the next one that is suspended
computes its rows to the end, into a temporary file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import IO

import pyarrow as pa

from risingpy.errors import IoError, QueryCanceled, SqlError

Spills = Callable[[], IO[bytes] | None]
"""Gives a file for a portal's rows if too many queries are open; else None."""


def never_spills() -> IO[bytes] | None:
    """For rows that cost nothing to keep, or that have no end."""
    return None


class SpilledRows:
    """All batches of an iterator, which is read to its end now. The error that ends it comes after its rows.

    Raises QueryCanceled if the statement is cancelled meanwhile, IoError if the disk refuses.
    """

    def __init__(self, batches: Iterator[pa.RecordBatch], file: IO[bytes]) -> None:
        self._file = file
        self._error: SqlError | None = None
        self._messages = 0
        self._schema: pa.Schema | None = None
        try:
            self._write(batches)
            file.seek(0)
        except OSError as error:
            file.close()
            message = f"could not write the rows of a suspended portal: {error.strerror}"
            raise IoError(message, hint="Close cursors, or have them read fewer rows.") from error
        except BaseException:
            file.close()
            raise

    def __iter__(self) -> SpilledRows:
        return self

    def __next__(self) -> pa.RecordBatch:
        if not self._messages:
            self._file.close()
            if self._error is not None:
                raise self._error
            raise StopIteration
        self._messages -= 1
        size = int.from_bytes(self._file.read(8), "little")
        return pa.ipc.read_record_batch(pa.py_buffer(self._file.read(size)), self._schema)

    def close(self) -> None:
        """The rows are no longer needed."""
        self._messages = 0
        self._file.close()

    def _write(self, batches: Iterator[pa.RecordBatch]) -> None:
        try:
            for batch in batches:
                self._schema = batch.schema
                message = batch.serialize()
                self._file.write(message.size.to_bytes(8, "little"))
                self._file.write(message)
                self._messages += 1
        except QueryCanceled:
            raise
        except SqlError as error:
            self._error = error
