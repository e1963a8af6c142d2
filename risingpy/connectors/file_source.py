"""Files of a directory as a source: each file is a split, each row has a position in it.

`WITH (connector = 'file', path = 'DIR/*.arrow', format = 'arrow' | 'parquet')`. Files are read in the order of their
names. A file in the directory must not change: write it elsewhere on the same disk, and rename it into place.
"""

from __future__ import annotations

import glob
import logging
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from risingpy.connectors.file_roots import allowed, check_pattern
from risingpy.connectors.seekable import MessageReader, RowReader, SplitEnd, Splits
from risingpy.errors import InsufficientPrivilege, InternalError, InvalidParameterValue, IoError
from risingpy.types import SqlType
from risingpy.types.forms import parse_column

FORMATS = ("arrow", "parquet")

LOG = logging.getLogger(__name__)


class FileConnector:
    """Files that match a path. Exactly once: a file's position is its row's number."""

    name = "file"
    gives_messages = False

    def __init__(self, options: Mapping[str, str]) -> None:
        """Raises InvalidParameterValue if an option is missing, unknown or wrong; InsufficientPrivilege."""
        unknown = options.keys() - {"path", "format"}
        if unknown:
            raise InvalidParameterValue(f'unknown option "{min(unknown)}" of the file connector')
        if "path" not in options:
            raise InvalidParameterValue("the file connector needs the option path")
        self._format = options.get("format", "arrow")
        if self._format not in FORMATS:
            raise InvalidParameterValue(f'unknown format "{self._format}"', hint=f"Formats are {', '.join(FORMATS)}.")
        self._path = options["path"]
        check_pattern(self._path)

    def check(self) -> None:
        """Does nothing: the files may come later."""

    def splits(self) -> Splits:
        return _Files(self._path, self._format)

    def message_reader(self) -> MessageReader:
        raise InternalError("files have rows")

    def row_reader(self) -> RowReader:
        return _FileReader(self._format)


class _Files:
    """A split is a file; a file that cannot be read is left out, because its writer may not have finished."""

    def __init__(self, path: str, file_format: str) -> None:
        self._path = path
        self._format = file_format
        self._unreadable: set[str] = set()

    def ends(self) -> Mapping[str, SplitEnd]:
        found = {path: self._rows_of(path) for path in sorted(glob.glob(self._path))}
        return {path: SplitEnd(0, rows, 0) for path, rows in found.items() if rows}

    def close(self) -> None:
        """Does nothing: no file stays open."""

    def _rows_of(self, path: str) -> int:
        try:
            rows = count_rows(str(allowed(path)), self._format)
        except (IoError, InsufficientPrivilege) as error:
            if path not in self._unreadable:
                self._unreadable.add(path)
                LOG.warning("%s; it is left out until it can be", error)
            return 0
        self._unreadable.discard(path)
        return rows


class _FileReader:
    def __init__(self, file_format: str) -> None:
        self._format = file_format

    def read(self, split: str, start: int, end: int, columns: Sequence[tuple[str, SqlType]]) -> list[pa.Array]:
        """The columns by name, cast to their types. A column that the file lacks is NULL."""
        try:
            table = _open(str(_allowed_now(split)), self._format, [name for name, _ in columns]).slice(
                start, end - start
            )
        except (OSError, pa.ArrowInvalid) as error:
            raise IoError(f'could not read source file "{split}": {error}') from error
        present = table.schema.names
        return [
            _of_type(table[name], type_) if name in present else pa.nulls(end - start, type_.arrow)
            for name, type_ in columns
        ]

    def close(self) -> None:
        """Does nothing: no file stays open."""


def _allowed_now(path: str) -> Path:
    """The file without links. Raises IoError if it is outside of the allowed directories now."""
    try:
        return allowed(path)
    except InsufficientPrivilege as error:
        raise IoError(str(error)) from error


@lru_cache(maxsize=4096)
def count_rows(path: str, file_format: str) -> int:
    """Rows of a file, from its metadata."""
    try:
        if file_format == "parquet":
            return int(pq.read_metadata(path).num_rows)
        with pa.memory_map(path) as mapped, pa.ipc.open_file(mapped) as file:
            return int(sum(file.get_batch(k).num_rows for k in range(file.num_record_batches)))
    except (OSError, pa.ArrowInvalid) as error:
        raise IoError(f'could not read source file "{path}": {error}') from error


def _of_type(column: pa.ChunkedArray, type_: SqlType) -> pa.Array:
    if type_.is_wide:  # which Arrow does not know; the text of a number has its scale
        return parse_column(type_, pc.cast(column.combine_chunks(), pa.string()))
    return pc.cast(column, type_.arrow).combine_chunks()


def _open(path: str, file_format: str, names: Sequence[str]) -> pa.Table:
    if file_format == "parquet":
        present = set(pq.read_schema(path).names)
        return pq.read_table(path, columns=[name for name in names if name in present])
    mapped = pa.memory_map(path)
    return pa.ipc.open_file(mapped).read_all()
