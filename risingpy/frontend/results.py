"""Statements' arguments and results as data, which sessions, statements and the wire layer share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

import pyarrow as pa

from risingpy.backend import Backend
from risingpy.frontend.suspended.spilled_rows import Spills, never_spills
from risingpy.types import SqlType

TEXT, BINARY = 0, 1
"""Format codes of values."""


@dataclass(frozen=True, slots=True)
class StartupParameters:
    """The client's parameters at startup.

    `settings` holds every run-time parameter that it set (`application_name`, `client_encoding`, `TimeZone`, …), also
    those of `options='-c name=value'`, with names as the client wrote them. `process_id` is the one in BackendKeyData
    (pg_backend_pid()). `client_address` is "host:port". Through the `backend`, other sessions end this one.
    """

    user: str
    database: str
    settings: Mapping[str, str] = field(default_factory=dict)
    process_id: int = 0
    client_address: str = ""
    backend: Backend | None = None


@dataclass(frozen=True, slots=True)
class ResultField:
    """A result column. Its Arrow type is `type.arrow`."""

    name: str
    type: SqlType
    table_oid: int = 0
    column_number: int = 0


class Statement(Protocol):
    """One parsed statement of the text given to `split`. The wire layer only gives it back to `prepare`."""

    @property
    def text(self) -> str:
        """The statement's own text."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A bound statement. Describe answers from it and executes nothing.

    `fields` is None for a statement without rows (NoData); else the same fields as its `Result` will have, since the
    client decodes by them. `statement` and the OIDs `declared` for it are what `execute` runs: bound again if the
    catalog has changed meanwhile. `of_cursor`: it is a FETCH, whose fields are those of the cursor of the moment; it is
    to be prepared again whenever it is bound.
    """

    parameter_types: tuple[SqlType, ...] = ()
    fields: tuple[ResultField, ...] | None = None
    statement: Statement | None = None
    declared: tuple[int, ...] = ()
    of_cursor: bool = False


class TakesLonger(Exception):
    """A statement cannot be answered in short: whoever asked must take the long way, which finds out all the rest."""


Begin = Callable[[Callable[[int | None], Callable[[], None]]], Callable[[], None]]
"""What begins something that ends later, as `ShortWrite.begin` does, with what is to be called then."""


class Awaits(Exception):
    """A short statement needs a lock that somebody else has, or a commit that is not durable: nothing has been done.

    When what `begin` begins is over, `end` is to be called by who serves the session, and the statement run again.
    """

    def __init__(self, begin: Begin, end: Callable[[], None]) -> None:
        super().__init__("somebody else comes first")
        self.begin = begin
        self.end = end


class ShortRead(Protocol):
    """A prepared SELECT of one row by its key, or of a few that an index finds, so fast that it needs no thread."""

    @property
    def is_stale(self) -> bool:
        """The catalog or the settings have changed: it will raise TakesLonger for ever."""

    @property
    def finds_one(self) -> bool:
        """Whether it finds one row, or none."""

    def rows(self, parameters: Sequence[object | None]) -> Sequence[Sequence[bytes | None]]:
        """The rows, as the datums of the statement's fields. Never blocks.

        In a transaction, with what that has written. Raises TakesLonger, and Awaits, and has done nothing then.
        """


class ShortWrite(Protocol):
    """A prepared statement that writes few rows, so fast that it need not have a thread of its own."""

    @property
    def is_stale(self) -> bool:
        """As that of `ShortRead`."""

    @property
    def tags(self) -> Mapping[int, str]:
        """Those of CommandComplete, by the numbers of rows that it may find."""

    def begin(
        self, parameters: Sequence[object | None], done: Callable[[int | None], Callable[[], None]]
    ) -> Callable[[], None]:
        """Has it written, and never blocks: at the latest when what it returns is called, which many may share.

        `done` is called once, in another thread: with the number of rows, when all is durable; None: the long way must
        be taken, and nothing has changed. What that returns is called afterwards, once for all that are done with it.
        Raises TakesLonger, and has done nothing then.
        """

    def run(self, parameters: Sequence[object | None]) -> int:
        """Writes in the session's open transaction, whose commit will log it; how many rows it has found or added.

        Never blocks. Raises TakesLonger, and Awaits, and has written nothing then.
        """


class ShortControl(Protocol):
    """BEGIN, COMMIT or ROLLBACK of a transaction that has nothing unusual."""

    @property
    def is_stale(self) -> bool:
        """As that of `ShortRead`."""

    @property
    def tag(self) -> str:
        """That of CommandComplete."""

    @property
    def status(self) -> bytes:
        """The transaction's, when it is done."""

    def run(self) -> Begin | None:
        """Does it, and never blocks. Or returns what begins it, if the disk must be waited for; then comes `end`.

        Raises TakesLonger, and has done nothing then.
        """

    def end(self) -> None:
        """What `run` has begun is durable."""


