"""A client's session: prepares and runs its statements, keeps its settings and its transaction.

The wire layer calls it through the protocol of `wire/session_protocol.py`, from the connection's thread; only `cancel`
may come from another thread.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace

import pyarrow as pa

from risingpy.errors import (
    FeatureNotSupported,
    InFailedTransaction,
    QueryCanceled,
    StalePlan,
    StatementTooComplex,
    UndefinedObject,
)
from risingpy.frontend.binder import SessionValues
from risingpy.frontend.catalog.query import SystemCatalog, SystemStatement, split_statements
from risingpy.frontend.catalog.session_functions import VERSION_TEXT
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.deadline import Deadline
from risingpy.frontend.parser import ast
from risingpy.frontend.parser.ast import Commit, ParsedStatement, Rollback, RollbackTo
from risingpy.frontend.query import BatchRunner
from risingpy.frontend.settings import Settings, is_on
from risingpy.frontend.statements import bind_statement
from risingpy.frontend.transaction import Transaction, TransactionStatus
from risingpy.frontend.wire.portal import Portals, PreparedEntry
from risingpy.frontend.wire.session_protocol import CopyIn, Notice, Prepared, Result, StartupParameters, Statement
from risingpy.memory import STATEMENT_SHARE, parse_bytes, share_of_memory
from risingpy.meta.database import Database, Snapshot
from risingpy.meta.table_locks import LockMode
from risingpy.plan.expressions import Expr
from risingpy.plan.logical import LogicalPlan, Schema
from risingpy.statement_limits import StatementLimits
from risingpy.types import UNKNOWN, SqlType
from risingpy.types.oids import type_by_oid

_ABOUT_COMMITTED_ROWS = (
    ast.AlterTable,
    ast.AlterRelation,
    ast.Backup,
    ast.Flush,
    ast.CreateIndex,
    ast.CreateTable,
    ast.CreateSource,
    ast.CreateView,
    ast.CreateMaterializedView,
    ast.CreateSchema,
    ast.Drop,
    ast.DropSchema,
)
TRIES_OF_A_STALE_PLAN = 10  # each time, another session altered what the statement reads while it was planned
CACHED_STATEMENTS = 256  # bound statements that a session keeps, the oldest go first


def open_session(database: Database, startup: StartupParameters) -> ClientSession:
    """The session of a new connection."""
    return ClientSession(database, startup)


class ClientSession:
    """See the module's docstring. Statement modules use `database`, `settings`, `transaction` and the methods below."""

    def __init__(self, database: Database, startup: StartupParameters) -> None:
        self.database = database
        self.startup = startup
        self.settings = Settings(startup)
        self.transaction = Transaction(database, last_lsn=database.lsn_of_earlier_runs, process_id=startup.process_id)
        self.cancelled = threading.Event()
        self.statements: dict[str, PreparedEntry] = {}
        self.portals = Portals()
        self._deadline: Deadline | None = None  # of the statement that is read, bound or run
        self._notices: list[Notice] = []
        self._runner = BatchRunner(self.transaction, database.query_engines, self.limits)
        self._system = SystemCatalog(self)
        self._cache: dict[tuple[str, tuple[int, ...]], tuple[object, Command]] = {}

    # What the wire layer calls

    def split(self, sql: str) -> Sequence[ParsedStatement | SystemStatement]:
        with self._phase():
            return split_statements(sql, self.check)

    def prepare(self, statement: Statement, parameter_oids: Sequence[int]) -> Prepared:
        self._check_not_failed(statement)
        with self._phase():
            command = self.bind(statement, parameter_oids)
        return Prepared(
            parameter_types=command.parameter_types,
            fields=command.fields,
            parameter_oids=command.parameter_oids,
            statement=statement,
            declared=tuple(parameter_oids),
        )

    def execute(self, prepared: Prepared, parameters: Parameters) -> Result:
        with self._phase() as deadline:
            result = self.run_prepared(prepared, parameters)
        self._deadline = None
        if isinstance(result.copy, CopyIn):
            return replace(result, copy=replace(result.copy, limit=deadline))
        return result if result.batches is None else replace(result, batches=deadline.over(result.batches))

    def begin_implicit(self) -> None:
        if self.transaction.status is TransactionStatus.IDLE:
            self.transaction.implicit = True
            self.settings.begin()

    def end_implicit(self) -> None:
        self.sync()

    def sync(self) -> None:
        if self.transaction.status is TransactionStatus.IDLE:
            if self.transaction.implicit:
                self.commit()
            self.portals.end_transaction(committed=True)
        self.forget_cancel()

    def fail(self) -> None:
        self.forget_cancel()
        self.transaction.fail()
        if not self.transaction.is_open:
            self.settings.end(committed=False)
            self.portals.end_transaction(committed=False)

    def transaction_status(self) -> bytes:
        return self.transaction.status.value

    def time_zone(self) -> str:
        return self.settings.get("timezone")

    def parameter_status(self) -> Mapping[str, str]:
        return self.settings.reported()

    def drain_notices(self) -> Sequence[Notice]:
        notices, self._notices = self._notices, []
        return notices

    def drain_parameter_changes(self) -> Mapping[str, str]:
        return self.settings.drain_changes()

    def cancel(self) -> None:
        self.cancelled.set()
        self._runner.interrupt()
        self._system.interrupt()

    def forget_cancel(self) -> None:
        self._deadline = None
        self.cancelled.clear()

    def close(self) -> None:
        self.portals.close_all()
        self.transaction.rollback()
        self._system.close()

    # What statement modules use

    def check(self) -> None:
        """Raises QueryCanceled if the running statement has been cancelled; asked all along while it is planned."""
        if self.cancelled.is_set():
            raise QueryCanceled("canceling statement due to user request")

    def notice(
        self, message: str, *, severity: str = "NOTICE", sqlstate: str = "00000", hint: str | None = None
    ) -> None:
        """Tells the client something that is no error."""
        self._notices.append(Notice(message, severity, sqlstate, hint=hint))

    def bind(self, statement: Statement, parameter_oids: Sequence[int]) -> Command:
        """The command of a statement on the catalog as it is now; it may have been bound before."""
        version = (self.database.catalog.version, self.settings.version)
        key = (statement.text, tuple(parameter_oids))
        cached = self._cache.get(key)
        if cached is not None and cached[0] == version:
            return cached[1]
        command = self._bound(statement, parameter_oids)
        if command.lasts:
            if len(self._cache) >= CACHED_STATEMENTS:
                del self._cache[next(iter(self._cache))]
            self._cache[key] = (version, command)
        return command

    def _bound(self, statement: Statement, oids: Sequence[int]) -> Command:
        match statement:
            case SystemStatement():
                return self._system.bind(statement, oids)
            case ParsedStatement():
                return bind_statement(self, statement, [_type_of(oid) for oid in oids])
        raise AssertionError(f"no statement that `split` gave: {statement}")

    def run_prepared(self, prepared: Prepared, parameters: Parameters) -> Result:
        """Runs what `prepare` has bound, as a statement or within one (EXECUTE, DECLARE)."""
        statement = prepared.statement
        assert statement is not None
        self._check_not_failed(statement)
        self._settle_before(statement)
        return self._run_newest(statement, prepared, parameters)

    def set_savepoint(self, name: str) -> None:
        """SAVEPOINT: what is written, SET and opened from here on can be taken back."""
        settings_before, portals = self.settings.mark(), frozenset(self.portals.named())

        def restore() -> None:
            settings_before()
            self.portals.close_but(portals)

        self.transaction.set_savepoint(name, restore)

    def begin(self, *, read_only: bool) -> None:
        """BEGIN."""
        self.transaction.begin(read_only=read_only)
        self.settings.begin()

    def commit(self) -> None:
        """Makes what was written durable, and ends the transaction if there is one.

        With rw_implicit_flush it returns when every view has it.
        """
        wrote = self.transaction.has_changes
        flushes = is_on(self.settings.get("rw_implicit_flush"))
        try:
            self.transaction.commit(self.cancelled)
        except BaseException:
            self.settings.end(committed=False)
            raise
        self.settings.end(committed=True)
        if wrote and flushes:
            self.database.flush(self.cancelled)

    def rollback(self) -> None:
        """Forgets what was written and SET, and ends the transaction."""
        self.transaction.rollback()
        self.settings.end(committed=False)

    def search_path(self) -> tuple[str, ...]:
        return self.settings.search_path()

    def limits(self) -> StatementLimits:
        """What the statement that runs now may take."""
        asked = parse_bytes(self.settings.get("statement_memory"))
        return StatementLimits(asked or share_of_memory(STATEMENT_SHARE), self.cancelled)

    def database_names(self) -> tuple[str, ...]:
        """What may stand in front of a schema: the database's name, and the one that the client calls it by."""
        return self.database.catalog.database, self.startup.database

    def session_values(self) -> SessionValues:
        """What current_user and its like give."""
        path = [schema for schema in self.search_path() if schema in self.database.catalog.schemas]
        return SessionValues(
            user=self.startup.user,
            database=self.startup.database,
            schema=path[0] if path else None,
            version=VERSION_TEXT,
            time_zone=self.time_zone(),
            process_id=self.startup.process_id,
            data_directory=str(self.database.data_dir),
            setting=self.settings.find,
            check=self.check,
        )

    def snapshot(self) -> Snapshot:
        """The newest committed state, with this session's own last write in it if it asks for that."""
        if self.transaction.last_lsn and self.settings.get("visibility_mode") != "checkpoint":
            self.database.wait_for_lsn(self.transaction.last_lsn, self.cancelled)
        return self.database.snapshot()

    def run_plan(self, plan: LogicalPlan, parameters: Parameters) -> Iterator[pa.RecordBatch]:
        """The rows of a plan over committed rows and this transaction's own, lazily."""
        return self._runner.run(plan, parameters, self.snapshot)

    def run_to_table(self, plan: LogicalPlan, parameters: Parameters) -> pa.Table:
        """All rows of a plan."""
        return self._runner.as_table(plan.schema, self.run_plan(plan, parameters))

    def evaluate(self, expressions: Sequence[Expr], fields: Schema, rows: pa.Table, parameters: Parameters) -> pa.Table:
        """Expressions over rows that are at hand (c0…)."""
        return self._runner.evaluate(expressions, fields, rows, parameters)

    # Inside

    @contextmanager
    def _phase(self) -> Iterator[Deadline]:
        """A part of a statement's work: it has its share of statement_timeout, and nests no deeper than Python can."""
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

    def _run_newest(
        self,
        statement: Statement,
        prepared: Prepared,
        parameters: Parameters,
    ) -> Result:
        """Runs the statement as the catalog is now: bound anew, if need be again while others alter what it reads.

        The table that it writes to it holds from the second time on: a stream of ALTERs could go on for ever.
        """
        types = prepared.parameter_types
        in_transaction = self.transaction.is_open  # what it wrote before cannot be planned again
        with ExitStack() as kept:
            for tries_left in reversed(range(TRIES_OF_A_STALE_PLAN)):
                command = self.bind(statement, prepared.declared)
                if command.parameter_types != types:  # the values were sent for these types
                    command = self.bind(statement, [type_.oid for type_ in types])
                if prepared.fields is not None and command.fields != prepared.fields:
                    raise FeatureNotSupported("cached plan must not change result type")
                try:
                    return _begun(command.run(parameters))
                except StalePlan as stale:
                    if in_transaction or not tries_left:
                        raise
                    if stale.written is not None:
                        locks, process_id = self.database.locks, self.startup.process_id
                        table = locks.held((stale.written,), LockMode.SHARED, self.cancelled, process_id=process_id)
                        kept.enter_context(table)
        raise AssertionError("the last try returns or raises")

    def _settle_before(self, statement: Statement) -> None:
        """Commits what earlier statements of the same text wrote, where this one is about committed rows alone."""
        if not self.transaction.implicit or self.transaction.status is not TransactionStatus.IDLE:
            return
        if isinstance(statement, ParsedStatement) and isinstance(statement.statement, _ABOUT_COMMITTED_ROWS):
            self.commit()
            self.begin_implicit()

    def _check_not_failed(self, statement: Statement) -> None:
        ends = isinstance(statement, ParsedStatement) and isinstance(
            statement.statement, Commit | Rollback | RollbackTo
        )
        if self.transaction.status is TransactionStatus.FAILED and not ends:
            raise InFailedTransaction("current transaction is aborted, commands ignored until end of transaction block")


def _begun(result: Result) -> Result:
    """The result with its first batch computed: from there on its plan cannot be stale any more."""
    if result.batches is None:
        return result
    batches = iter(result.batches)
    first = next(batches, None)
    return replace(result, batches=iter(()) if first is None else _Begun(first, batches))


class _Begun:
    """Batches of which the first has been taken already. No generator: `close` must reach one that nobody has read."""

    def __init__(self, first: pa.RecordBatch, rest: Iterator[pa.RecordBatch]) -> None:
        self._first: pa.RecordBatch | None = first
        self._rest = rest

    def __iter__(self) -> _Begun:
        return self

    def __next__(self) -> pa.RecordBatch:
        first, self._first = self._first, None
        return next(self._rest) if first is None else first

    def close(self) -> None:
        close = getattr(self._rest, "close", None)
        if close is not None:
            close()


def _type_of(oid: int) -> SqlType:
    if oid == 0:
        return UNKNOWN
    found = type_by_oid(oid)
    if found is None:
        raise UndefinedObject(f"type with OID {oid} does not exist")
    return found
