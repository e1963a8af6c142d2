"""The session as its statements see it: its state, and the rows of queries."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from types import MappingProxyType

import pyarrow as pa

from risingpy.batch import BatchRunner, PreparedQuery, StatementReads
from risingpy.errors import InFailedTransaction, QueryCanceled, SqlError, StatementTooComplex
from risingpy.frontend.binder import SessionValues
from risingpy.frontend.binder.query.relations import check_has_answer
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.constraints.deferred import look_at_deferred
from risingpy.frontend.demands import Demands
from risingpy.frontend.drafted_schema import DraftedSchema
from risingpy.frontend.parameters.kinds import Visibility
from risingpy.frontend.parser import ast, parse
from risingpy.frontend.parser.ast import ParsedStatement
from risingpy.frontend.portals import Portals, PreparedEntry
from risingpy.frontend.results import Notice, Prepared, Result, StartupParameters, Statement
from risingpy.frontend.session.commands import Commands
from risingpy.frontend.session.committing_statements import OF_THE_SESSION, changes_schema, is_about_committed_rows
from risingpy.frontend.session.nearest import finds_nearest
from risingpy.frontend.session.newest_row import newest_row
from risingpy.frontend.session.notifications import notifications_of
from risingpy.frontend.session.recurring_texts import RecurringTexts
from risingpy.frontend.session.short_statements import ShortStatements
from risingpy.frontend.session.signals import send_signal
from risingpy.frontend.session.statement_clock import StatementClock
from risingpy.frontend.session.statement_timeout import Deadline
from risingpy.frontend.session.values import values_of
from risingpy.frontend.session_advisory_locks import SessionAdvisoryLocks
from risingpy.frontend.session_identity import SessionIdentity
from risingpy.frontend.session_sequences import SessionSequences
from risingpy.frontend.session_temporaries import SessionTemporaries
from risingpy.frontend.settings import Settings, is_on
from risingpy.frontend.shown_text import masked_errors_of
from risingpy.frontend.statements.transactions.transaction_modes import set_variable
from risingpy.frontend.subscription_cursors import SubscriptionCursors
from risingpy.frontend.system_catalog.names import ObjectNames
from risingpy.frontend.system_catalog.registry import StateRows, object_names
from risingpy.frontend.system_catalog.session_state import state_of
from risingpy.frontend.transaction import Transaction, TransactionStatus
from risingpy.frontend.transaction_scope import TransactionScope
from risingpy.frontend.view_texts import ViewTexts
from risingpy.frontend.written_rows import check_writable
from risingpy.memory import STATEMENT_SHARE, parse_bytes, share_of_memory
from risingpy.meta.cancellation import CancelFlag
from risingpy.meta.database import Database
from risingpy.meta.reads import CommittedSnapshot
from risingpy.meta.schema.commands import SchemaCommands
from risingpy.meta.schema.databases import check_connects, check_room, existing_database, reached_database
from risingpy.meta.schema.first_settings import first_settings
from risingpy.meta.sessions import SessionRecord, SessionState
from risingpy.plan.catalog import Catalog, FunctionDesc, Index, Table
from risingpy.plan.catalog.acl import Privilege
from risingpy.plan.catalog.rights import privileges_of, schema_of
from risingpy.plan.expressions import Expr
from risingpy.plan.logical import LogicalPlan, Schema
from risingpy.statement_limits import StatementLimits

_IDLE_STATES = {
    TransactionStatus.IDLE: SessionState.IDLE,
    TransactionStatus.ACTIVE: SessionState.IN_TRANSACTION,
    TransactionStatus.FAILED: SessionState.IN_FAILED_TRANSACTION,
}
_END_A_FAILED_TRANSACTION = (ast.Commit, ast.Rollback, ast.RollbackTo)


class SessionContext:
    """A session's `StatementContext`. For the session's own thread, but for `interrupt`."""

    def __init__(
        self, database: Database, startup: StartupParameters, defaults: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        found = reached_database(database.reads.catalog, startup.database)
        self.database = database.seen_from(found.database_id)
        self.startup = replace(startup, database=found.name)
        self.identity = SessionIdentity(startup.user, lambda: self.database.reads.catalog)
        stored = first_settings(self.database.reads.catalog, self.identity.session_user_id)
        self.settings = Settings(startup, self.identity, defaults, stored)
        earlier = database.reads.lsn_of_earlier_runs
        self.transaction = Transaction(database, last_lsn=earlier, process_id=startup.process_id)
        self.transaction.reads_by_default = lambda: is_on(self.settings.get("default_transaction_read_only"))
        self.temporaries = SessionTemporaries(lambda: self.database, self.transaction)
        self.view_texts = ViewTexts()
        self.cancelled = CancelFlag(lambda: int(self.settings.get("lock_timeout")))
        self.statements: dict[str, PreparedEntry] = {}
        self.portals = Portals()
        self.subscription_cursors = SubscriptionCursors()
        self.notifications = notifications_of(self)
        drafted = DraftedSchema(self.transaction, self.cancelled, self._see, self.notice)
        self.scope = TransactionScope(
            *(database, self.transaction, self.settings, self.portals, self.cancelled),
            *(lambda: look_at_deferred(self), self.temporaries, drafted, self.notifications),
        )
        self.demands = Demands(lambda: self.database.reads.seen_state)
        self.parts: StatementReads | None = None
        self.procedures: tuple[FunctionDesc, ...] = ()
        self._notices: list[Notice] = []
        if found.name != startup.database:
            self.notice(f'database "{startup.database}" does not exist: this session is in "{found.name}"')
        self.speak: Callable[[Notice], None] = lambda notice: None  # to a client that waits for a statement
        self._deadline: Deadline | None = None  # that of the current statement
        self.sequences = SessionSequences(
            database.writes.sequences,
            lambda: self.database.reads.catalog,
            self.object_names,
            self.identity,
            lambda verb: check_writable(self, verb),
        )
        warning = partial(self.notice, severity="WARNING", sqlstate="01000")
        self.advisory = SessionAdvisoryLocks(lambda: self.database, self.transaction, self.cancelled, warning)
        self._runner = BatchRunner(
            self.transaction, database.query_engines, self.limits, self._system, finds_nearest(self)
        )
        self._commands = Commands(self)
        self.record = self._new_record()
        database.sessions.add(self.record)
        self.clock = StatementClock(database.sessions.statement_times, self.settings, self.record)
        self._recurring = RecurringTexts(self.split, self.bind, self._commands.version)
        self.short = ShortStatements(self, self._commands, self.clock)

    @property
    def ddl(self) -> SchemaCommands:
        return self.database.ddl.owned_by(self.identity.current_id, self.demands.asked)

    # Names and limits

    def search_path(self) -> tuple[str, ...]:
        """Without the schemas that the session's role may not use, and with its temporary one, as PostgreSQL's."""
        path, catalog = self.settings.search_path(), self.database.reads.catalog
        if not self.identity.is_superuser:
            path = tuple(each for each in path if each not in catalog.schemas or self._may_use(catalog, each))
        return self.temporaries.searched(path)

    def _may_use(self, catalog: Catalog, schema: str) -> bool:
        return Privilege.USAGE in privileges_of(catalog, self.identity.current_id, schema_of(catalog, schema))

    def database_names(self) -> tuple[str, ...]:
        return (self.database.reads.catalog.database,)

    def readable_databases(self) -> Collection[str]:
        return {each.name for each in self.database.reads.catalog.databases.values()}

    def use_database(self, name: str) -> None:
        found = existing_database(self.database.reads.catalog, name)
        check_connects(self.database.reads.catalog, self.identity.current_id, found)
        check_room(found, self.database.sessions, is_superuser=self.identity.is_superuser)
        self._see(self.database.seen_from(found.database_id))
        self.startup = replace(self.startup, database=name)
        self.record.database = name

    def _see(self, database: Database) -> None:
        self.database = database
        self.settings.bind_again()  # names mean others from now on

    def object_names(self) -> ObjectNames:
        """The names of relations, types and so on, as this session sees them now."""
        return object_names(self.database.reads.catalog, self.search_path())

    def session_values(self) -> SessionValues:
        return values_of(self)

    def limits(self) -> StatementLimits:
        asked = parse_bytes(self.settings.get("statement_memory"))
        return StatementLimits(
            asked or share_of_memory(STATEMENT_SHARE),
            self.cancelled,
            signal=partial(send_signal, self),
            blocking=self.database.writes.locks.blocking,
            set_config=self._set_config,
            sequences=self.sequences,
            advisory=self.advisory,
            notify=self._notify,
            calling=self.cancelled.calling,
            now=self.scope.began,
        )

    def _set_config(self, name: str, value: str, local: bool) -> str:
        if not set_variable(self, name, (value,)):
            self.settings.set(name, (value,), local=local)
        return value

    def _notify(self, channel: str, payload: str) -> None:
        if self.database.followed is not None:
            raise self.database.followed.refusal("NOTIFY")
        self.notifications.notify(channel, payload)

    def check(self) -> None:
        if self.cancelled.is_set():
            raise QueryCanceled("canceling statement due to user request")

    # Notices

    def notice(
        self, message: str, *, severity: str = "NOTICE", sqlstate: str = "00000", hint: str | None = None
    ) -> None:
        if self.settings.lets_through(severity):
            self._notices.append(Notice(message, severity, sqlstate, hint=hint))

    def tell(self, message: str) -> None:
        if self.settings.lets_through("NOTICE"):
            self.speak(Notice(message, "NOTICE", "00000"))

    @property
    def has_notices(self) -> bool:
        return bool(self._notices)

    def drain_notices(self) -> Sequence[Notice]:
        """The notices since the last call."""
        notices, self._notices = self._notices, []
        return notices

    # Statements

    def split(self, sql: str) -> Sequence[Statement]:
        with self.phase():
            return parse(sql, self.check)

    def recurring(self, sql: str) -> tuple[Prepared, Parameters] | None:
        with self.phase():
            return self._recurring.find(sql)

    def known_recurring(self, sql: str) -> tuple[Prepared, Parameters] | None:
        return self._recurring.known(sql)

    def bind(self, statement: Statement, parameter_oids: Sequence[int]) -> Command:
        with masked_errors_of(statement):
            return self._commands.bind(statement, parameter_oids)

    def prepare(self, statement: Statement, parameter_oids: Sequence[int]) -> Prepared:
        self._check_not_failed(statement)
        with self.phase():
            command = self.bind(statement, parameter_oids)
        return Prepared(
            parameter_types=command.parameter_types,
            fields=command.fields,
            statement=statement,
            declared=tuple(parameter_oids),
            of_cursor=isinstance(statement, ParsedStatement) and isinstance(statement.statement, ast.Fetch),
        )

    def run_prepared(self, prepared: Prepared, parameters: Parameters) -> Result:
        statement = prepared.statement
        assert statement is not None
        self._check_not_failed(statement)
        if isinstance(statement, ParsedStatement):
            commits, changes = is_about_committed_rows(statement.statement), changes_schema(statement.statement)
            is_query = not isinstance(statement.statement, OF_THE_SESSION)
            self.scope.begin_statement(self.database, commits_so_far=commits, changes_schema=changes, is_query=is_query)
        with masked_errors_of(statement):
            return self._commands.run_newest(statement, prepared, parameters)

    # Rows

    def snapshot(self, relation_ids: frozenset[int] | None = None) -> CommittedSnapshot:
        reads, mode = self.database.reads, self.settings.get("visibility_mode")
        if mode == Visibility.STRICT and relation_ids is not None:
            reads.wait_for_writes_below(relation_ids, self.cancelled)
        elif mode != Visibility.CHECKPOINT and relation_ids != frozenset():
            # If epochs cannot run, the system relations say why.
            lsn = 0 if relation_ids is None and self.database.stalled is not None else self.transaction.last_lsn
            if lsn:
                reads.wait_for_lsn(lsn, self.cancelled)
                reads.wait_for_set_aside(relation_ids or (), self.cancelled)
        snapshot = reads.snapshot(relation_ids or (), self.cancelled)
        try:
            for relation in map(snapshot.catalog.relations.get, relation_ids or ()):
                if relation is not None:
                    check_has_answer(relation)
        except BaseException:
            snapshot.view.release()
            raise
        return snapshot

    def planned(self, query: LogicalPlan, catalog: Catalog | None = None) -> PreparedQuery:
        return PreparedQuery(query, self.database.reads.catalog if catalog is None else catalog)

    def run_query(self, query: PreparedQuery, parameters: Parameters) -> Iterator[pa.RecordBatch]:
        if self.parts is not None:
            return iter(self.run_to_table(query, parameters).to_batches())
        row = newest_row(self, query, parameters)
        return self._runner.run(query, parameters, self.snapshot) if row is None else iter((row,))

    def run_to_table(self, query: PreparedQuery, parameters: Parameters, given: pa.Table | None = None) -> pa.Table:
        return self._runner.to_table(query, parameters, self.snapshot, given, self.parts)

    def rows_with_keys(self, relation: Table, keys: pa.Table) -> pa.Table:
        return self._runner.rows_with_keys(relation, keys, self.snapshot)

    def committed_rows(self, relation: Table, keys: pa.Table) -> pa.Table:
        snapshot = self.database.reads.snapshot()
        try:
            return self._runner.committed_rows(relation, keys, snapshot)
        finally:
            snapshot.view.release()

    def has_committed(self, relation: Table, keys: pa.Table) -> bool:
        snapshot = self.database.reads.snapshot()
        try:
            return self._runner.has_committed(relation, keys, snapshot)
        finally:
            snapshot.view.release()

    def committed_by_index(self, index: Index, keys: Sequence[pa.Array | pa.ChunkedArray]) -> pa.Table:
        snapshot = self.database.reads.snapshot()
        try:
            return self._runner.committed_by_index(index, keys, snapshot)
        finally:
            snapshot.view.release()

    def evaluate(self, expressions: Sequence[Expr], fields: Schema, rows: pa.Table, parameters: Parameters) -> pa.Table:
        return self._runner.evaluate(expressions, fields, rows, parameters)

    # What the session does with it

    @contextmanager
    def phase(self) -> Iterator[Deadline]:
        """Guards a phase of a statement's work: its time counts for statement_timeout, its depth is limited."""
        if self._deadline is None:
            self._deadline = Deadline(int(self.settings.get("statement_timeout")), self.cancel)
        deadline = self._deadline
        try:
            with deadline:
                self.check()
                yield deadline
        except RecursionError:
            raise StatementTooComplex(
                "stack depth limit exceeded", hint="The statement nests its queries or its joins too deeply."
            ) from None

    def end_statement(self) -> None:
        """Ends the statement's deadline: the next statement gets a new one."""
        self._deadline = None

    def cancel(self) -> None:
        """Ends the running statement. From any thread."""
        self.cancelled.set()
        self._runner.interrupt()

    def is_in_engine(self) -> bool:
        """See `BatchRunner.is_in_engine`."""
        return self._runner.is_in_engine

    def idle_end(self, seconds: float) -> SqlError | None:
        """The error that ends the session, if it has waited for its client longer than it may. From any thread."""
        is_open = self.transaction.status is not TransactionStatus.IDLE
        limit = int(self.settings.get("idle_in_transaction_session_timeout" if is_open else "idle_session_timeout"))
        if not limit or seconds * 1000 <= limit:
            return None
        what, sqlstate = ("idle-in-transaction", "25P03") if is_open else ("idle-session", "57P05")
        return SqlError(f"terminating connection due to {what} timeout", sqlstate=sqlstate)

    def close(self) -> None:
        """Releases everything."""
        self.portals.close_all()
        self.subscription_cursors.close_all()
        try:
            self.transaction.rollback()
        finally:
            self.advisory.unlock_all()
            self.notifications.close()
            self.temporaries.close()
            self.database.sessions.remove(self.record)

    def _system(self, snapshot: CommittedSnapshot) -> StateRows:
        return StateRows(lambda: state_of(self, snapshot))

    def _new_record(self) -> SessionRecord:
        return SessionRecord(
            process_id=self.startup.process_id,
            user=self.startup.user,
            database=self.startup.database,
            client_address=self.startup.client_address,
            application_name=lambda: self.settings.get("application_name"),
            idle_state=lambda: _IDLE_STATES[self.transaction.status],
            cancelled=self.cancelled,
            backend=self.startup.backend,
        )

    def _check_not_failed(self, statement: Statement) -> None:
        ends = isinstance(statement, ParsedStatement) and isinstance(statement.statement, _END_A_FAILED_TRANSACTION)
        if self.transaction.status is TransactionStatus.FAILED and not ends:
            raise InFailedTransaction("current transaction is aborted, commands ignored until end of transaction block")
