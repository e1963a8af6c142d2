"""A client's session, as the wire layer calls it (`wire/session_protocol.py`), from a thread at a time.

Only `cancel` and `has_notifications` may be called from another thread. Statements use the session's context.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from risingpy.backend import Notification
from risingpy.errors import SqlError
from risingpy.frontend.command import Parameters
from risingpy.frontend.portals import Portals, PreparedEntry
from risingpy.frontend.results import (
    CommandTag,
    CopyIn,
    Notice,
    Prepared,
    Result,
    ShortControl,
    ShortRead,
    ShortWrite,
    StartupParameters,
    Statement,
)
from risingpy.frontend.session.context import SessionContext
from risingpy.frontend.shown_text import shown_text, shown_unparsed
from risingpy.frontend.transaction import TransactionStatus
from risingpy.meta.database import Database
from risingpy.types import SqlType, TypeKind

_KEEPALIVES = ("tcp_keepalives_idle", "tcp_keepalives_interval", "tcp_keepalives_count", "tcp_user_timeout")
_ONLY_READS = {"in_hot_standby": "on", "transaction_read_only": "on", "default_transaction_read_only": "on"}


def open_session(
    database: Database, startup: StartupParameters, defaults: Mapping[str, str] = MappingProxyType({})
) -> ClientSession:
    """The session of a new connection; `defaults` are settings that the server's operator gives every session."""
    if database.followed is not None:
        defaults = {**defaults, **_ONLY_READS}
    return ClientSession(SessionContext(database, startup, defaults))


class ClientSession:
    """A `Session` over the context of its statements."""

    def __init__(self, context: SessionContext) -> None:
        self.context = context

    @property
    def statements(self) -> dict[str, PreparedEntry]:
        return self.context.statements

    @property
    def portals(self) -> Portals:
        return self.context.portals

    # Statements

    def split(self, sql: str) -> Sequence[Statement]:
        text = shown_unparsed(sql)
        self.context.record.work(text)
        self.context.clock.text_came(text)
        return self.context.split(sql)

    def recurring(self, sql: str) -> tuple[Prepared, Parameters] | None:
        return self.context.recurring(sql)

    def insert_rows(self, sql: str) -> Result | None:
        return self.context.short.long_inserts.run(sql)

    def most_repeated(self, prepared: Prepared) -> int:
        return self.context.short.repeated.most(prepared)

    def execute_repeated(self, prepared: Prepared, rows: Sequence[Parameters]) -> CommandTag | None:
        return self.context.short.repeated.execute(prepared, rows)

    def short_read(self, prepared: Prepared) -> ShortRead | None:
        return self.context.short.reads.of(prepared)

    def short_write(self, prepared: Prepared) -> ShortWrite | None:
        return self.context.short.writes.of(prepared)

    def short_control(self, what: Prepared | str) -> ShortControl | None:
        controls = self.context.short.controls
        return controls.of_text(what) if isinstance(what, str) else controls.of(what)

    def known_recurring(self, sql: str) -> tuple[Prepared, Parameters] | None:
        return self.context.known_recurring(sql)

    def parsed_before(self, text: str, parameter_oids: Sequence[int]) -> Prepared | None:
        if self.context.transaction.status is TransactionStatus.FAILED:
            return None
        return self.context.short.parsed.find(text, parameter_oids)

    def keep_parsed(self, text: str, parameter_oids: Sequence[int], prepared: Prepared) -> None:
        if not self.context.has_notices:  # they would have to be given again
            self.context.short.parsed.keep(text, parameter_oids, prepared)

    def prepare(self, statement: Statement, parameter_oids: Sequence[int]) -> Prepared:
        self.context.clock.is_known(statement)
        return self.context.prepare(statement, parameter_oids)

    def execute(self, prepared: Prepared, parameters: Parameters) -> Result:
        assert prepared.statement is not None
        if not self.context.record.is_working:
            self.context.record.work(shown_text(prepared.statement))
        self.context.clock.runs(prepared.statement)
        with self.context.phase() as deadline:
            result = self.context.run_prepared(prepared, parameters)
        self.context.end_statement()
        if isinstance(result.copy, CopyIn):
            return replace(result, copy=replace(result.copy, limit=deadline))
        if result.batches is None or not deadline.is_limited:
            return result
        return replace(result, batches=deadline.over(result.batches))

    # The client's series, and its transactions

    def begin_implicit(self) -> None:
        self.context.scope.begin_implicit()

    def end_implicit(self) -> None:
        self.sync()

    def sync(self) -> None:
        self.context.scope.end_series()
        self.context.clock.end()
        self.forget_cancel()

    def fail(self) -> None:
        self.context.clock.end(failed=True)
        self.forget_cancel()
        self.context.scope.fail()

    def transaction_status(self) -> bytes:
        return self.context.transaction.status.value

    # Messages for the client

    def time_zone(self) -> str:
        return self.context.settings.get("timezone")

    def named_value(self, sql_type: SqlType, text: str) -> object:
        return self.context.object_names().value(sql_type, text)

    def newest_type(self, sql_type: SqlType) -> SqlType:
        """The type as the catalog has it now: an enum may have more labels than when a statement was prepared."""
        if sql_type.leaf.kind is not TypeKind.ENUM:
            return sql_type
        return self.context.database.reads.catalog.type_by_oid(sql_type.oid) or sql_type

    def keepalives(self) -> tuple[int, ...]:
        return tuple(int(self.context.settings.get(name)) for name in _KEEPALIVES)

    def parameter_status(self) -> Mapping[str, str]:
        return self.context.settings.reported()

    def speaks_through(self, speak: Callable[[Notice], None]) -> None:
        self.context.speak = speak

    def drain_notices(self) -> Sequence[Notice]:
        return self.context.drain_notices()

    def has_notifications(self) -> bool:
        return self.context.notifications.has_mail

    def drain_notifications(self) -> Sequence[Notification]:
        is_idle = self.context.transaction.status is TransactionStatus.IDLE
        return self.context.notifications.take() if is_idle else ()

    def drain_parameter_changes(self) -> Mapping[str, str]:
        return self.context.settings.drain_changes()

    # The end

    def cancel(self) -> None:
        self.context.cancel()

    def is_in_engine(self) -> bool:
        return self.context.is_in_engine()

    def idle_end(self, seconds: float) -> SqlError | None:
        return self.context.idle_end(seconds)

    def check(self) -> None:
        self.context.check()

    def forget_cancel(self) -> None:
        self.context.end_statement()
        self.context.cancelled.clear()
        self.context.record.rest()

    def close(self) -> None:
        self.context.close()
