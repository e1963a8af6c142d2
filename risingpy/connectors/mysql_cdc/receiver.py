"""Makes groups of the binary log's transactions: whole ones, as many as have come while the last group was written.

A table that has just got its snapshot takes no transaction that is in the snapshot already. It is taken in when the
log has passed the snapshot's position: from then on all tables show the same transactions.
"""

from __future__ import annotations

import struct
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from risingpy.connectors.mysql_cdc import events
from risingpy.connectors.mysql_cdc.alterations import Effect, EffectKind, effects_of, is_of_rows
from risingpy.connectors.mysql_cdc.binlog import BinlogStream
from risingpy.connectors.mysql_cdc.column_texts import column_texts
from risingpy.connectors.mysql_cdc.events import TableMap
from risingpy.connectors.mysql_cdc.positions import Position, position_of
from risingpy.connectors.mysql_cdc.row_kernel import EventRows, event_rows
from risingpy.connectors.mysql_cdc.upstream import MysqlTable, shape_of_text
from risingpy.connectors.pushed import PushedRows, PushedTable
from risingpy.connectors.row_chunks import BadRows, chunk_of, note_missing, parsed, shown_row
from risingpy.connectors.stopped_tables import Stop, offset_text, parsed_offset
from risingpy.errors import SourceUnavailable

GROUP_BYTES = 16 << 20  # a group ends with the transaction in which it has grown so large
GROUP_SECONDS = 0.2  # or has become so old, if transactions come without a pause
ASK_SECONDS = 1.0  # how often the server is asked where its log ends
DECODED_BYTES = 8 << 20  # of row events at a time
IDLE_SECONDS = 0.1  # how soon a new table or the end of our server is noticed
ADVANCE_BYTES, ADVANCE_SECONDS = 16 << 20, 60.0  # of log without our rows: then the position alone is logged
_STANDALONE = 1  # a flag of MariaDB's: the event after the GTID is all there is
_CHECKSUM_BYTES = 4


@dataclass(slots=True)
class _Copy:
    """A table that takes changes, and what the original was when it was made. `note` says what it lacks."""

    table: PushedTable
    shape: MysqlTable
    note: str | None = None