class CopyFormat(Enum):
    """COPY … (FORMAT …); the value is the word in SQL."""

    TEXT = "text"
    CSV = "csv"
    BINARY = "binary"


@dataclass(frozen=True, slots=True)
class CopyOptions:
    """The options of COPY, defaults filled in. Made and checked by `copy_options.make_copy_options`.

    `force_quote` names the columns whose values COPY TO quotes in any case; None is all of them. COPY FROM takes a text
    like `null` for NULL if it stands without quotes, but for the columns `force_not_null`, and of the columns
    `force_null` also in quotes. It has `header` as its first line, which names the columns if it `matches_header`.
    """

    format: CopyFormat = CopyFormat.TEXT
    delimiter: str = "\t"
    null: str = "\\N"
    header: bool = False
    quote: str = '"'
    escape: str = '"'
    force_quote: frozenset[str] | None = frozenset()
    force_not_null: frozenset[str] = frozenset()
    force_null: frozenset[str] = frozenset()
    matches_header: bool = False


class CopySink(Protocol):
    """Takes the rows of COPY FROM STDIN."""

    def write(self, batch: pa.RecordBatch) -> int:
        """Takes decoded rows: columns in the order of `CopyIn.fields`, in the fields' `type.arrow`.

        Returns how many of them it keeps.
        """

    def finish(self) -> None:
        """The client has sent everything: make the rows durable. Raises a SqlError to refuse them all."""

    def abort(self) -> None:
        """The COPY failed or the client gave up: forget every row. Never raises; called instead of `finish`."""


@dataclass(frozen=True, slots=True)
class CopyIn:
    """COPY relation FROM STDIN. `relation` is the name that error contexts show (`COPY relation, line n`).

    The rows are taken within `limit`: statement_timeout counts the time in which the client sends them.
    """

    relation: str
    fields: tuple[ResultField, ...]
    options: CopyOptions
    sink: CopySink
    limit: AbstractContextManager[object] = field(default_factory=nullcontext)


@dataclass(frozen=True, slots=True)
class CopyOut:
    """COPY … TO STDOUT: the wire layer encodes `Result.batches` by these."""

    fields: tuple[ResultField, ...]
    options: CopyOptions


@dataclass(frozen=True, slots=True)
class CommandTag:
    """The tag in CommandComplete: a command's words, and for some commands a number of rows.

    `rows` is the number if the command knows it (UPDATE 3). With `counts_rows`, the rows are counted that the client
    receives or sends (SELECT 5, COPY 5); their number is known only at the end.
    """

    words: str
    rows: int | None = None
    counts_rows: bool = False

    def text(self, sent: int) -> str:
        """The tag's text, after `sent` rows."""
        rows = sent if self.counts_rows else self.rows
        return self.words if rows is None else f"{self.words} {rows}"


@dataclass(frozen=True, slots=True)
class Result:
    """A statement's result.

    `tag`: the tag in CommandComplete.
    `batches`: columns in the order of `fields` (names do not matter), in the fields' Arrow types; taken lazily, by
    the connection's thread, perhaps in several parts (row limits), and perhaps not to the end. If it has a
    `close()` (a generator has), that is called when the rows are no longer wanted: release what they hold there.
    `fields` and `batches` are both None for a statement without rows; with `CopyOut`, `fields` is None.
    `binary`: the rows go in binary form also where the client cannot ask for it (FETCH from a BINARY cursor).
    `spills`: gives a file for the rows that the client has not taken yet, if too many queries are open.
    `is_live`: the rows come as they happen. One without rows comes before each wait: what was written goes out then.
    """

    tag: CommandTag
    fields: tuple[ResultField, ...] | None = None
    batches: Iterator[pa.RecordBatch] | None = None
    copy: CopyIn | CopyOut | None = None
    binary: bool = False
    is_live: bool = False
    spills: Spills = never_spills


@dataclass(frozen=True, slots=True)
class Notice:
    """A NoticeResponse. Severity: DEBUG, LOG, INFO, NOTICE or WARNING."""

    message: str
    severity: str = "NOTICE"
    sqlstate: str = "00000"
    detail: str | None = None
    hint: str | None = None
