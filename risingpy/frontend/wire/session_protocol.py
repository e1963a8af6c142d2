"""The interface between the wire protocol and a session: the wire layer's calls, and the session's results.

One connection has one session, and calls it from one thread at a time; only `cancel`, `idle_end`, `is_in_engine` and
`has_notifications` may come from others. The wire knows messages, formats and portals; the session knows SQL,
transactions and data. Every error meant for the client is a `SqlError`; anything else that a session raises is
answered as XX000 and logged.

How a statement travels:

    simple:    recurring(text) → execute(p, values), or, if it is None,
               split(text) → begin_implicit() if there are several → per statement prepare(s, ()), execute(p, ())
               → end_implicit() if there were several → sync()
    extended:  Parse: split + prepare · Describe: reads `Prepared` · Bind: decodes parameters
               · Execute: begin_implicit() unless it is alone before the Sync, execute · Sync: sync()

After any error of a statement the wire layer calls `fail()` once, then `sync()` (at once in the simple
protocol, at the client's Sync in the extended one).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from risingpy.backend import Notification
from risingpy.errors import SqlError
from risingpy.frontend.portals import Portals, PreparedEntry
from risingpy.frontend.results import (
    CommandTag,
    Notice,
    Prepared,
    Result,
    ShortControl,
    ShortRead,
    ShortWrite,
    Statement,
)
from risingpy.types import SqlType


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

    def recurring(self, sql: str) -> tuple[Prepared, Sequence[object | None]] | None:
        """For a text that has come before, perhaps with other constants: its statement and their values, to execute.

        It does what `split` and `prepare` would lead to, in less time. None: they must do it.
        """

    def insert_rows(self, sql: str) -> Result | None:
        """Runs a text that is an INSERT of very many constant rows. None: `split` and the others must do it.

        It does what they would do, in less time.
        """

    def prepare(self, statement: Statement, parameter_oids: Sequence[int]) -> Prepared:
        """Binds a statement; changes nothing. `parameter_oids` may be short, and 0 means: find out. An
        array may be `declared` with its depth.

        An OID that is no type of ours raises UndefinedObject. In a failed transaction everything but
        COMMIT and ROLLBACK raises InFailedTransaction.
        """

    def parsed_before(self, text: str, parameter_oids: Sequence[int]) -> Prepared | None:
        """What `split` and `prepare` would make of a text that was kept; None: they must do it. Never blocks."""

    def keep_parsed(self, text: str, parameter_oids: Sequence[int], prepared: Prepared) -> None:
        """They have made this of a text of one statement, which may come again."""

    def execute(self, prepared: Prepared, parameters: Sequence[object | None]) -> Result:
        """Runs a prepared statement with one value per parameter: None for NULL, else as `Literal` documents.

        Rows are not held back: a SELECT may return before it has read its first row. Raises QueryCanceled when `cancel`
        comes meanwhile; so do `batches` and the copy sink.
        """

    def most_repeated(self, prepared: Prepared) -> int:
        """How many executions `execute_repeated` takes of a statement that has just been executed; 0: none."""

    def execute_repeated(self, prepared: Prepared, rows: Sequence[Sequence[object | None]]) -> CommandTag | None:
        """Executes it once for each of these values of its parameters, within a transaction, as one write.

        The tag is that of each. None if that cannot be done, and then nothing is: `execute` must do it one by one, and
        raises the error if there is one.
        """

    def short_read(self, prepared: Prepared) -> ShortRead | None:
        """The statement as one that is answered at once, if it is one; of a session at rest.

        Never blocks, and plans nothing: a statement that must be bound again first has none.
        """

    def short_write(self, prepared: Prepared) -> ShortWrite | None:
        """Likewise, as one that writes a few rows."""

    def short_control(self, what: Prepared | str) -> ShortControl | None:
        """Likewise, as BEGIN, COMMIT or ROLLBACK; also of a text of the simple protocol."""

    def known_recurring(self, sql: str) -> tuple[Prepared, Sequence[object | None]] | None:
        """As `recurring`, but only for a text that is planned already. Never blocks."""

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

    def newest_type(self, sql_type: SqlType) -> SqlType:
        """A parameter's type as the catalog has it now."""

    def named_value(self, sql_type: SqlType, text: str) -> object:
        """What a parameter's text means as a regclass or one of its siblings, or as an array of them.

        Raises 42P01 for a relation that does not exist, and so on, as a cast of the text does.
        """

    def keepalives(self) -> Sequence[int]:
        """The settings tcp_keepalives_idle, _interval and _count, and tcp_user_timeout; 0: what the system has."""

    def parameter_status(self) -> Mapping[str, str]:
        """Settings to report at startup, over the wire layer's defaults (`wire.startup.PARAMETER_STATUS`)."""

    def speaks_through(self, speak: Callable[[Notice], None]) -> None:
        """`speak` sends a notice at once, while a statement runs: for the session's own thread."""

    def drain_notices(self) -> Sequence[Notice]:
        """Notices since the last call; asked before each CommandComplete and ReadyForQuery."""

    def has_notifications(self) -> bool:
        """Whether other sessions have notified this one of anything that was not drained. From any thread."""

    def drain_notifications(self) -> Sequence[Notification]:
        """What other sessions have notified this one of since the last call; nothing within a transaction block."""

    def drain_parameter_changes(self) -> Mapping[str, str]:
        """Reported settings (TimeZone, application_name, …) changed since the last call; asked before ReadyForQuery."""

    def is_in_engine(self) -> bool:
        """Whether the query engine computes for it now, which takes no lock that others need. From any thread."""

    def idle_end(self, seconds: float) -> SqlError | None:
        """The error that ends a session which has waited for its client so long; None if it may stay."""

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
        """The connection is gone: roll back and release everything. Called once."""
