"""ENCODE PARQUET: rows of files by their numbers, and only the columns that a view needs."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from risingpy.connectors.formats.arrow_columns import sql_type
from risingpy.connectors.stored_files.parquet_columns import as_column
from risingpy.connectors.stored_files.store import FileStore, StoredFile
from risingpy.errors import InvalidParameterValue, SourceUnavailable
from risingpy.types import SqlType

_BATCH = 1 << 16  # rows that are decoded at once
_OPEN_STREAMS = 4  # an epoch divides a file among shards, which stand at different places
Made = TypeVar("Made")


def row_count(store: FileStore, file: StoredFile) -> int:
    """The rows of a file, which its footer says. Raises SourceUnavailable."""
    return int(_readable(file.name, lambda: _opened(store, file.name).metadata.num_rows))


def file_columns(store: FileStore, name: str) -> list[tuple[str, SqlType]]:
    """Names and types of a file's columns. Raises SourceUnavailable, FeatureNotSupported for a type."""
    schema = _readable(name, lambda: _opened(store, name).schema_arrow)
    return [(field.name, sql_type(field.name, field.type)) for field in schema]


class ParquetReader:
    """A `RowReader`. Columns are found by name: as it is written first, then without case. One that is missing is NULL.

    Ranges that follow each other are read in one go through the file; another range begins at its row group. Several
    threads may use it.
    """

    def __init__(self, store: FileStore) -> None:
        self._store = store
        self._guard = threading.Lock()
        self._streams: list[_RowStream] = []  # those that nobody reads; the last one used is the last

    def read(self, split: str, start: int, end: int, columns: Sequence[tuple[str, SqlType]]) -> list[pa.Array]:
        if not columns:  # rows are counted
            return []
        names = tuple(name for name, _ in columns)
        taken = self._take(split, names, start)
        stream = taken or _readable(split, lambda: _RowStream(self._store, split, names, start))
        table = _readable(split, lambda: stream.read(start, end))
        with self._guard:
            self._streams = [*self._streams, stream][-_OPEN_STREAMS:]
        if table.num_rows < end - start:
            raise SourceUnavailable(f'source file "{split}" has lost rows since it was found')
        return [
            pa.nulls(end - start, type_.arrow)
            if (found := stream.names[name]) is None
            else as_column(split, name, table[found].combine_chunks(), type_)
            for name, type_ in columns
        ]

    def close(self) -> None:
        self._streams.clear()
        self._store.close()

    def _take(self, file: str, columns: tuple[str, ...], start: int) -> _RowStream | None:
        """The open stream that is nearest, which nobody else has then: shards read at the same time."""
        with self._guard:
            ready = [s for s in self._streams if (s.file, s.columns) == (file, columns) and s.can_go_to(start)]
            if not ready:
                return None
            stream = max(ready, key=lambda found: found.position)
            self._streams.remove(stream)
            return stream


class _RowStream:
    """Goes through some columns of a file, from the row group that has the row `start`."""

    def __init__(self, store: FileStore, file: str, columns: tuple[str, ...], start: int) -> None:
        self.file = file
        self.columns = columns
        opened = _opened(store, file)
        there = list(opened.schema_arrow.names)
        self.names = {name: _name_in(there, name) for name in columns}
        metadata = opened.metadata
        rows = [metadata.row_group(k).num_rows for k in range(metadata.num_row_groups)]
        self._begins = np.concatenate([[0], np.cumsum(rows)])
        group = self._group_of(start)
        self.position = int(self._begins[group])
        self._held: list[pa.Table] = []
        self._batches = opened.iter_batches(
            _BATCH,
            row_groups=range(group, len(rows)),
            columns=sorted({name for name in self.names.values() if name is not None}) or there[:1],  # to count rows
            use_threads=False,
        )

    def can_go_to(self, row: int) -> bool:
        """Whether the stream comes to a row, and no later than one that begins at the row's group."""
        return int(self._begins[self._group_of(row)]) <= self.position <= row

    def read(self, start: int, end: int) -> pa.Table:
        """The rows from `start` to `end`, which is where the stream stands then."""
        found: list[pa.Table] = []
        while self.position < end and (table := self._next()) is not None:
            first, last = (min(max(row - self.position, 0), table.num_rows) for row in (start, end))
            found.append(table.slice(first, last - first))
            if last < table.num_rows:
                self._held.append(table.slice(last))
            self.position += last
        return pa.concat_tables(found) if found else pa.table({})

    def _next(self) -> pa.Table | None:
        if self._held:
            return self._held.pop()
        batch = next(self._batches, None)
        return None if batch is None else pa.Table.from_batches([batch])

    def _group_of(self, row: int) -> int:
        return max(int(np.searchsorted(self._begins, row, side="right")) - 1, 0)


class _Content(io.RawIOBase):
    """A file of a storage as Python's."""

    def __init__(self, store: FileStore, name: str) -> None:
        self._store = store
        self._name = name
        self._size = store.size(name)
        self._place = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        origin = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._size}[whence]
        self._place = origin + offset
        return self._place

    def tell(self) -> int:
        return self._place

    def read(self, size: int = -1) -> bytes:
        end = self._size if size < 0 else min(self._place + size, self._size)
        found = self._store.read(self._name, self._place, end)
        self._place += len(found)
        return found


def _opened(store: FileStore, name: str) -> pq.ParquetFile:
    return pq.ParquetFile(pa.PythonFile(_Content(store, name), mode="r"), pre_buffer=True)


def _readable(name: str, work: Callable[[], Made]) -> Made:
    """What `work` returns; what PyArrow says of a damaged file is raised as SourceUnavailable."""
    try:
        return work()
    except (pa.ArrowException, OSError) as error:
        raise SourceUnavailable(f'could not read source file "{name}": {error}') from None


def _name_in(there: Sequence[str], name: str) -> str | None:
    """A file's name of a column."""
    if name in there:
        return name
    return next((other for other in there if other.lower() == name.lower()), None)


def refuse_options(options: Sequence[tuple[str, str]]) -> None:
    """Raises InvalidParameterValue: the encoding has no options."""
    if options:
        raise InvalidParameterValue(f'unknown option "{options[0][0]}" of ENCODE PARQUET')
