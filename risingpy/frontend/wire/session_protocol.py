"""The seam between the wire protocol and a session: what the server calls, and what it gets back.

One connection has one session, and calls it from one thread; only `cancel` may come from another thread. The wire
layer knows messages, formats and portals; the session knows SQL, transactions and data. Every error meant for the
client is a `SqlError`; anything else that a session raises is answered as XX000 and logged.

How a statement travels:

    simple:    split(text) → begin_implicit() if there are several → per statement prepare(s, ()), execute(p, ())
               → end_implicit() if there were several → sync()
    extended:  Parse: split + prepare · Describe: reads `Prepared` · Bind: decodes parameters
               · Execute: begin_implicit() unless it is alone before the Sync, execute · Sync: sync()

After any error of a statement the wire layer calls `fail()` once, then `sync()` (at once in the simple
protocol, at the client's Sync in the extended one).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from risingpy.types import SqlType

if TYPE_CHECKING:
    from risingpy.frontend.wire.portal import Portals, PreparedEntry


@dataclass(frozen=True, slots=True)
class StartupParameters:
    """What the client said at startup.

    `settings` holds every run-time parameter it asked for (`application_name`, `client_encoding`, `TimeZone`, …), those
    of `options='-c name=value'` included, with names as the client wrote them. `process_id` is what BackendKeyData
    says (pg_backend_pid()). `client_address` is "host:port".
    """

    user: str
    database: str
    settings: Mapping[str, str] = field(default_factory=dict)
    process_id: int = 0
    client_address: str = ""


@dataclass(frozen=True, slots=True)
class Field:
    """A result column. `oid` overrides `type.oid` on the wire.

    The override is for system relations: oid (26, Arrow integers), name (19), text (25), "char" (18), regclass (2205),
    regtype (2206), regproc (24): Arrow strings or integers; and arrays (Arrow lists): text[] 1009, int4[] 1007,
    int2[] 1005, int8[] 1016, oid[] 1028, bool[] 1000, name[] 1003, char[] 1002, float8[] 1022, float4[] 1021.
    `type` then only matters for what `oid` does not say.
    """

    name: str
    type: SqlType
    table_oid: int = 0
    column_number: int = 0
    oid: int | None = None


class Statement(Protocol):
    """One parsed statement of the text given to `split`. The wire layer only gives it back to `prepare`."""

    @property
    def text(self) -> str:
        """The statement's own text."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A bound statement. Describe answers from it and executes nothing.

    `fields` is None for a statement without rows (NoData); else the same fields as its `Result` will have, since the
    client decodes by them. `parameter_oids` overrides the types' OIDs on the wire, parameter by parameter (0 = no
    override), for such as `$1::oid[]`, whose value then reaches `execute` as a Python list. `statement` and the OIDs
    `declared` for it are what `execute` runs: bound anew if the catalog has changed meanwhile.
    """

    parameter_types: tuple[SqlType, ...] = ()
    fields: tuple[Field, ...] | None = None
    parameter_oids: tuple[int, ...] = ()
    statement: Statement | None = None
    declared: tuple[int, ...] = ()


class CopyFormat(Enum):
    """COPY … (FORMAT …); the value is the word in SQL."""

    TEXT = "text"
    CSV = "csv"
    BINARY = "binary"


@dataclass(frozen=True, slots=True)
class CopyOptions:
    """The options of COPY, defaults filled in. Made and checked by `copy_options.make_copy_options`.

    `force_quote` names the columns whose values COPY TO quotes in any case; None is all of them.
    """

    format: CopyFormat = CopyFormat.TEXT
    delimiter: str = "\t"
    null: str = "\\N"
    header: bool = False
    quote: str = '"'
    escape: str = '"'
    force_quote: frozenset[str] | None = frozenset()


class CopySink(Protocol):
    """Where the rows of COPY FROM STDIN go."""

    def write(self, batch: pa.RecordBatch) -> None:
        """Takes decoded rows: columns in the order of `CopyIn.fields`, in the fields' `type.arrow`."""

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
    fields: tuple[Field, ...]
    options: CopyOptions
    sink: CopySink
    limit: AbstractContextManager[object] = field(default_factory=nullcontext)


@dataclass(frozen=True, slots=True)
class CopyOut:
    """COPY … TO STDOUT: the wire layer encodes `Result.batches` by these."""

    fields: tuple[Field, ...]
    options: CopyOptions


@dataclass(frozen=True, slots=True)
class CommandTag:
    """What CommandComplete says of a command: its words, and for some commands a number of rows.

    `rows` is the number if the command knows it (UPDATE 3). With `counts_rows` it is that of the rows which the client
    is sent, or sends (SELECT 5, COPY 5), known only in the end.
    """

    words: str
    rows: int | None = None
    counts_rows: bool = False

    def text(self, sent: int) -> str:
        """As the client is told, once so many rows have gone."""
        rows = sent if self.counts_rows else self.rows
        return self.words if rows is None else f"{self.words} {rows}"


