"""Looks for damage in a shard: walks every row, decodes it, and compares with what the shard has noted of it."""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterator, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import SqlError
from risingpy.storage.codec.column_buffers import CorruptData
from risingpy.storage.codec.column_history import Cast, no_cast
from risingpy.storage.codec.key_encoding import table_prefix
from risingpy.storage.codec.table_codec import TableCodec, whole_rows
from risingpy.storage.codec.table_schema import TableSchema
from risingpy.storage.engine.lmdb_environment import Snapshot
from risingpy.storage.engine.mem_table import WriteBatch
from risingpy.storage.engine.ranges import Batch, Ranges
from risingpy.storage.engine.sorted_runs import SLICES, SortedRun, slices_of
from risingpy.storage.engine.stored_rows import StoredRows, rows_of
from risingpy.storage.engine.table_statistics import (
    TABLE_ID_BYTES,
    StatisticsChange,
    TableStatistics,
    read_statistics,
)
from risingpy.storage.engine.undo_record import has_undo, read_markers, read_undo

ROWS_PER_BATCH = 8192
_MOST_PER_TABLE = 3  # problems that are told; a damaged table may have millions


def counted(snapshot: Snapshot, without: Collection[int] = ()) -> dict[int, TableStatistics]:
    """By table id, what the rows themselves add up to; `without` some tables."""
    change = StatisticsChange()
    for _, batch in stored_rows(snapshot, without):
        change.add(batch.keys, batch.values, +1)
    return change.tables()


def stored_rows(snapshot: Snapshot, without: Collection[int] = ()) -> Generator[tuple[int, WriteBatch]]:
    """(table id, rows) of everything that is stored, in key order, table by table; `without` some tables.

    The snapshot is in use until the end: who stops before closes the generator.
    """
    with rows_of(snapshot) as rows:
        for table_id, batch in _batches(rows, without):
            yield table_id, WriteBatch(batch.keys, batch.values)


def find_problems(
    snapshot: Snapshot,
    tables: Mapping[int, TableSchema],
    dropped: Collection[int],
    owned: range,
    cast: Cast = no_cast,
) -> Iterator[str]:
    """A sentence for each thing that is wrong.

    `dropped` are tables whose rows are being deleted, which do not count. `owned` are the shard's vnodes. `cast` reads
    rows from before an ALTER COLUMN TYPE.
    """
    damaged = dict(_damaged_runs(snapshot))
    for table_id, reason in damaged.items():
        yield f"{_name(tables, table_id)}: {reason}"
    unread = {*dropped, *damaged}
    codecs = {table_id: TableCodec(schema, cast) for table_id, schema in tables.items()}
    yield from _damaged_rows(snapshot, tables, codecs, unread, owned)
    found = counted(snapshot, unread)
    with snapshot.use() as transaction:
        noted = read_statistics(transaction)
    for table_id in sorted({*found, *noted} - unread):
        here, said = found.get(table_id, TableStatistics()), noted.get(table_id, TableStatistics())
        if here != said:
            reason = f"{here.rows} rows where {said.rows} are noted" if here.rows != said.rows else "another digest"
            yield f"{_name(tables, table_id)}: what is stored is not what was written ({reason})"
    yield from _damaged_undo(snapshot)


def _damaged_rows(
    snapshot: Snapshot,
    tables: Mapping[int, TableSchema],
    codecs: Mapping[int, TableCodec],
    unread: Collection[int],
    owned: range,
) -> Iterator[str]:
    told: dict[int, int] = {}
    with rows_of(snapshot) as rows:
        for table_id, batch in _batches(rows, unread):
            if told.get(table_id, 0) >= _MOST_PER_TABLE:
                continue
            codec = codecs.get(table_id)
            reason = "it has rows, and no relation has it" if codec is None else _damage(codec, batch, owned)
            if reason is not None:
                told[table_id] = told.get(table_id, 0) + (_MOST_PER_TABLE if codec is None else 1)
                yield f"{_name(tables, table_id)}: {reason}"


def _damage(codec: TableCodec, stored: Batch, owned: range) -> str | None:
    """Why rows cannot be read back, or do not lie where they belong; None if they do."""
    try:
        keys, values = whole_rows(stored.keys, stored.values)
        rows = codec.decode(keys, values, range(len(codec.schema.columns)))
        key_columns = [rows[column.index] for column in codec.schema.key]
        again = codec.encode_keys(key_columns) if key_columns else codec.encode_keys([])
        if not again.equals(keys):
            return "a row's key does not belong to its values, or to its vnode"
        vnodes = [
            int.from_bytes(key[TABLE_ID_BYTES : TABLE_ID_BYTES + 2]) for key in (keys[0].as_py(), keys[-1].as_py())
        ]
        if codec.schema.distribution and not (vnodes[0] in owned and vnodes[1] in owned):
            return "it has rows of another shard"
        return None
    except (CorruptData, SqlError, ValueError, OverflowError, pa.ArrowException) as error:
        return f"a row cannot be decoded: {error}"


def _damaged_runs(snapshot: Snapshot) -> Iterator[tuple[int, str]]:
    """(table id, what is wrong) for tables whose rows cannot be read because of their sorted runs."""
    with rows_of(snapshot) as rows:
        for table_id, waiting in rows.waiting().items():
            try:
                runs = [(slice_, run) for slice_ in range(SLICES) for run in rows.runs(table_id, slice_)]
            except CorruptData as error:
                yield table_id, str(error)
                continue
            found = sum(len(run) for _, run in runs)
            if found != waiting.rows:
                yield table_id, f"{found} rows wait in sorted runs where {waiting.rows} are noted"
            elif not all(_is_in_order(slice_, run) for slice_, run in runs):
                yield table_id, "a sorted run is not sorted, or has rows of another slice"


def _is_in_order(slice_: int, run: SortedRun) -> bool:
    ascends = pc.all(pc.less(run.keys[:-1], run.keys[1:])).as_py() is not False
    return ascends and list(slices_of(run.keys)) == [(slice_, 0, len(run))]


def _damaged_undo(snapshot: Snapshot) -> Iterator[str]:
    with snapshot.use() as transaction:
        for stage, epoch in read_markers(transaction).items():
            if not has_undo(transaction, stage):  # it was taken back to this epoch
                continue
            try:
                read_undo(snapshot.environment, transaction, stage, epoch)
            except (CorruptData, pa.ArrowException) as error:
                yield f"stage {stage}: {error}"


def _batches(rows: StoredRows, without: Collection[int]) -> Iterator[tuple[int, Batch]]:
    """All stored rows in key order, table by table, at most `ROWS_PER_BATCH` at a time; `without` some tables."""
    for table_id in rows.tables():
        if table_id in without:
            continue
        for batch in rows.read(Ranges.of_prefix(table_prefix(table_id)), page_rows=ROWS_PER_BATCH):
            yield table_id, batch


def _name(tables: Mapping[int, TableSchema], table_id: int) -> str:
    schema = tables.get(table_id)
    return f"table {table_id}" if schema is None else f"table {schema.name} ({table_id})"
