"""The files of the epochs: written once, before any clock runs, then given to each engine as hard links.

A link appears whole, so no engine can see half a file; and Arrow and Parquet files hold the same rows, since plain
Spark reads only the latter.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

ARROW = "arrow"
PARQUET = "parquet"
FORMATS = (ARROW, PARQUET)


def write_epochs(tables: Iterable[pa.Table], directory: Path) -> int:
    """Writes each table as one epoch's file, in both formats; returns how many there are."""
    count = 0
    for table in tables:
        write_arrow(table, _path(directory, count, ARROW))
        pq.write_table(table, _path(directory, count, PARQUET))
        count += 1
    return count


def write_arrow(table: pa.Table, path: Path) -> None:
    """An Arrow IPC file."""
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


def release_epoch(directory: Path, number: int, file_format: str, inbox: Path) -> None:
    """Puts the file of one epoch where an engine looks for new files."""
    source = _path(directory, number, file_format)
    os.link(source, inbox / source.name)


def read_arrow(directory: Path, number: int) -> pa.Table:
    """The rows of one epoch, mapped."""
    return pa.ipc.open_file(pa.memory_map(str(_path(directory, number, ARROW)))).read_all()


def _path(directory: Path, number: int, file_format: str) -> Path:
    return directory / f"{number:06}.{file_format}"
