"""What a job has done in epochs of its own, as files: the rows that it stores, and how its relation changes.

    DIRECTORY/rows-SHARD    Arrow IPC stream of (key, value), in the order of writing; a NULL value deletes the key
    DIRECTORY/delta-SHARD   Arrow IPC stream of the change chunk of its relation or changelog

A file that is missing has no rows. Shared epochs take large results over in pieces: the rows a part at a time, and the
change with the last one. Once a piece is taken over, a crash must not lose the others; until then the job would only do
the same again. So the files of a result of several pieces are durable.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from risingpy.storage.codec.key_encoding import table_prefix
from risingpy.storage.engine.mem_table import WriteBatch

_BATCHES_PER_PIECE = 4
_ROWS = pa.schema([("key", pa.binary()), ("value", pa.binary())])
_NO_DELTA = pa.table({"op": pa.array([], pa.int8())})


@dataclass(frozen=True, slots=True)
class HandedOver:
    """One shard's part. A batch of `rows` is of one table. A key may be in several batches: the last one counts."""

    rows: Sequence[WriteBatch]
    delta: pa.Table

    def rows_without(self, table_id: int) -> list[WriteBatch]:
        """The rows of all other tables."""
        prefix = table_prefix(table_id)
        return [batch for batch in self.rows if not batch.keys[0].as_py().startswith(prefix)]


@dataclass(frozen=True, slots=True)
class Pieces:
    """The pieces from `first` to before `after`, of `count` in all. Each has about `size` bytes of rows of a shard."""

    first: int
    after: int
    count: int
    size: int

    @property
    def are_last(self) -> bool:
        return self.after >= self.count


def write_handed_over(directory: Path, shard: int, handed: HandedOver, piece_bytes: int) -> int:
    """Writes one shard's files into a directory that exists; returns of how many pieces its rows are."""
    pieces = 1
    if handed.rows:
        batches = [pa.record_batch([keys, values], schema=_ROWS) for keys, values in _small(handed.rows, piece_bytes)]
        _write(directory / f"rows-{shard}", _ROWS, batches)
        pieces = 1 + max(piece for piece, _ in _numbered(batches, piece_bytes))
    if handed.delta.num_rows:
        _write(directory / f"delta-{shard}", handed.delta.schema, handed.delta.to_batches())
    return pieces


def read_handed_over(directory: Path, shard: int, pieces: Pieces) -> HandedOver:
    """Reads the pieces of one shard's files; the change of the relation is in the last one."""
    rows, delta = directory / f"rows-{shard}", directory / f"delta-{shard}"
    batches = _read(rows).to_batches() if rows.exists() else []
    after = pieces.count if pieces.are_last else pieces.after
    wanted = [batch for piece, batch in _numbered(batches, pieces.size) if pieces.first <= piece < after]
    return HandedOver(
        [WriteBatch(batch.column(0), batch.column(1)) for batch in wanted if batch.num_rows],
        _read(delta) if pieces.are_last and delta.exists() else _NO_DELTA,
    )


def make_durable(directory: Path) -> None:
    """Has the files of a directory, and the directory, survive a loss of power."""
    for path in (*directory.iterdir(), directory, directory.parent):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _small(rows: Sequence[WriteBatch], piece_bytes: int) -> Iterator[tuple[pa.Array, pa.Array]]:
    """The rows in parts of a bounded size."""
    for batch in rows:
        parts = -(-(batch.keys.nbytes + batch.values.nbytes) * _BATCHES_PER_PIECE // piece_bytes)
        length = max(-(-len(batch.keys) // max(parts, 1)), 1)
        for start in range(0, len(batch.keys), length):
            yield batch.keys.slice(start, length), batch.values.slice(start, length)


def _numbered(batches: Sequence[pa.RecordBatch], piece_bytes: int) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The batches, each with the number of its piece."""
    size = 0
    for batch in batches:
        yield size // piece_bytes, batch
        size += batch.nbytes


def _write(path: Path, schema: pa.Schema, batches: Sequence[pa.RecordBatch]) -> None:
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, schema) as stream:
        for batch in batches:
            stream.write_batch(batch)


def _read(path: Path) -> pa.Table:
    with pa.memory_map(str(path)) as file, pa.ipc.open_stream(file) as stream:
        return stream.read_all()
