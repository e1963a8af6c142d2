"""FORMAT DEBEZIUM: a message is a change of a row, with the row before and after it.

    op      c (create), r (read: snapshot)   u (update)             d (delete)
    rows    after                            key of before, after   key of before

The key of before is deleted only where an update has changed it. A message without a payload follows each deletion for
Kafka's compaction: it says nothing new.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.connectors.formats.columns import Positions, Reasons, decoded
from risingpy.connectors.formats.decoder import Decoded
from risingpy.connectors.formats.keyed_columns import KeyedColumns, first_valid
from risingpy.connectors.formats.payload_reader import KeyReader, PayloadReader


@dataclass(frozen=True, slots=True)
class Envelopes:
    """Envelopes of payloads: `rows` says which payloads; their ops as texts, and the two rows as encoded payloads."""

    rows: Positions
    ops: pa.Array
    before: pa.Array
    after: pa.Array


class EnvelopeReader(Protocol):
    """Reads Debezium's envelopes in one encoding."""

    def read(self, payloads: pa.Array, messages: Positions, reasons: Reasons) -> Envelopes:
        """The envelopes of those payloads that are good and no tombstones."""
        ...


@dataclass(frozen=True, slots=True)
class DebeziumReaders:
    """What reads the parts of a message: its envelope, a row, the key in a row, the message's key (None: ignored)."""

    envelopes: EnvelopeReader
    rows: PayloadReader
    key_of_row: PayloadReader
    keys: KeyReader | None


class DebeziumDecoder:
    """A row of op −1 has the columns of its key only."""

    def __init__(self, columns: KeyedColumns, readers: DebeziumReaders) -> None:
        self._columns = columns
        self._readers = readers

    def decode(self, messages: pa.Table) -> Decoded:
        reasons = Reasons()
        payloads, keys = messages["payload"].combine_chunks(), messages["key"].combine_chunks()
        there = pc.fill_null(pc.greater(pc.binary_length(payloads), 0), False)
        positions = np.flatnonzero(there.to_numpy(zero_copy_only=False))
        envelopes = self._readers.envelopes.read(payloads.filter(there), positions, reasons)
        positions = positions[envelopes.rows]
        _check_ops(envelopes, positions, reasons)
        inserted = self._inserted(envelopes, positions, reasons)
        parts = [inserted, self._updated(envelopes, positions, inserted, reasons)]
        parts.append(self._deleted(envelopes, positions, keys, reasons))
        return _together(parts, reasons)

    def _inserted(self, envelopes: Envelopes, positions: Positions, reasons: Reasons) -> _Rows:
        chosen = pc.is_in(envelopes.ops, pa.array(["c", "r", "u"])).to_numpy(zero_copy_only=False)
        missing = chosen & envelopes.after.is_null().to_numpy(zero_copy_only=False)
        for row in np.flatnonzero(missing):
            reasons.add(int(positions[row]), f'"after" is missing, with op {envelopes.ops[row]}')
        chosen &= ~missing
        rows = positions[chosen]
        columns = self._readers.rows.read(envelopes.after.filter(pa.array(chosen)), rows, reasons)
        self._columns.without_key(rows, [columns[k] for k in self._columns.key], reasons)
        return _Rows(1, rows, columns)

    def _updated(self, envelopes: Envelopes, positions: Positions, inserted: _Rows, reasons: Reasons) -> _Rows:
        """The rows that updates have moved to another key, under their former key."""
        chosen = pc.and_(pc.equal(envelopes.ops, "u"), envelopes.before.is_valid())
        chosen = pc.and_(chosen, pa.array(np.isin(positions, inserted.positions)))
        rows = positions[pc.fill_null(chosen, False).to_numpy(zero_copy_only=False)]
        former = self._readers.key_of_row.read(envelopes.before.filter(chosen), rows, reasons)
        places = pa.array(np.searchsorted(inserted.positions, rows))
        moved = np.zeros(len(rows), bool)
        for k, before in zip(self._columns.key, former, strict=True):
            # A former key that is NULL was not sent: then the key has not changed.
            moved |= pc.fill_null(pc.not_equal(before, inserted.columns[k].take(places)), False).to_numpy(
                zero_copy_only=False
            )
        mask = pa.array(moved)
        return _Rows(-1, rows[moved], self._columns.of_key([key.filter(mask) for key in former], int(moved.sum())))

    def _deleted(self, envelopes: Envelopes, positions: Positions, keys: pa.Array, reasons: Reasons) -> _Rows:
        chosen = pc.fill_null(pc.equal(envelopes.ops, "d"), False).to_numpy(zero_copy_only=False)
        rows = positions[chosen]
        before = envelopes.before.filter(pa.array(chosen))
        there = before.is_valid()
        of_rows = there.to_numpy(zero_copy_only=False)
        found = self._readers.key_of_row.read(before.filter(there), rows[of_rows], reasons)
        places = pa.array(np.cumsum(of_rows) - 1, mask=~of_rows)
        deleted = [key.take(places) for key in found]
        if self._readers.keys is not None and any(key.null_count for key in deleted):
            of_keys = self._readers.keys.read(keys.take(pa.array(rows)), rows, reasons)
            deleted = [first_valid(key, other) for key, other in zip(deleted, of_keys, strict=True)]
        self._columns.without_key(rows, deleted, reasons)
        return _Rows(-1, rows, self._columns.of_key(deleted, len(rows)))


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows with one op, and the positions of their messages, which ascend."""

    op: int
    positions: Positions
    columns: Sequence[pa.Array]


def _check_ops(envelopes: Envelopes, positions: Positions, reasons: Reasons) -> None:
    known = pc.is_in(envelopes.ops, pa.array(["c", "r", "u", "d"])).to_numpy(zero_copy_only=False)
    for row in np.flatnonzero(~known):
        op = envelopes.ops[row].as_py()
        reason = "the message has no op" if op is None else f'op "{op}" is not supported'
        if op == "t":
            reason = "the table was truncated upstream, which is not supported"
        reasons.add(int(positions[row]), reason)


def _together(parts: Sequence[_Rows], reasons: Reasons) -> Decoded:
    """All rows in the order of their messages; of one message, the deletion first."""
    positions = np.concatenate([part.positions for part in parts])
    ops = np.concatenate([np.full(len(part.positions), part.op, np.int8) for part in parts])
    columns = [pa.concat_arrays(column) for column in zip(*(part.columns for part in parts), strict=True)]
    if len(parts[0].positions) != len(positions):
        order = np.argsort(positions * 2 + (ops > 0), kind="stable")
        positions, ops = positions[order], ops[order]
        columns = [column.take(pa.array(order)) for column in columns]
    return decoded(columns, pa.array(positions), reasons, pa.array(ops))