class BinlogReceiver:
    """Reads one stream. For one thread."""

    def __init__(
        self,
        stream: BinlogStream,
        rows: PushedRows,
        tables: Sequence[PushedTable],
        begins: Mapping[int, Position],
        end_of_log: Callable[[], Position],
    ) -> None:
        """`begins`: of tables with a new snapshot, the position from which on transactions come after it."""
        position, self._stops = parsed_offset(rows.last_offset() or "")
        self._stream = stream
        self._rows = rows
        self._end_of_log = end_of_log
        self._copies: dict[str, list[_Copy]] = {}
        for table in tables:
            self._copies.setdefault(table.upstream, []).append(_Copy(table, shape_of_text(table.shape)))
        self.begins = dict(begins)
        self._maps: dict[int, tuple[bytes, TableMap]] = {}  # by table id, with the bytes that say it
        self._pending: dict[int, list[tuple[int, int, bytes]]] = {}  # (type, position, body) by table id
        self._pending_bytes = self._group_bytes = 0
        self._group = rows.group()
        self._in_transaction = self._has_begun = self._starts_again = False
        self._without: frozenset[int] = frozenset()  # tables that do not take the transaction
        self._has_checksums = stream.has_checksums
        self._logged = self._received = self._end = position_of(position)
        self._logged_at = time.monotonic()
        self._committed_at = self._ask_at = 0.0  # time.monotonic
        self._answered = 0

    def run(self, known: Sequence[PushedTable], stopping: threading.Event) -> None:
        """Until `stopping` is set, the tables are no more the `known` ones, or the stream is to begin again."""
        try:
            while not stopping.is_set() and not self._starts_again:
                event = self._stream.next()
                if event is not None:
                    self._take(event)
                if not self._in_transaction and not self._starts_again and (event is None or self._is_due):
                    self._commit()
                    if self._rows.tables() is not known and not self.begins:
                        return
                if event is None:
                    self._stream.wait(IDLE_SECONDS)
        finally:
            self._group.discard()

    def _take(self, event: bytes) -> None:
        type_, after = event[4], struct.unpack_from("<I", event, 13)[0]
        if type_ == events.FORMAT:
            self._has_checksums = event[-_CHECKSUM_BYTES - 1] == 1
        body = event[events.HEAD_BYTES : len(event) - (_CHECKSUM_BYTES if self._has_checksums else 0)]
        if type_ in events.ROWS:
            self._add_rows(type_, after, body)
        elif type_ == events.TABLE_MAP:
            self._add_map(body)
        elif type_ == events.ROTATE:
            self._received = Position(body[8:].decode(), int.from_bytes(body[:8], "little"))
        elif type_ == events.MARIADB_GTID:
            self._begin(has_begun=not body[12] & _STANDALONE)
        elif type_ == events.QUERY:
            self._query(*events.query_of(body), after)
        elif type_ == events.XID:
            self._ends(after)
        elif type_ == events.XA_PREPARE:
            raise SourceUnavailable("XA transactions are not supported: their rows come before their commit")
        elif type_ in events.UNREADABLE:
            raise SourceUnavailable(f"the binary log has {events.UNREADABLE[type_]}, which are not supported")
        elif not self._in_transaction and after and type_ != events.HEARTBEAT:
            self._ends(after)

    @property
    def _is_due(self) -> bool:
        """Whether the group is to end now, though more may have come already."""
        large = self._group_bytes + self._pending_bytes > GROUP_BYTES
        return large or time.monotonic() > self._committed_at + GROUP_SECONDS

    def _begin(self, *, has_begun: bool) -> None:
        self._in_transaction, self._has_begun = True, has_begun
        start = self._received.number
        in_snapshot = {table_id for table_id, begin in self.begins.items() if start < begin.number}
        stopped = {table_id for table_id, stop in self._stops.items() if position_of(stop.position).number <= start}
        if in_snapshot | stopped != self._without:
            self._decode()
            self._without = frozenset(in_snapshot | stopped)

    def _ends(self, after: int) -> None:
        self._in_transaction = self._has_begun = False
        self._received = Position(self._received.file, after)

    def _query(self, database: str, statement: str, after: int) -> None:
        word = statement[:32].strip().upper()
        if word == "BEGIN":
            self._begin(has_begun=True)
        elif self._has_begun and word.startswith(("COMMIT", "ROLLBACK")) and not word.startswith("ROLLBACK TO"):
            self._ends(after)
        elif is_of_rows(statement):
            for name, copies in self._copies.items():
                taking = [copy for copy in copies if self._received_by(copy)]
                if taking and name.partition(".")[2] in statement:
                    self._stop_within(taking, "was changed upstream by a statement that was logged without its rows")
        elif not self._has_begun:
            self._decode()
            for effect in effects_of(database, statement):
                self._alter(effect)
            self._ends(after)

    def _alter(self, effect: Effect) -> None:
        """A statement that alters tables takes effect, between two transactions."""
        database, _, table = effect.table.partition(".")
        names = [name for name in self._copies if table == "*" and name.partition(".")[0] == database]
        for name in names or [effect.table]:
            copies = [copy for copy in self._copies.get(name, ()) if self._received_by(copy)]
            match effect.kind:
                case EffectKind.TRUNCATED:
                    for copy in copies:
                        self._group.delete_all(copy.table.table_id)
                        self._group_bytes += 1
                case EffectKind.ADDED:
                    for copy in copies:
                        copy.note = "the copy goes on without columns that were added upstream"
                case EffectKind.COLUMN:
                    has = [c for c in copies if any(effect.what == column.name for column in c.table.columns)]
                    self._stop(has, f'was altered upstream: column "{effect.what}" was dropped, renamed or changed')
                case EffectKind.TABLE:
                    self._stop(copies, effect.what)

    def _received_by(self, copy: _Copy) -> bool:
        """Whether the copy takes what begins here: the snapshot of a new one may have it already."""
        begin = self.begins.get(copy.table.table_id)
        return (begin is None or self._received.number >= begin.number) and copy.table.table_id not in self._stops

    def _stop(self, copies: Sequence[_Copy], reason: str) -> None:
        """Copies take no transaction from here on. It is durable with the next offset that is logged."""
        for copy in copies:
            table_id = copy.table.table_id
            told = f'table "{copy.table.upstream}" {reason}'
            if self.begins.pop(table_id, None) is not None:
                self._rows.refused(table_id, told)
            self._stops.setdefault(table_id, Stop(str(self._received), told))
            self._group_bytes += 1

    def _stop_within(self, copies: Sequence[_Copy], reason: str) -> None:
        """As `_stop`, in the middle of a transaction: the stream begins again at the last logged position."""
        self._stop(copies, reason)
        self._group.discard()
        self._group.commit(offset_text(str(self._logged), self._stops))
        self._pending, self._pending_bytes, self._starts_again = {}, 0, True

    def _add_map(self, body: bytes) -> None:
        table_id = events.table_id_of(body)
        known = self._maps.get(table_id)
        if known is not None and known[0] == body:
            return
        self._decode()
        made = events.table_map_of(body)
        if made is None:
            raise SourceUnavailable(
                "the binary log has no names of columns", hint="SET GLOBAL binlog_row_metadata = FULL"
            )
        self._maps[table_id] = body, made
        for copy in self._copies.get(made.name, ()):
            reason = None if copy.table.table_id in self._without else _misfit(copy, made)
            if reason is not None:
                self._stop_within([copy], reason)

    def _add_rows(self, type_: int, after: int, body: bytes) -> None:
        table_id = events.table_id_of(body)
        known = self._maps.get(table_id)
        if known is None or not self._copies.get(known[1].name):
            return
        self._pending.setdefault(table_id, []).append((type_, after, body))
        self._pending_bytes += len(body)
        if self._pending_bytes > DECODED_BYTES:
            self._decode()

    def _decode(self) -> None:
        """Moves the pending events to the group, as chunks."""
        for table_id, pending in self._pending.items():
            made = self._maps[table_id][1]
            copies = [copy for copy in self._copies[made.name] if copy.table.table_id not in self._without]
            if copies:
                rows = _rows_of(made, pending)
                for copy in copies:
                    self._group.add(copy.table.table_id, self._chunk(copy, made, rows, pending))
                self._group_bytes += sum(len(body) for _, _, body in pending)
        self._pending, self._pending_bytes = {}, 0

    def _chunk(
        self, copy: _Copy, made: TableMap, rows: EventRows, pending: Sequence[tuple[int, int, bytes]]
    ) -> pa.Table:
        texts = []
        places = {column.name: place for place, column in enumerate(made.columns)}
        for column in copy.table.columns:
            place, described = places[column.name], copy.shape.column(column.name)
            assert described is not None
            texts.append(column_texts(rows, place, made.columns[place], described.character_set))
        reasons = BadRows()
        columns = parsed(copy.table, rows.ops, texts, reasons)
        note_missing(copy.table, rows.ops, columns, reasons)
        return chunk_of(
            copy.table, rows.ops, columns, reasons,
            rows=self._rows,
            position=lambda row: pending[rows.events[row]][1],
            text=lambda row: shown_row(texts, row),
        )  # fmt: skip

    def _commit(self) -> None:
        """Logs what has come. Between transactions only."""
        self._decode()
        ahead = self._received.number - self._logged.number
        reached = [table_id for table_id, begin in self.begins.items() if begin.number <= self._received.number]
        late = ahead and time.monotonic() > self._logged_at + ADVANCE_SECONDS
        if self._group_bytes or (ahead and reached) or late or ahead > ADVANCE_BYTES:
            self._group_bytes = 0
            self._group.commit(offset_text(str(self._received), self._stops))
            self._logged, self._logged_at = self._received, time.monotonic()
        for table_id in reached:
            del self.begins[table_id]
            self._rows.taken_in(table_id)
        self._committed_at = time.monotonic()
        asked = self._rows.asked()
        if asked > self._answered or self._committed_at > self._ask_at:
            self._ask_at = self._committed_at + ASK_SECONDS
            self._end, self._answered = self._end_of_log(), asked
            self._note()
        self._rows.progress(self._received.number, self._end.number, self._answered)

    def _note(self) -> None:
        known = {table.table_id for table in self._rows.tables()}
        self._stops = {table_id: stop for table_id, stop in self._stops.items() if table_id in known}
        copies = (copy for of_table in self._copies.values() for copy in of_table if copy.table.all_columns)
        notes = {copy.table.table_id: copy.note for copy in copies if copy.note is not None}
        stopped = {table_id: f"stopped: {stop.reason}" for table_id, stop in self._stops.items()}
        self._rows.noted({**notes, **stopped})


