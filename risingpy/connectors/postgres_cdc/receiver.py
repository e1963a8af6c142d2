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

from risingpy.connectors.postgres_cdc.followed_tables import Altered, FollowedTable, FollowedTables
from risingpy.connectors.postgres_cdc.pgoutput import (
    UNCHANGED,
    Relation,
    RowChanges,
    relation_of,
    row_changes,
    truncated,
)
from risingpy.connectors.postgres_cdc.replication import ReplicationStream, lsn_of, shown_lsn
from risingpy.connectors.postgres_cdc.unchanged import with_unchanged
from risingpy.connectors.pushed import AlteredOriginal, PushedRows, PushedTable
from risingpy.connectors.row_chunks import BadRows, chunk_of, note_missing, parsed, shown_row
from risingpy.connectors.stopped_tables import Stop, offset_text, parsed_offset

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
        followed: FollowedTables,
        begins: Mapping[int, int],
        end_of_log: Callable[[], int],
    ) -> None:
        """`begins`: of tables with a new snapshot, the position from which on transactions come after it.

        `end_of_log` asks PostgreSQL where its log ends now.
        """
        position, self._stops = parsed_offset(rows.last_offset() or "0/0")
        self._stream = stream
        self._end_of_log = end_of_log
        self._rows = rows
        self._followed = followed
        self.begins = dict(begins)
        """Of the new tables that the stream has not reached yet, what the constructor was given."""
        self._relations: dict[int, Relation] = {}
        self._pending: dict[bytes, list[bytes]] = {}  # row messages by the oid of their relation, as it is sent
        self._pending_bytes = self._group_bytes = 0
        self._group = rows.group()
        self._in_transaction = False
        self._without: frozenset[int] = frozenset()  # tables that do not take the transaction
        self._transaction = 0  # where its commit record is
        self._starts_again = False
        self._logged = self._received = self._end = lsn_of(position)
        self._logged_at = time.monotonic()
        self._committed_at = self._ask_at = 0.0  # time.monotonic
        self._answered = 0

    def run(self, known: Sequence[PushedTable], stopping: threading.Event) -> None:
        """Until `stopping` is set, the tables are no more the `known` ones, or the stream is to begin again."""
        try:
            while not stopping.is_set() and not self._starts_again:
                message = self._stream.next()
                if message is not None:
                    self._take(message)
                if not self._in_transaction and (message is None or self._is_due):
                    self._commit()
                    if self._rows.tables() is not known and not self.begins:
                        return
                if message is None:
                    self._rest()
        finally:
            self._group.discard()

    def _rest(self) -> None:
        """Nothing has come: waits for a moment. PostgreSQL says how far it is only if it is asked."""
        if self.begins or self._received < self._end or self._stream.status_is_due:
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
            self._decode()
            relation = relation_of(message[_HEADER:])
            self._relations[relation.oid] = relation
            self._take_relation(relation, self._copies(relation.oid))
        elif kind == _TRUNCATE:
            self._truncate(truncated(message[_HEADER:]))

    @property
    def _is_due(self) -> bool:
        """Whether the group is to end now, though more may have come already."""
        large = self._group_bytes + self._pending_bytes > GROUP_BYTES
        return large or time.monotonic() > self._committed_at + GROUP_SECONDS

    def _begin(self, commit_lsn: int) -> None:
        self._in_transaction, self._transaction = True, commit_lsn
        in_snapshot = {table_id for table_id, begin in self.begins.items() if commit_lsn < begin}
        stopped = {table_id for table_id, stop in self._stops.items() if lsn_of(stop.position) <= commit_lsn}
        if in_snapshot | stopped != self._without:
            self._decode()
            joining = self._without - in_snapshot
            self._without = frozenset(in_snapshot | stopped)
            for relation in self._relations.values():
                joined = [copy for copy in self._copies(relation.oid) if copy.table.table_id in joining]
                self._take_relation(relation, joined)

    def _take_relation(self, relation: Relation, copies: Sequence[FollowedTable]) -> None:
        """The copies understand the relation's rows from now on, if need be after an alteration.

        Those that cannot do not take this transaction. Some of its rows may be in the group already: the stream begins
        again at the last logged position.
        """
        found = self._followed.take(relation, copies) if copies else Altered()
        refused = self._alter(found.changed)
        reasons = dict(found.stopped)
        if refused:
            again = [copy for copy in copies if copy.table.table_id in refused]
            reasons |= self._followed.take(relation, again).stopped
        if not reasons and len(refused) == len(found.changed):
            return
        self._group.discard()
        self._pending, self._pending_bytes, self._starts_again = {}, 0, True
        if reasons:
            self._stop(reasons, self._transaction)
            self._group.commit(offset_text(shown_lsn(self._logged), self._stops))

    def _alter(self, changed: Mapping[int, AlteredOriginal]) -> dict[int, str]:
        """Gives copies the columns of their originals: by id, why some cannot have them.

        The group's rows for the others are of no use then.
        """
        reasons = {}
        for table_id, altered in changed.items():
            if table_id in self.begins:
                reasons[table_id] = "the table was altered upstream while it was copied"
            elif table_id in self._stops:
                reasons[table_id] = self._stops[table_id].reason
            elif (reason := self._rows.alter(altered)) is not None:
                reasons[table_id] = reason
        self._followed.refuse(reasons)
        return reasons

    def _stop(self, reasons: Mapping[int, str], position: int) -> None:
        """Tables take no transaction from the position on. It is durable with the next offset that is logged."""
        for table_id, reason in reasons.items():
            if table_id in self.begins:
                self._rows.refused(table_id, reason)
                self.begins.pop(table_id)
            self._stops[table_id] = Stop(shown_lsn(position), reason)

    def _note(self) -> None:
        known = {table.table_id for table in self._rows.tables()}
        self._stops = {table_id: stop for table_id, stop in self._stops.items() if table_id in known}
        stopped = {table_id: f"stopped: {stop.reason}" for table_id, stop in self._stops.items()}
        self._rows.noted({**self._followed.notes(), **stopped})

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
            for copy in self._copies(oid):
                self._group.delete_all(copy.table.table_id)
                self._group_bytes += 1

    def _copies(self, oid: int) -> list[FollowedTable]:
        """The tables that take the changes of a relation now."""
        return [copy for copy in self._followed.of(oid) if copy.table.table_id not in self._without]

    def _decode(self) -> None:
        """Moves the pending messages to the group, as chunks."""
        for sent, messages in self._pending.items():
            oid = int.from_bytes(sent)
            copies = self._copies(oid)
            if copies:
                relation = self._relations[oid]
                changes = row_changes(messages, len(relation.sent), _HEADER)
                for copy in copies:
                    self._group.add(copy.table.table_id, self._chunk(copy, changes, messages))
                self._group_bytes += sum(map(len, messages))
        self._pending, self._pending_bytes = {}, 0

    def _chunk(self, copy: FollowedTable, changes: RowChanges, messages: Sequence[bytes]) -> pa.Table:
        table = copy.table
        texts = [
            changes.texts(place) if place >= 0 else pa.repeat(pa.scalar(text, pa.string()), len(changes.ops))
            for place, text in zip(copy.places, copy.missing, strict=True)
        ]
        reasons = BadRows()
        columns = parsed(table, changes.ops, texts, reasons)
        absent = np.zeros(len(changes.ops), np.bool_)
        missing = [changes.lengths[place] == UNCHANGED if place >= 0 else absent for place in copy.places]
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
        if self._starts_again:
            return
        self._decode()
        if self._group_bytes:
            self._group_bytes = 0
            self._log(self._received)
        self._advance()
        self._committed_at = time.monotonic()
        asked = self._rows.asked()
        if asked > self._answered or self._committed_at > self._ask_at:
            self._ask()
            self._answered = asked
        self._rows.progress(self._received, self._end, self._answered)

    def _ask(self) -> None:
        """Whether the tables are as they were, and where the log ends. Those that are not follow, or stop at that end.

        Until there, the stream has the transactions of before, and it says itself if they were after an alteration.
        """
        self._ask_at = self._committed_at + ASK_SECONDS
        altered = self._followed.refresh()
        self._end = self._end_of_log()
        settled = self.begins.keys() | self._stops.keys()
        changed = {table_id: each for table_id, each in altered.changed.items() if table_id not in settled}
        reasons = {**altered.stopped, **self._alter(changed)}
        self._starts_again |= bool(changed)
        new = {table_id: reason for table_id, reason in reasons.items() if table_id not in self._stops}
        if new:
            self._stop(new, self._end)
            self._log(self._received)
        self._note()

    def _advance(self) -> None:
        """Logs the position alone, where there were no rows for long, or a new table waits for it."""
        reached = [table_id for table_id, begin in self.begins.items() if begin <= self._received]
        ahead = self._received - self._logged
        late = ahead and time.monotonic() > self._logged_at + ADVANCE_SECONDS
        if ahead and (reached or late or ahead > ADVANCE_BYTES):
            self._log(self._received)
        for table_id in reached:
            del self.begins[table_id]
            self._rows.taken_in(table_id)

    def _log(self, position: int) -> None:
        self._group.commit(offset_text(shown_lsn(position), self._stops))
        self._logged, self._logged_at = position, time.monotonic()
        self._stream.confirm(position)
