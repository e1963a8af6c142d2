"""What takes an epoch back: per stage of a shard, the epoch it is at, and the old values of the keys it touched.

    meta  "marker" | stage u32   epoch u64                                    of the stage's last commit
    undo  stage u32              "U2" | epoch u64 | epoch before u64 | Arrow IPC stream of (key, old); large ones lz4

All integers are big-endian; the epoch before is 0 if there is none. `old` is NULL where the key was not there.
The stream has a batch for each time that writes went to the store, the first one first: a key in several had
its oldest value in the first. The keys of a batch ascend, and may be of several tables. With "U1", what STORE 3 has,
they are of one.
A stage that runs several times in an epoch has several such numbers (`stage_of_turn`).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import cast

import pyarrow as pa

from risingpy.storage.codec.column_buffers import CorruptData
from risingpy.storage.engine.lmdb_environment import Environment
from risingpy.storage.engine.mem_table import WriteBatch
from risingpy.storage.engine.stored_rows import StoredRows
from risingpy.storage.engine.table_statistics import META, TABLE_ID_BYTES, StatisticsChange
from risingpy.storage.engine.transactions import StoreTransaction, scan

ROWS, UNDO = b"rows", b"undo"  # named databases of a shard, beside META; the first is the default
_MARKER = b"marker"
_HEAD = struct.Struct(">2sQQ")
_MAGIC = b"U2"
_READ = (b"U1", _MAGIC)
_COMPRESS_FROM = 1 << 16  # bytes
_STAGE_BITS = 16
_SCHEMA = pa.schema([("key", pa.binary()), ("old", pa.binary())])


def stage_of_turn(stage: int, repetition: int) -> int:
    """The number under which a stage that runs several times in an epoch writes for the time `repetition`, from 0."""
    return repetition << _STAGE_BITS | stage


def is_repetition(number: int) -> bool:
    """Whether the number is of a further turn of a stage."""
    return number >> _STAGE_BITS > 0


@dataclass(frozen=True, slots=True)
class UndoRecord:
    """The old values of one epoch's writes to a stage's tables; `parts` have them as writes that bring them back.

    A part is of one table, or of several (`of_tables`).
    """

    epoch: int
    epoch_before: int
    parts: Sequence[WriteBatch]

    def encode(self) -> bytes:
        sink = pa.BufferOutputStream()
        sink.write(_HEAD.pack(_MAGIC, self.epoch, self.epoch_before))
        size = sum(part.keys.nbytes + part.values.nbytes for part in self.parts)
        # Waking threads for it costs a small epoch more than the rest of its commit.
        options = pa.ipc.IpcWriteOptions(compression="lz4" if size >= _COMPRESS_FROM else None, use_threads=False)
        with pa.ipc.new_stream(sink, _SCHEMA, options=options) as stream:
            for part in self.parts:
                stream.write_batch(pa.record_batch([part.keys, part.values], schema=_SCHEMA))
        return cast(bytes, sink.getvalue().to_pybytes())

    @classmethod
    def decode(cls, data: bytes) -> UndoRecord:
        magic, epoch, epoch_before = _HEAD.unpack_from(data)
        if magic not in _READ:
            raise CorruptData("a stored undo record is none")
        stream = pa.ipc.open_stream(pa.py_buffer(data)[_HEAD.size :])
        return cls(epoch, epoch_before, [WriteBatch(batch.column(0), batch.column(1)) for batch in stream])


def of_tables(part: WriteBatch) -> Sequence[WriteBatch]:
    """A part of an undo record as one for each table. Only a few rows of each of several tables are in one part."""
    first, last = (part.keys[row].as_py()[:TABLE_ID_BYTES] for row in (0, -1))
    if first == last:
        return [part]
    tables = [key[:TABLE_ID_BYTES] for key in part.keys.to_pylist()]
    return part.split([row for row, table in enumerate(tables) if row == 0 or table != tables[row - 1]])


def read_markers(transaction: StoreTransaction) -> dict[int, int]:
    """The epoch that each stage is at."""
    return {int.from_bytes(stage): int.from_bytes(epoch) for stage, epoch in scan(transaction, _MARKER, db=META)}


def read_marker(transaction: StoreTransaction, stage: int) -> int:
    """The epoch that a stage is at; 0 if it has committed none."""
    epoch = transaction.get(_MARKER + stage.to_bytes(4), db=META)
    return 0 if epoch is None else int.from_bytes(epoch)


def write_undo(transaction: StoreTransaction, stage: int, record: UndoRecord) -> None:
    """Notes that the stage is at the record's epoch, and how to take it back."""
    number = stage.to_bytes(4)
    transaction.put(number, record.encode(), db=UNDO)
    transaction.put(_MARKER + number, record.epoch.to_bytes(8), db=META)


