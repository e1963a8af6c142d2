"""What a job has done in epochs of its own, as files: the rows that it stores, and how its relation changes.

    DIRECTORY/rows-SHARD    Arrow IPC stream of (key, value), in the order of writing; a NULL value deletes the key
    DIRECTORY/delta-SHARD   Arrow IPC stream of the change chunk of its relation or changelog

A file that is missing has no rows. Files need not be durable: after a crash the job does the same again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from risingpy.storage.codec.key_encoding import table_prefix
from risingpy.storage.engine.mem_table import WriteBatch

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


def write_handed_over(directory: Path, shard: int, handed: HandedOver) -> None:
    """Writes one shard's files into a directory that exists."""
    if handed.rows:
        batches = [pa.record_batch([each.keys, each.values], schema=_ROWS) for each in handed.rows]
        _write(directory / f"rows-{shard}", _ROWS, batches)
    if handed.delta.num_rows:
        _write(directory / f"delta-{shard}", handed.delta.schema, handed.delta.to_batches())


def read_handed_over(directory: Path, shard: int) -> HandedOver:
    """Reads one shard's files."""
    rows, delta = directory / f"rows-{shard}", directory / f"delta-{shard}"
    batches = _read(rows).to_batches() if rows.exists() else []
    return HandedOver(
        [WriteBatch(batch.column(0), batch.column(1)) for batch in batches if batch.num_rows],
        _read(delta) if delta.exists() else _NO_DELTA,
    )


def _write(path: Path, schema: pa.Schema, batches: Sequence[pa.RecordBatch]) -> None:
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, schema) as stream:
        for batch in batches:
            stream.write_batch(batch)


def _read(path: Path) -> pa.Table:
    with pa.memory_map(str(path)) as file, pa.ipc.open_stream(file) as stream:
        return stream.read_all()
