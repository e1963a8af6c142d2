"""Prepared statements and portals of one session: those of the extended protocol, PREPARE's, and cursors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain

import pyarrow as pa

from risingpy.errors import SqlError
from risingpy.frontend.results import Prepared, Result
from risingpy.frontend.suspended.spilled_rows import SpilledRows, Spills, never_spills


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class PreparedEntry:
    """A named or unnamed statement. `prepared` is None for an empty text; `text` is what the client sent."""

    prepared: Prepared | None
    text: str = ""
    from_sql: bool = False
    prepared_at: datetime = field(default_factory=_now)


class RowStream:
    """The rows of a result, taken in parts of any size without copying, only forward.

    `place` is the number of the current row, from 1. It is 0 before the first row, and one more than the number of rows
    after the last one.
    """

    def __init__(self, batches: Iterator[pa.RecordBatch], spills: Spills = never_spills) -> None:
        """`spills` gives a file for the rows that are left, if too many queries are open when a client stops taking."""
        self._batches = batches
        self._spills = spills
        self._batch: pa.RecordBatch | None = None
        self._offset = 0
        self._read = 0
        self.at_end = False

    @property
    def place(self) -> int:
        return self._read + self.at_end

    @property
    def is_on_row(self) -> bool:
        """Whether there is a current row."""
        return self.place > 0 and not self.at_end

    def take(self, limit: int | None) -> Iterator[pa.RecordBatch]:
        """Batches with the next `limit` rows, or all that are left; fewer rows mean that the stream has ended."""
        left = limit
        while left is None or left > 0:
            if self._batch is None:
                self._batch, self._offset = next(self._batches, None), 0
                if self._batch is None:
                    self.at_end = True
                    return
            part = self._batch.slice(self._offset) if left is None else self._batch.slice(self._offset, left)
            self._offset += part.num_rows
            self._read += part.num_rows
            if self._offset >= self._batch.num_rows:
                self._batch = None
            if left is not None:
                left -= part.num_rows
            yield part
        self._suspend()

    def _suspend(self) -> None:
        """The client has what it asked for, and may ask for more at any time, or never."""
        if isinstance(self._batches, SpilledRows):
            return
        file = self._spills()
        if file is None:
            return
        rest = () if self._batch is None else (self._batch.slice(self._offset),)
        source, self._batch = self._batches, None
        try:
            self._batches = SpilledRows(chain(rest, source), file)
        finally:
            _close(source)

    def back(self, limit: int | None) -> Iterator[pa.RecordBatch]:
        """As `take`, but the rows before this one, backwards. Raises SqlError (55000) here: it only goes forward."""
        raise SqlError(
            "cursor can only scan forward",
            sqlstate="55000",
            hint="Declare it with SCROLL option to enable backward scan.",
        )

    def close(self) -> None:
        """The rows are no longer needed: releases them."""
        _close(self._batches)


def _close(batches: Iterator[pa.RecordBatch]) -> None:
    close = getattr(batches, "close", None)
    if close is not None:
        close()


class LiveRows(RowStream):
    """The rows of a live result: with a limit, what is there is enough, if there is a row."""

    def take(self, limit: int | None) -> Iterator[pa.RecordBatch]:
        taken = 0
        for part in super().take(limit):
            yield part
            taken += part.num_rows
            if limit is not None and taken and not part.num_rows:
                return


def row_stream(result: Result) -> RowStream:
    """The rows of a result that has some."""
    assert result.batches is not None
    return LiveRows(result.batches) if result.is_live else RowStream(result.batches, result.spills)


@dataclass(frozen=True, slots=True)
class CursorOptions:
    """The options of DECLARE. `hold`: the cursor stays open after its transaction, if that is committed."""

    text: str
    scroll: bool = False
    hold: bool = False
    binary: bool = False


@dataclass(frozen=True, slots=True)
class CursorScan:
    """What a cursor's rows have after their visible columns, for WHERE CURRENT OF: the keys of rows of tables.

    `tables` are (the id of a table, how many columns its key has), in the order of the columns. `prepared` is the
    query with these columns. `locks`: it is FOR UPDATE or FOR SHARE of the tables.
    """

    prepared: Prepared
    visible: int
    tables: tuple[tuple[int, int], ...]
    locks: bool


class Portal:
    """A bound statement, whose rows the client takes in parts.

    A portal of Bind runs at its first Execute. A portal of DECLARE already runs, and has `options`.
    """

    def __init__(
        self,
        entry: PreparedEntry,
        parameters: list[object | None],
        formats: list[int],
        options: CursorOptions | None = None,
        scan: CursorScan | None = None,
    ) -> None:
        self.entry = entry
        self.scan = scan
        self.last_row: pa.RecordBatch | None = None  # that was fetched, with its keys
        self.parameters = parameters
        self.formats = formats
        self.options = options
        self.made_at = _now()
        self.result: Result | None = None
        self.rows: RowStream | None = None
        self.done = False
        self.failed = False
        self._part: Part | None = None

    def begin_part(self, batches: Iterator[pa.RecordBatch]) -> Part:
        """The rows of a FETCH. If an earlier part has not been taken to its end, its rest is read first."""
        self.settle()
        self._part = Part(self, batches if self.scan is None else self._without_keys(batches, self.scan))
        return self._part

    def _without_keys(self, batches: Iterator[pa.RecordBatch], scan: CursorScan) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if batch.num_rows:
                self.last_row = batch.slice(batch.num_rows - 1)
            yield batch.select(range(scan.visible))

    def settle(self) -> None:
        """Reads the rest of the last part, so that the portal is at the position after it."""
        part, self._part = self._part, None
        if part is not None:
            part.read()

    def close(self) -> None:
        self._part = None
        if self.rows is not None:
            self.rows.close()
            self.rows = None


class Part:
    """The rows of one FETCH, read as they are taken. A portal whose rows fail cannot be run again."""

    def __init__(self, portal: Portal, batches: Iterator[pa.RecordBatch]) -> None:
        self._portal = portal
        self._batches = batches

    def __iter__(self) -> Part:
        return self

    def __next__(self) -> pa.RecordBatch:
        try:
            return next(self._batches)
        except StopIteration:
            raise
        except BaseException:
            self._portal.failed = True
            raise

    def read(self) -> None:
        self._batches = iter(list(self))


class Portals:
    """A session's portals by name; the unnamed one is "". Cursors are among them, as in PostgreSQL."""

    def __init__(self) -> None:
        self._portals: dict[str, Portal] = {}
        self._older: frozenset[str] = frozenset()  # cursors WITH HOLD of transactions that were committed

    def get(self, name: str) -> Portal | None:
        return self._portals.get(name)

    def is_held(self, name: str) -> bool:
        """Whether it is a cursor WITH HOLD of a transaction that was committed."""
        return name in self._older

    def named(self) -> dict[str, Portal]:
        """All portals except the unnamed one."""
        return {name: portal for name, portal in self._portals.items() if name}

    def add(self, name: str, portal: Portal) -> None:
        """Adds a portal; an unnamed one replaces the last unnamed one. Raises 42P03 if the name is taken."""
        if name and name in self._portals:
            raise SqlError(f'cursor "{name}" already exists', sqlstate="42P03")
        self.close(name)
        self._portals[name] = portal

    def close(self, name: str) -> bool:
        """Closes a portal; False if there is none of that name."""
        portal = self._portals.pop(name, None)
        if portal is not None:
            self._older -= {name}
            portal.close()
        return portal is not None

    def close_all(self) -> None:
        for name in list(self._portals):
            self.close(name)

    def close_but(self, kept: frozenset[str]) -> None:
        """Closes all named portals that are not in `kept`, for a transaction that goes back to a savepoint."""
        for name in list(self._portals):
            if name not in kept:
                self.close(name)

    def end_transaction(self, *, committed: bool) -> None:
        """Closes the transaction's portals, except cursors WITH HOLD of a committed transaction."""
        for name, portal in list(self._portals.items()):
            held = portal.options is not None and portal.options.hold
            if not (held and (committed or name in self._older)):
                self.close(name)
        self._older = frozenset(self._portals)
