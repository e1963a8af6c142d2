"""A client's session: prepares and runs its statements, keeps its settings and its transaction.

The wire layer calls it through the protocol of `wire/session_protocol.py`, from the connection's thread; only `cancel`
may come from another thread.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import duckdb
import pyarrow as pa

from risingpy.errors import InFailedTransaction, SqlError, UndefinedObject
from risingpy.executors.expression.duckdb_connection import connect
from risingpy.executors.expression.nodes import Expr
from risingpy.frontend.binder import SessionValues
from risingpy.frontend.catalog.query import SystemCatalog, SystemStatement, split_statements
from risingpy.frontend.catalog.session_functions import VERSION_TEXT
from risingpy.frontend.parser.ast import ParsedStatement
from risingpy.frontend.prepared import Parameters, PreparedStatement
from risingpy.frontend.query import BatchRunner
from risingpy.frontend.settings import Settings
from risingpy.frontend.statements import prepare_statement
from risingpy.frontend.transaction import Transaction, TransactionStatus
from risingpy.frontend.wire.session_protocol import Notice, Prepared, Result, StartupParameters
from risingpy.meta.database import Database, Snapshot
from risingpy.optimizer.logical import LogicalPlan, Schema
from risingpy.types import UNKNOWN, SqlType
from risingpy.types.oids import TYPE_BY_OID

CACHED_STATEMENTS = 256  # bound statements that a session keeps, the oldest go first

_shared: list[duckdb.DuckDBPyConnection] = []
_shared_guard = threading.Lock()


def open_session(database: Database, startup: StartupParameters) -> ClientSession:
    """The session of a new connection."""
    return ClientSession(database, startup)


def _new_cursor() -> duckdb.DuckDBPyConnection:
    """A cursor of the process's one DuckDB instance: making an instance for each session would cost 20 ms."""
    with _shared_guard:
        if not _shared:
            _shared.append(connect())
        return _shared[0].cursor()


class ClientSession:
    """See the module's docstring. Statement modules use `database`, `settings`, `transaction` and the methods below."""

    def __init__(self, database: Database, startup: StartupParameters) -> None:
        self.database = database
        self.startup = startup
        self.settings = Settings(startup)
        self.transaction = Transaction(database)
        self.cancelled = threading.Event()
        self._notices: list[Notice] = []
        self._duckdb = _new_cursor()
        self._runner = BatchRunner(self._duckdb, self.transaction)
        self._system = SystemCatalog(self)
        self._cache: dict[tuple[str, tuple[int, ...]], tuple[object, PreparedStatement]] = {}

    # What the wire layer calls

    def split(self, sql: str) -> Sequence[ParsedStatement | SystemStatement]:
        return split_statements(sql)

    def prepare(self, statement: object, parameter_oids: Sequence[int]) -> Prepared:
        assert isinstance(statement, ParsedStatement | SystemStatement)
        prepared = self._prepare(statement, tuple(parameter_oids))
        self._check_not_failed(prepared)
        return Prepared(
            parameter_types=prepared.parameter_types,
            fields=prepared.fields,
            parameter_oids=prepared.parameter_oids,
            plan=(statement, tuple(parameter_oids)),
        )

    def execute(self, prepared: Prepared, parameters: Parameters) -> Result:
        self.cancelled.clear()
        assert isinstance(prepared.plan, tuple)
        statement, oids = prepared.plan
        plan = self._prepare(statement, oids)  # bound anew if the catalog has changed since
        self._check_not_failed(plan)
        with self._timeout():
            return plan.run(parameters)

    def begin_implicit(self) -> None:
        if self.transaction.status is TransactionStatus.IDLE:
            self.transaction.implicit = True

    def end_implicit(self) -> None:
        self.sync()

    def sync(self) -> None:
        if self.transaction.implicit and self.transaction.status is TransactionStatus.IDLE:
            self.transaction.commit(self.cancelled)

    def fail(self) -> None:
        if self.transaction.status is TransactionStatus.IDLE:
            self.transaction.rollback()
        else:
            self.transaction.status = TransactionStatus.FAILED

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

    def close(self) -> None:
        self.transaction.rollback()
        self._system.close()
        self._duckdb.close()

    # What statement modules use

    def notice(self, message: str, *, severity: str = "NOTICE") -> None:
        """Tells the client something that is no error."""
        self._notices.append(Notice(message, severity))

    def search_path(self) -> tuple[str, ...]:
        return self.settings.search_path()

    def session_values(self) -> SessionValues:
        """What current_user and its like give."""
        path = [schema for schema in self.search_path() if schema in self.database.catalog.schemas]
        return SessionValues(
            user=self.startup.user,
            database=self.startup.database,
            schema=path[0] if path else None,
            version=VERSION_TEXT,
            time_zone=self.time_zone(),
        )

    def snapshot(self) -> Snapshot:
        """The newest committed state, with this session's own last write in it if it asks for that."""
        if self.transaction.last_lsn and self.settings.get("visibility_mode") != "checkpoint":
            self.database.wait_for_lsn(self.transaction.last_lsn, self.cancelled)
        return self.database.snapshot()

    def run_plan(
        self, plan: LogicalPlan, parameters: Parameters, snapshot: Snapshot | None = None
    ) -> Iterator[pa.RecordBatch]:
        """The rows of a plan over committed rows and this transaction's own."""
        return self._runner.run(plan, parameters, snapshot or self.snapshot(), self.cancelled.is_set)

    def run_to_table(self, plan: LogicalPlan, parameters: Parameters) -> pa.Table:
        """All rows of a plan."""
        return self._runner.as_table(plan.schema, self.run_plan(plan, parameters))

    def evaluate(self, expressions: Sequence[Expr], fields: Schema, rows: pa.Table, parameters: Parameters) -> pa.Table:
        """Expressions over rows that are at hand (c0…)."""
        return self._runner.evaluate(expressions, fields, rows, parameters)

    # Inside

    def _prepare(self, statement: ParsedStatement | SystemStatement, oids: tuple[int, ...]) -> PreparedStatement:
        version = (self.database.catalog.version, self.settings.version)
        key = (statement.text, oids)
        cached = self._cache.get(key)
        if cached is not None and cached[0] == version:
            return cached[1]
        if isinstance(statement, SystemStatement):
            prepared = self._system.prepare(statement, oids)
        else:
            prepared = prepare_statement(self, statement, [_type_of(oid) for oid in oids])
        if len(self._cache) >= CACHED_STATEMENTS:
            del self._cache[next(iter(self._cache))]
        self._cache[key] = (version, prepared)
        return prepared

    def _check_not_failed(self, prepared: PreparedStatement) -> None:
        if self.transaction.status is TransactionStatus.FAILED and not prepared.in_failed_transaction:
            raise InFailedTransaction("current transaction is aborted, commands ignored until end of transaction block")

    @contextmanager
    def _timeout(self) -> Iterator[None]:
        """Cancels the statement after `statement_timeout`."""
        milliseconds = int(self.settings.get("statement_timeout") or 0)
        if not milliseconds:
            yield
            return
        timer = threading.Timer(milliseconds / 1000, self.cancel)
        timer.start()
        try:
            yield
        except SqlError as error:
            if error.sqlstate == "57014":
                error.message = "canceling statement due to statement timeout"
            raise
        finally:
            timer.cancel()


def _type_of(oid: int) -> SqlType:
    if oid == 0:
        return UNKNOWN
    found = TYPE_BY_OID.get(oid)
    if found is None:
        raise UndefinedObject(f"type with OID {oid} does not exist")
    return found
