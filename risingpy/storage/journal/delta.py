"""Deltas: what a shard's transaction has changed, as bytes that any machine can apply.

An Arrow IPC stream of (key, value), compressed with zstd where it is large. A batch has rows of one table, and its keys
ascend; a NULL value deletes the key. A key may be in several batches: the last one counts. Values are absolute, so a
delta may be applied twice, or on top of a state that has a part of it.

A small delta goes along with the report of its task, into the journal's record. A large one becomes an object, put
before the task commits its own shard. Each attempt at a task takes a name of its own: an epoch's record names those
that count, and nobody ever reads the others.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence

import pyarrow as pa

from risingpy.storage.engine.mem_table import WriteBatch
from risingpy.storage.engine.table_statistics import TABLE_ID_BYTES
from risingpy.storage.journal.entries import Delta
from risingpy.storage.journal.record import DamagedState
from risingpy.storage.objects.object_store import ObjectMissing, ObjectStore, get_surely, put_own

INLINE_BYTES = 1 << 16  # a put costs milliseconds whatever is in it: up to here, a report and a record carry it
COMPRESSED_FROM = 1 << 14  # bytes; waking zstd for less costs an epoch more than it saves
SCHEMA = pa.schema([("key", pa.binary()), ("value", pa.binary())])


class ShardDeltas:
    """Writes the deltas of a process's shards."""

    def __init__(self, objects: ObjectStore, *, inline_bytes: int = INLINE_BYTES) -> None:
        """A delta of at most `inline_bytes` goes with the report."""
        self._objects = objects
        self._inline_bytes = inline_bytes

    def put(self, epoch: int, stage: int, shard: int, batches: Sequence[WriteBatch]) -> Delta:
        """Makes a delta of writes, in this order, each batch of one table. StateUnavailable if it cannot be put."""
        name = f"d/{epoch}-{stage}.{secrets.token_hex(6)}-{shard}"
        data = encode_batches(batches)
        small = len(data) <= self._inline_bytes
        if not small:
            put_own(self._objects, name, data)
        return Delta(name, epoch, shard, len(data), tables_of(batches), data if small else None)


def tables_of(batches: Iterable[WriteBatch]) -> dict[int, int]:
    """By table, how many bytes of keys and values the batches have."""
    sizes: dict[int, int] = {}
    for batch in batches:
        table_id = table_id_of(batch)
        sizes[table_id] = sizes.get(table_id, 0) + batch.keys.nbytes + batch.values.nbytes
    return sizes


def table_id_of(batch: WriteBatch) -> int:
    """The table of a batch that has rows."""
    return int.from_bytes(batch.keys[0].as_py()[:TABLE_ID_BYTES])


def encode_batches(batches: Sequence[WriteBatch]) -> bytes:
    """The bytes of a delta, or of a snapshot's part."""
    sink = pa.BufferOutputStream()
    size = sum(batch.keys.nbytes + batch.values.nbytes for batch in batches)
    compression = "zstd" if size >= COMPRESSED_FROM else None
    options = pa.ipc.IpcWriteOptions(compression=compression, use_threads=False)
    with pa.ipc.new_stream(sink, SCHEMA, options=options) as stream:
        for batch in batches:
            stream.write_batch(pa.record_batch([batch.keys, batch.values], schema=SCHEMA))
    return bytes(sink.getvalue())


def decode_batches(name: str, data: bytes) -> list[WriteBatch]:
    """The batches of a delta or a part. DamagedState if the bytes are none."""
    try:
        with pa.ipc.open_stream(pa.py_buffer(data)) as stream:
            return [WriteBatch(batch.column(0), batch.column(1)) for batch in stream if batch.num_rows]
    except (pa.ArrowException, OSError) as error:
        raise DamagedState(f"{name} is damaged: {error}") from error


def read_batches(objects: ObjectStore, name: str) -> list[WriteBatch]:
    """The batches of an object. DamagedState if it is missing or damaged."""
    try:
        return decode_batches(name, get_surely(objects, name))
    except ObjectMissing:
        raise DamagedState(f"{objects.uri}/{name} is missing, and the journal names it") from None
