"""Rewrites stored rows that still have dropped columns, without them (seed 002, "Dropping Columns").

A table is gone through in key order, some rows an epoch and shard, from where the last epoch came to. What is read
of a row does not change, so what was rewritten is never taken back, and a crash loses nothing but the way.

    meta  "compact" | table id u32   JSON: target version, position (hex; None: through), rows examined, rows rewritten
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from risingpy.storage.codec.column_buffers import Bytes, Integers, address, buffers_of
from risingpy.storage.codec.key_encoding import table_prefix
from risingpy.storage.codec.table_codec import TableCodec
from risingpy.storage.codec.table_schema import TableColumn, TableSchema
from risingpy.storage.engine.mem_table import WriteBatch
from risingpy.storage.engine.ranges import Ranges
from risingpy.storage.engine.row_reading import read_first
from risingpy.storage.engine.stored_rows import StoredRows
from risingpy.storage.engine.table_statistics import META, TABLE_ID_BYTES
from risingpy.storage.engine.transactions import StoreTransaction, scan
from risingpy.storage.kernels import rows as kernels

_NOTE = b"compact"


@dataclass(frozen=True, slots=True)
class CompactionProgress:
    """How far a shard has come with a table on the way to `target`, the table's version when it last lost a column."""

    target: int
    position: bytes | None = None
    finished: bool = False
    examined: int = 0
    rewritten: int = 0

    def encode(self) -> bytes:
        position = None if self.position is None else self.position.hex()
        return json.dumps([self.target, position, self.finished, self.examined, self.rewritten]).encode()

    @classmethod
    def decode(cls, data: bytes) -> CompactionProgress:
        target, position, finished, examined, rewritten = json.loads(data)
        return cls(target, None if position is None else bytes.fromhex(position), finished, examined, rewritten)

    def plus(self, other: CompactionProgress) -> CompactionProgress:
        """Of two shards."""
        return CompactionProgress(
            max(self.target, other.target),
            finished=self.finished and other.finished,
            examined=self.examined + other.examined,
            rewritten=self.rewritten + other.rewritten,
        )


def added_up(parts: Iterable[Mapping[int, CompactionProgress]]) -> dict[int, CompactionProgress]:
    """The tables of several shards."""
    total: dict[int, CompactionProgress] = {}
    for part in parts:
        for table_id, progress in part.items():
            total[table_id] = total[table_id].plus(progress) if table_id in total else progress
    return total


def note_key(table_id: int) -> bytes:
    """Where a shard notes its progress with a table."""
    return _NOTE + table_id.to_bytes(TABLE_ID_BYTES)


def read_progress(transaction: StoreTransaction) -> dict[int, CompactionProgress]:
    """By table id, what the shard has noted."""
    notes = scan(transaction, _NOTE, db=META)
    return {int.from_bytes(table): CompactionProgress.decode(value) for table, value in notes}


def compact_rows(
    rows: StoredRows, codec: TableCodec, progress: CompactionProgress, limit: int
) -> tuple[WriteBatch | None, CompactionProgress]:
    """Looks at the next `limit` rows: (those to rewrite, as they shall be stored, and where it has come to)."""
    schema = codec.schema
    prefix = table_prefix(schema.table_id)
    page = read_first(rows, Ranges.of_prefix(prefix), limit, after=progress.position)
    chosen: list[int] = np.flatnonzero(_with_foreign_columns(schema, page.values)).tolist()
    batch = None
    if len(chosen):
        keys, values = (column.take(pa.array(chosen)) for column in (page.keys, page.values))
        columns = codec.decode(keys, values, range(len(schema.columns)))
        batch = WriteBatch(*codec.encode(columns, len(chosen)))
    return batch, CompactionProgress(
        progress.target,
        page.last or progress.position,
        len(page) < limit,
        progress.examined + len(page),
        progress.rewritten + len(chosen),
    )


def _with_foreign_columns(schema: TableSchema, values: pa.BinaryArray) -> Bytes:
    """Which rows have a column that the table has no more."""
    found: Bytes = np.zeros(len(values), np.uint8)
    known: Integers = np.array(sorted(set().union(*map(_ids, schema.columns))), np.int64)
    encoded = buffers_of(values)
    kernels.find_foreign_ids(
        encoded.data, encoded.offsets, len(values), address(known), len(known), address(found)
    )  # fmt: skip
    return found


def _ids(column: TableColumn) -> set[int]:
    """The ids under which rows may have something of the column."""
    if column.history is None:
        return {column.column_id}
    earlier = set() if column.history.earlier is None else _ids(column.history.earlier)
    return {column.column_id, column.history.null_id} | earlier