def has_undo(transaction: StoreTransaction, stage: int) -> bool:
    """Whether the last commit of the stage stands; if it was taken back, the stage is at the epoch before."""
    return transaction.get(stage.to_bytes(4), db=UNDO) is not None


def read_undo(environment: Environment, transaction: StoreTransaction, stage: int, epoch: int) -> UndoRecord:
    """The record that takes back `epoch`, at which the stage is."""
    data = transaction.get(stage.to_bytes(4), db=UNDO)
    if data is None:
        raise CorruptData(f"no undo record of stage {stage} in {environment.path}")
    record = UndoRecord.decode(bytes(data))
    if record.epoch != epoch:
        raise CorruptData(f"the undo record of stage {stage} in {environment.path} is of another epoch")
    return record


def undo_stages(rows: StoredRows, stages: Sequence[int], committed: int) -> None:
    """Takes back what the stages have written since epoch `committed`, so that everything is as it was.

    Of a stage's turns in an epoch, the last is taken back first.
    """
    if not stages:
        return
    environment, transaction = rows.environment, rows.transaction
    markers = read_markers(transaction)
    statistics = StatisticsChange()
    # A shard has at most one epoch that is not committed, so one record per stage is enough: an epoch begins only after
    # the one before it was committed or taken back. A stage whose record tells of more has lost an epoch, and nothing
    # is left to take that one back with. Parts are undone from the last to the first, since a key that was written
    # twice has its oldest value in the first. The old rows go through the same writes as new ones, so statistics and
    # runs stay true; the transaction makes all of it durable at once, and a crash in between means to do it again.
    for stage in sorted(stages, reverse=True):
        record = read_undo(environment, transaction, stage, markers[stage])
        if record.epoch_before > committed:
            raise CorruptData(f"stage {stage} in {environment.path} is two epochs ahead of epoch {committed}")
        for part in chain.from_iterable(map(of_tables, reversed(record.parts))):
            now = rows.get_values(part.keys)
            statistics.replace(part.keys, now, part.values)
            rows.write(part)
        number = stage.to_bytes(4)
        transaction.delete(number, db=UNDO)
        if record.epoch_before:
            transaction.put(_MARKER + number, record.epoch_before.to_bytes(8), db=META)
        else:
            transaction.delete(_MARKER + number, db=META)
    statistics.write(transaction)


def take_back_attempts(rows: StoredRows, stage: int, epoch: int, committed: int) -> bool:
    """Takes back what earlier attempts at a stage of an epoch, and at epochs before it, have left; False if nothing.

    Later turns of the stage in this epoch go, too: they have written the same tables. Other stages of it may be done.
    Of an epoch between the committed one and this, nothing will ever be committed. Also forgets how to take
    repetitions of committed epochs back: the next epochs may have fewer, and would keep it.
    """
    markers = read_markers(rows.transaction)
    ahead = {turn: at for turn, at in markers.items() if at > committed}
    left = [turn for turn, at in ahead.items() if at < epoch or (_is_of(stage, turn) and turn >= stage)]
    undo_stages(rows, left, committed)
    for turn, at in markers.items():
        if is_repetition(turn) and at <= committed:
            rows.transaction.delete(turn.to_bytes(4), db=UNDO)
            rows.transaction.delete(_MARKER + turn.to_bytes(4), db=META)
    return bool(left)


def _is_of(stage: int, turn: int) -> bool:
    """Whether two turns are of the same stage."""
    return (stage ^ turn) & ((1 << _STAGE_BITS) - 1) == 0
