"""Makes groups of the slot's transactions: whole ones, as many as have come while the last group was written.

A table that has just got its snapshot takes no transaction that is in the snapshot already. It is taken in when the
stream has passed the snapshot's position: from then on all tables show the same transactions.
"""

from __future__ import annotations

import struct
import threading
import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa

from risingpy.connectors.postgres_cdc.pgoutput import (
    UNCHANGED,
    Relation,
    RowChanges,
    relation_of,
    row_changes,
    truncated,
)
from risingpy.connectors.postgres_cdc.replication import ReplicationStream, lsn_of, shown_lsn
from risingpy.connectors.postgres_cdc.row_chunks import BadRows, chunk_of, note_missing, parsed, shown_row
from risingpy.connectors.postgres_cdc.unchanged import with_unchanged
from risingpy.connectors.pushed import PushedRows, PushedTable

GROUP_BYTES = 16 << 20  # a group ends with the transaction in which it has grown so large
GROUP_SECONDS = 0.2  # or has become so old, if transactions come without a pause
ASK_SECONDS = 1.0  # how often PostgreSQL is asked where its log ends
DECODED_BYTES = 8 << 20  # of row messages at a time
IDLE_SECONDS = 0.1  # how soon a new table or the end of the server is noticed
ADVANCE_BYTES, ADVANCE_SECONDS = 16 << 20, 60.0  # of log without our rows: then the slot lets go of it
_HEADER = 25  # bytes before a message: 'w', its position, the end of the log, the time
_OID = slice(_HEADER + 1, _HEADER + 5)
_KEEPALIVE = ord("k")
_ROWS, _BEGIN, _COMMIT, _RELATION, _TRUNCATE = frozenset(b"IUD"), *b"BCRT"