@dataclass(frozen=True, slots=True)
class Result:
    """What a statement gave.

    `tag`: what CommandComplete says.
    `batches`: columns in the order of `fields` (names do not matter), in the fields' Arrow types; taken lazily, by
    the connection's thread, perhaps in several parts (row limits), and perhaps not to the end. If it has a
    `close()` (a generator has), that is called when the rows are no longer wanted: release what they hold there.
    `fields` and `batches` are both None for a statement without rows; with `CopyOut`, `fields` is None.
    `binary`: the rows go in binary form also where the client cannot ask for it (FETCH from a BINARY cursor).
    """

    tag: CommandTag
    fields: tuple[Field, ...] | None = None
    batches: Iterator[pa.RecordBatch] | None = None
    copy: CopyIn | CopyOut | None = None
    binary: bool = False


@dataclass(frozen=True, slots=True)
class Notice:
    """A NoticeResponse. Severity: DEBUG, LOG, INFO, NOTICE or WARNING."""

    message: str
    severity: str = "NOTICE"
    sqlstate: str = "00000"
    detail: str | None = None
    hint: str | None = None


class Session(Protocol):
    """A client's session. See the module's text for who calls what, when.

    `statements` and `portals` are the prepared statements and the portals by name: the wire layer's, and those of SQL
    (PREPARE, DECLARE).
    """

    @property
    def statements(self) -> dict[str, PreparedEntry]: ...

    @property
    def portals(self) -> Portals: ...

    def split(self, sql: str) -> Sequence[Statement]:
        """The statements of a text; none for a text of blanks, comments and semicolons.

        Raises SyntaxError_ with a position. Positions of all errors, here and in `prepare` and `execute`,
        count characters of this whole text from 1.
        """

    def prepare(self, statement: Statement, parameter_oids: Sequence[int]) -> Prepared:
        """Binds a statement; changes nothing. `parameter_oids` may be short, and 0 means: find out.

        An OID that is no type of ours raises UndefinedObject. In a failed transaction everything but
        COMMIT and ROLLBACK raises InFailedTransaction.
        """

    def execute(self, prepared: Prepared, parameters: Sequence[object | None]) -> Result:
        """Runs a prepared statement with one value per parameter: None for NULL, else as `Literal` documents.

        Rows are not held back: a SELECT may return before it has read its first row. Raises QueryCanceled when `cancel`
        comes meanwhile; so do `batches` and the copy sink.
        """

    def begin_implicit(self) -> None:
        """Several statements come in one text or before one Sync: one transaction, unless they say BEGIN themselves.

        Asked again within one, or after their BEGIN, it does nothing.
        """

    def end_implicit(self) -> None:
        """The last of them is done: commits. May raise."""

    def fail(self) -> None:
        """A statement failed, here or in the wire layer. Never raises.

        An explicit transaction is now failed (status E); an implicit one is rolled back.
        """

    def sync(self) -> None:
        """End of the client's series: commits what an implicit transaction holds. May raise.

        Outside of a transaction block it closes the portals, as the block's end does.
        """

    def transaction_status(self) -> bytes:
        """b"I" idle, b"T" in a transaction block, b"E" in a failed one."""

    def time_zone(self) -> str:
        """The session's TimeZone, an IANA name, for timestamptz as text."""

    def parameter_status(self) -> Mapping[str, str]:
        """Settings to report at startup, over the wire layer's defaults (`wire.startup.PARAMETER_STATUS`)."""

    def drain_notices(self) -> Sequence[Notice]:
        """Notices since the last call; asked before each CommandComplete and ReadyForQuery."""

    def drain_parameter_changes(self) -> Mapping[str, str]:
        """Reported settings (TimeZone, application_name, …) changed since the last call; asked before ReadyForQuery."""

    def cancel(self) -> None:
        """Ends the running statement with QueryCanceled. From any thread, at any time; does nothing when none runs.

        The server forwards a CancelRequest only while the connection is busy. It holds for all that the client's series
        still does, `split` and `prepare` too, until `fail`, `sync` or `forget_cancel`.
        """

    def check(self) -> None:
        """Raises QueryCanceled after `cancel`: for what the wire layer does of a statement."""

    def forget_cancel(self) -> None:
        """The series has been answered: a `cancel` that came too late for it ends nothing that comes later."""

    def close(self) -> None:
        """The connection is gone: roll back and release everything. Called once, by the connection's thread."""
