"""Decodes messages of pgoutput, protocol version 1 (PostgreSQL's manual, 55.9 Logical Replication Message Formats).

Row messages are decoded many at a time, column by column: a step of NumPy finds where a column's value begins in every
message, and so where the next column's begins. All integers are big-endian.

    Insert   'I' oid 'N' tuple
    Update   'U' oid ['K' tuple | 'O' tuple] 'N' tuple
    Delete   'D' oid 'K' tuple | 'O' tuple
    tuple    number of columns u16, then for each: 'n' | 'u' | 't' length u32, text
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from risingpy.connectors.postgres_cdc.table_names import whole_name

Positions = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

NULL, UNCHANGED = -1, -2  # lengths of values that are not sent
_INSERT, _UPDATE, _DELETE, _NEW, _FULL = b"IUDNO"
_TEXT, _MISSING = b"tu"


@dataclass(frozen=True, slots=True)
class Relation:
    """What a Relation message says: the table's whole name, and its columns in the order of tuples.

    `sent` has (name, oid of the type, modifier) of each column. `key` are the places of those that old tuples have, and
    `identity` is pg_class.relreplident.
    """

    oid: int
    name: str
    identity: str
    sent: tuple[tuple[str, int, int], ...]
    key: frozenset[int]


@dataclass(frozen=True, slots=True)
class RowChanges:
    """The rows of messages, in order; an update whose message has an old tuple is a deletion and an insertion.

    `ops` are ±1. `starts` and `lengths` of every column of the relation count in `data`, which is below 2 GiB; a length
    may be `NULL` or `UNCHANGED`. `messages` has the position of each row's message. `replaces`: of an insertion,
    whether the row before is the deletion of the same update.
    """

    data: npt.NDArray[np.uint8]
    ops: npt.NDArray[np.int8]
    starts: Sequence[Positions]
    lengths: Sequence[Positions]
    messages: Positions
    replaces: Mask

    def texts(self, column: int) -> pa.Array:
        """A column's values as texts; what was not sent is NULL."""
        starts, lengths = self.starts[column], np.maximum(self.lengths[column], 0)
        ends = np.cumsum(lengths)
        # The place of each byte of the column: its place in the column, moved by how far its value is from there.
        moved = np.repeat((starts - ends + lengths).astype(np.int32), lengths)
        moved += np.arange(len(moved), dtype=np.int32)
        offsets = np.concatenate([np.zeros(1, np.int32), ends.astype(np.int32)])
        sent = self.lengths[column] >= 0
        valid = None if sent.all() else pa.py_buffer(np.packbits(sent, bitorder="little"))
        buffers = [valid, pa.py_buffer(offsets), pa.py_buffer(self.data[moved])]
        return pa.Array.from_buffers(pa.string(), len(lengths), buffers)


def relation_of(message: bytes) -> Relation:
    """Decodes a Relation message, without what encloses it."""
    (oid,) = struct.unpack_from(">I", message, 1)
    schema, position = _text(message, 5)
    name, position = _text(message, position)
    identity, count = struct.unpack_from(">cH", message, position)
    position += 3
    sent: list[tuple[str, int, int]] = []
    key = set()
    for place in range(count):
        if message[position] & 1:
            key.add(place)
        column, position = _text(message, position + 1)
        sent.append((column, *struct.unpack_from(">Ii", message, position)))
        position += 8
    return Relation(oid, whole_name(schema or "pg_catalog", name), identity.decode(), tuple(sent), frozenset(key))


def truncated(message: bytes) -> tuple[int, ...]:
    """The oids of the tables that a Truncate message names."""
    (count,) = struct.unpack_from(">I", message, 1)
    return struct.unpack_from(f">{count}I", message, 6)


def row_changes(messages: Sequence[bytes], columns: int, skipped: int) -> RowChanges:
    """The rows of Insert, Update and Delete messages of one relation, each after `skipped` bytes that enclose it."""
    data = np.frombuffer(b"".join([*messages, b"\0" * 8]), np.uint8)  # reads of lengths may go beyond the last value
    sizes = np.fromiter(map(len, messages), np.int64, len(messages))
    begins = np.cumsum(sizes) - sizes + skipped
    kinds, marks = data[begins], data[begins + 5]
    has_old = (kinds == _DELETE) | ((kinds == _UPDATE) & (marks != _NEW))
    has_new = kinds != _DELETE
    old_starts, old_lengths, old_ends = _tuples(data, begins[has_old] + 6, columns)
    news = begins + 6
    news[has_old] = old_ends + 1
    new_starts, new_lengths, _ = _tuples(data, news[has_new], columns)
    _fill_from_old(has_old, has_new, marks == _FULL, (old_starts, old_lengths), (new_starts, new_lengths))
    numbers = np.arange(len(messages))
    order = np.argsort(np.concatenate([numbers[has_old] * 2, numbers[has_new] * 2 + 1]), kind="stable")
    n_old, n_new = len(old_ends), int(has_new.sum())
    ops = np.concatenate([np.full(n_old, -1, np.int8), np.full(n_new, 1, np.int8)])[order]
    replaces = np.concatenate([np.zeros(n_old, np.bool_), (has_old & has_new)[has_new]])[order]
    starts = [np.concatenate(pair)[order] for pair in zip(old_starts, new_starts, strict=True)]
    lengths = [np.concatenate(pair)[order] for pair in zip(old_lengths, new_lengths, strict=True)]
    origin = np.concatenate([numbers[has_old], numbers[has_new]])[order]
    return RowChanges(data, ops, starts, lengths, origin, replaces)


def _tuples(
    data: npt.NDArray[np.uint8], begins: Positions, columns: int
) -> tuple[list[Positions], list[Positions], Positions]:
    """(where each column's values start, their lengths, where the tuples end), of tuples that begin at `begins`."""
    at = begins + 2
    starts, lengths = [], []
    for _ in range(columns):
        kinds = data[at]
        is_text = kinds == _TEXT
        length = np.zeros(len(at), np.int64)
        for k in range(1, 5):
            length = (length << 8) | data[np.minimum(at + k, len(data) - 1)]
        starts.append(at + 5)
        lengths.append(np.where(is_text, length, np.where(kinds == _MISSING, UNCHANGED, NULL)))
        at = np.where(is_text, at + 5 + length, at + 1)
    for start, of_column in zip(starts, lengths, strict=True):
        start[of_column < 0] = 0
    return starts, lengths, at


def _fill_from_old(
    has_old: Mask,
    has_new: Mask,
    is_full: Mask,
    old: tuple[list[Positions], list[Positions]],
    new: tuple[list[Positions], list[Positions]],
) -> None:
    """Where an update's old tuple is whole (REPLICA IDENTITY FULL), it has the values that the new one leaves out."""
    both = has_old & has_new & is_full
    if not both.any():
        return
    olds = (np.cumsum(has_old) - 1)[both]
    news = (np.cumsum(has_new) - 1)[both]
    for old_starts, old_lengths, new_starts, new_lengths in zip(*old, *new, strict=True):
        missing = new_lengths[news] == UNCHANGED
        new_starts[news[missing]] = old_starts[olds[missing]]
        new_lengths[news[missing]] = old_lengths[olds[missing]]


def _text(message: bytes, position: int) -> tuple[str, int]:
    end = message.index(b"\0", position)
    return message[position:end].decode(), end + 1