class Receiver:
    """Reads one stream. For one thread."""

    def __init__(
        self,
        stream: ReplicationStream,
        rows: PushedRows,
        tables: Sequence[PushedTable],
        begins: Mapping[int, int],
        end_of_log: Callable[[], int],
    ) -> None:
        """`begins`: of tables with a new snapshot, the position from which on transactions come after it.

        `end_of_log` asks PostgreSQL where its log ends now.
        """
        self._stream = stream
        self._end_of_log = end_of_log
        self._rows = rows
        self._tables = {table.upstream: [t for t in tables if t.upstream == table.upstream] for table in tables}
        self._begins = dict(begins)
        self._relations: dict[int, Relation] = {}
        self._pending: dict[bytes, list[bytes]] = {}  # row messages by the oid of their relation, as it is sent
        self._pending_bytes = self._group_bytes = 0
        self._group = rows.group()
        self._in_transaction = False
        self._early: frozenset[int] = frozenset()  # tables whose snapshots have the transaction
        self._logged = self._received = self._end = lsn_of(rows.last_offset() or "0/0")
        self._logged_at = time.monotonic()
        self._committed_at = self._ask_at = 0.0  # time.monotonic
        self._answered = 0

    def run(self, known: Sequence[PushedTable], stopping: threading.Event) -> None:
        """Until `stopping` is set, or the source's tables are no more the `known` ones."""
        try:
            while not stopping.is_set():
                message = self._stream.next()
                if message is not None:
                    self._take(message)
                if not self._in_transaction and (message is None or self._is_due):
                    self._commit()
                    if self._rows.tables() is not known and not self._begins:
                        return
                if message is None:
                    self._rest()
        finally:
            self._group.discard()

    def _rest(self) -> None:
        """Nothing has come: waits for a moment. PostgreSQL says how far it is only if it is asked."""
        if self._begins or self._received < self._end or self._stream.status_is_due:
            self._stream.confirm(self._logged, wants_answer=True)
        self._stream.wait(IDLE_SECONDS)

    def _take(self, message: bytes) -> None:
        if message[0] == _KEEPALIVE:
            self._keepalive(message)
            return
        kind = message[_HEADER]
        if kind in _ROWS:
            self._pending.setdefault(message[_OID], []).append(message)
            self._pending_bytes += len(message)
            if self._pending_bytes > DECODED_BYTES:
                self._decode()
                if self._stream.status_is_due:
                    self._stream.confirm(self._logged)
        elif kind == _BEGIN:
            self._begin(struct.unpack_from(">Q", message, _HEADER + 1)[0])
        elif kind == _COMMIT:
            self._in_transaction = False
            self._received = struct.unpack_from(">Q", message, _HEADER + 10)[0]
        elif kind == _RELATION:
            relation = relation_of(message[_HEADER:])
            if self._relations.get(relation.oid) != relation:
                self._decode()
                self._relations[relation.oid] = relation
        elif kind == _TRUNCATE:
            self._truncate(truncated(message[_HEADER:]))

    @property
    def _is_due(self) -> bool:
        """Whether the group is to end now, though more may have come already."""
        large = self._group_bytes + self._pending_bytes > GROUP_BYTES
        return large or time.monotonic() > self._committed_at + GROUP_SECONDS

    def _begin(self, commit_lsn: int) -> None:
        self._in_transaction = True
        early = frozenset(table_id for table_id, begin in self._begins.items() if commit_lsn < begin)
        if early != self._early:
            self._decode()
            self._early = early

    def _keepalive(self, message: bytes) -> None:
        end, _, wants_answer = struct.unpack_from(">QQB", message, 1)
        if not self._in_transaction:
            self._commit()
            self._received = max(self._received, end)
            self._advance()
        if wants_answer:
            self._stream.confirm(self._logged)

    def _truncate(self, oids: Sequence[int]) -> None:
        self._decode()
        for oid in oids:
            for table in self._copies(oid):
                self._group.delete_all(table.table_id)
                self._group_bytes += 1

    def _copies(self, oid: int) -> list[PushedTable]:
        """The tables that take the changes of a relation now."""
        found = self._tables.get(self._relations[oid].name, ())
        return [table for table in found if table.table_id not in self._early]

    def _decode(self) -> None:
        """Moves the pending messages to the group, as chunks."""
        for sent, messages in self._pending.items():
            oid = int.from_bytes(sent)
            copies = self._copies(oid)
            if copies:
                relation = self._relations[oid]
                changes = row_changes(messages, len(relation.columns), _HEADER)
                for table in copies:
                    self._group.add(table.table_id, self._chunk(table, relation, changes, messages))
                self._group_bytes += sum(map(len, messages))
        self._pending, self._pending_bytes = {}, 0

    def _chunk(
        self, table: PushedTable, relation: Relation, changes: RowChanges, messages: Sequence[bytes]
    ) -> pa.Table:
        places = [relation.columns.index(c.name) if c.name in relation.columns else None for c in table.columns]
        nothing = pa.nulls(len(changes.ops), pa.string())
        texts = [nothing if place is None else changes.texts(place) for place in places]
        reasons = BadRows()
        columns = parsed(table, changes.ops, texts, reasons)
        none = np.zeros(len(changes.ops), np.bool_)
        missing = [none if place is None else changes.lengths[place] == UNCHANGED for place in places]
        if any(mask.any() for mask in missing):
            columns = with_unchanged(table, changes.ops, columns, missing, changes.replaces, self._group, reasons)
        note_missing(table, changes.ops, columns, reasons)
        return chunk_of(
            table, changes.ops, columns, reasons,
            rows=self._rows,
            position=lambda row: int(struct.unpack_from(">Q", messages[changes.messages[row]], 1)[0]),
            text=lambda row: shown_row(texts, row),
        )  # fmt: skip

    def _commit(self) -> None:
        """Logs what has come, and then tells PostgreSQL. Between transactions only."""
        self._decode()
        if self._group_bytes:
            self._group_bytes = 0
            self._log(self._received)
        self._advance()
        self._committed_at = time.monotonic()
        asked = self._rows.asked()
        if asked > self._answered or self._committed_at > self._ask_at:
            self._ask_at = self._committed_at + ASK_SECONDS
            self._end, self._answered = self._end_of_log(), asked
        self._rows.progress(self._received, self._end, self._answered)

    def _advance(self) -> None:
        """Logs the position alone, where there were no rows for long, or a new table waits for it."""
        reached = [table_id for table_id, begin in self._begins.items() if begin <= self._received]
        ahead = self._received - self._logged
        late = ahead and time.monotonic() > self._logged_at + ADVANCE_SECONDS
        if ahead and (reached or late or ahead > ADVANCE_BYTES):
            self._log(self._received)
        for table_id in reached:
            del self._begins[table_id]
            self._rows.taken_in(table_id)

    def _log(self, position: int) -> None:
        self._group.commit(shown_lsn(position))
        self._logged, self._logged_at = position, time.monotonic()
        self._stream.confirm(position)
