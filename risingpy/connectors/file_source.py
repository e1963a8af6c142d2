"""Files of a directory as a source: each file is a split, each row has a position in it.

`WITH (connector = 'file', path = 'DIR/*.arrow', format = 'arrow' | 'parquet')`. Files are read in the order of their
names. A file in the directory must not change: write it elsewhere on the same disk, and rename it into place.
"""

from __future__ import annotations

import glob
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from risingpy.errors import InvalidParameterValue, IoError
from risingpy.types import SqlType
from risingpy.types.forms import parse_column

FORMATS = ("arrow", "parquet")
ROW_ID_BITS = 40  # the low bits of a row id are its position in the file; the bits above are the file's ordinal


@dataclass(frozen=True, slots=True)
class FileSourceOptions:
    """The checked options of a file source."""

    path: str
    format: str

    @staticmethod
    def parse(options: Mapping[str, str]) -> FileSourceOptions:
        """Checks the options. Raises InvalidParameterValue if one is missing, unknown or wrong."""
        unknown = options.keys() - {"connector", "path", "format"}
        if unknown:
            raise InvalidParameterValue(f'unknown option "{min(unknown)}" of the file connector')
        if options.get("connector") != "file":
            raise InvalidParameterValue(
                f'unknown connector "{options.get("connector", "")}"', hint="The connector is 'file'."
            )
        if "path" not in options:
            raise InvalidParameterValue("the file connector needs the option path")
        kind = options.get("format", "arrow")
        if kind not in FORMATS:
            raise InvalidParameterValue(f'unknown format "{kind}"', hint=f"Formats are {', '.join(FORMATS)}.")
        return FileSourceOptions(options["path"], kind)


def list_files(options: FileSourceOptions) -> list[str]:
    """The existing files, in the order of their names."""
    return sorted(glob.glob(options.path))


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


def read_rows(
    path: str,
    options: FileSourceOptions,
    columns: Sequence[tuple[str, SqlType] | None],
    start: int,
    end: int,
    ordinal: int,
) -> pa.Table:
    """Rows `start` ≤ position < `end`: `op` (+1), then as c0… the columns, by name and cast to their types.

    A column that the file lacks is NULL; None stands for the row id.
    """
    names = [column[0] for column in columns if column is not None]
    try:
        table = _open(path, options.format, names).slice(start, end - start)
    except (OSError, pa.ArrowInvalid) as error:
        raise IoError(f'could not read source file "{path}": {error}') from error
    arrays = [pa.repeat(pa.scalar(1, pa.int8()), end - start)]
    for column in columns:
        if column is None:
            first = ordinal << ROW_ID_BITS
            arrays.append(pa.array(np.arange(first + start, first + end, dtype=np.int64)))
        else:
            name, sql_type = column
            present = name in table.schema.names
            arrays.append(_of_type(table[name], sql_type) if present else pa.nulls(end - start, sql_type.arrow))
    return pa.table(arrays, names=["op", *(f"c{k}" for k in range(len(columns)))])


def _of_type(column: pa.ChunkedArray, type_: SqlType) -> pa.Array | pa.ChunkedArray:
    if type_.is_wide:  # which Arrow does not know; the text of a number has its scale
        return parse_column(type_, pc.cast(column.combine_chunks(), pa.string()))
    return pc.cast(column, type_.arrow)


def _open(path: str, file_format: str, names: Sequence[str]) -> pa.Table:
    if file_format == "parquet":
        present = set(pq.read_schema(path).names)
        return pq.read_table(path, columns=[name for name in names if name in present])
    mapped = pa.memory_map(path)
    return pa.ipc.open_file(mapped).read_all()
