"""What a statement may ask of the session that runs it."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import Protocol

import pyarrow as pa

from risingpy.batch import PreparedQuery
from risingpy.frontend.binder import SessionValues
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.portals import Portals, PreparedEntry
from risingpy.frontend.results import Prepared, Result, StartupParameters, Statement
from risingpy.frontend.settings import Settings
from risingpy.frontend.transaction import Transaction
from risingpy.frontend.transaction_scope import TransactionScope
from risingpy.meta.database import Database
from risingpy.meta.reads import Snapshot
from risingpy.plan.catalog import Catalog
from risingpy.plan.expressions import Expr
from risingpy.plan.logical import LogicalPlan, Schema
from risingpy.statement_limits import StatementLimits


class StatementContext(Protocol):
    """A session as its statements see it. All of it is for the session's own thread."""

    @property
    def database(self) -> Database: ...

    @property
    def startup(self) -> StartupParameters:
        """What the client said when it came."""

    @property
    def settings(self) -> Settings: ...

    @property
    def transaction(self) -> Transaction:
        """What has been written and not yet logged."""

    @property
    def scope(self) -> TransactionScope:
        """Begins and ends transactions."""

    @property
    def cancelled(self) -> threading.Event:
        """Set while the running statement is to end: whatever waits, waits for it too."""

    @property
    def statements(self) -> dict[str, PreparedEntry]:
        """The prepared statements, PREPARE's and the protocol's."""

    @property
    def portals(self) -> Portals:
        """The portals, cursors among them."""

    # The names and limits that a statement is bound with

    def search_path(self) -> tuple[str, ...]: ...

    def database_names(self) -> tuple[str, ...]:
        """What may stand in front of a schema: the database's name, and the one that the client calls it by."""

    def session_values(self) -> SessionValues:
        """What current_user and its like give."""

    def limits(self) -> StatementLimits:
        """What the statement that runs now may take."""

    def check(self) -> None:
        """Raises QueryCanceled if the running statement has been cancelled."""

    def notice(
        self, message: str, *, severity: str = "NOTICE", sqlstate: str = "00000", hint: str | None = None
    ) -> None:
        """Tells the client something that is no error."""

    # Statements within statements

    def split(self, sql: str) -> Sequence[Statement]:
        """The statements of a text."""

    def bind(self, statement: Statement, parameter_oids: Sequence[int]) -> Command:
        """The command of another statement, to be run as a part of this one."""

    def prepare(self, statement: Statement, parameter_oids: Sequence[int]) -> Prepared:
        """As PREPARE and Parse do: 0 is an OID to be found out."""

    def run_prepared(self, prepared: Prepared, parameters: Parameters) -> Result:
        """Runs what `prepare` has bound, bound anew if the catalog has changed since."""

    # Rows

    def snapshot(self) -> Snapshot:
        """The newest committed state, with this session's own last write in it if it asks for that."""

    def planned(self, query: LogicalPlan, catalog: Catalog | None = None) -> PreparedQuery:
        """A query that has been through the optimizer, ready to run; `catalog` is the one that it was bound on."""

    def run_query(self, query: PreparedQuery, parameters: Parameters) -> Iterator[pa.RecordBatch]:
        """The rows of a query over committed rows and this transaction's own, lazily."""

    def run_to_table(self, query: PreparedQuery, parameters: Parameters) -> pa.Table:
        """All rows of a query."""

    def evaluate(self, expressions: Sequence[Expr], fields: Schema, rows: pa.Table, parameters: Parameters) -> pa.Table:
        """Expressions over rows that are at hand (c0…); `fields` has their types."""