def _misfit(copy: _Copy, made: TableMap) -> str | None:
    """Why rows of this map do not fit the copy; None if they do."""
    columns = {column.name: column for column in made.columns}
    for column in copy.table.columns:
        found, described = columns.get(column.name), copy.shape.column(column.name)
        if found is None or described is None:
            return f'has no column "{column.name}" upstream'
        if found.size < 0 or found.is_unsigned != described.is_unsigned:
            return f'has another type of column "{column.name}" upstream'
    return None if set(made.key) == set(copy.shape.key) else "has another primary key upstream"


def _rows_of(made: TableMap, pending: Sequence[tuple[int, int, bytes]]) -> EventRows:
    begins, kinds = [], []
    for type_, _, body in pending:
        count, at = events.packed(body, events.columns_start(type_, body))
        width = (count + 7) // 8
        images = 2 if type_ in events.UPDATE else 1
        for image in range(images):
            sent = int.from_bytes(body[at + image * width : at + (image + 1) * width], "little")
            if count != len(made.columns) or sent & ((1 << count) - 1) != (1 << count) - 1:
                raise SourceUnavailable("the binary log has parts of rows", hint="SET GLOBAL binlog_row_image = FULL")
        begins.append(at + images * width)
        kinds.append(1 if type_ in events.WRITE else -1 if type_ in events.DELETE else 0)
    return event_rows([body for _, _, body in pending], begins, kinds, made.columns)
