"""The interface that a session offers to its statements."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Protocol

import pyarrow as pa

from risingpy.batch import PreparedQuery, StatementReads
from risingpy.frontend.binder import SessionValues
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.demands import Demands
from risingpy.frontend.portals import Portals, PreparedEntry
from risingpy.frontend.results import Prepared, Result, StartupParameters, Statement
from risingpy.frontend.session_advisory_locks import SessionAdvisoryLocks
from risingpy.frontend.session_identity import SessionIdentity
from risingpy.frontend.session_notifications import SessionNotifications
from risingpy.frontend.session_sequences import SessionSequences
from risingpy.frontend.session_temporaries import SessionTemporaries
from risingpy.frontend.settings import Settings
from risingpy.frontend.subscription_cursors import SubscriptionCursors
from risingpy.frontend.transaction import Transaction
from risingpy.frontend.transaction_scope import TransactionScope
from risingpy.frontend.view_texts import ViewTexts
from risingpy.meta.cancellation import CancelFlag
from risingpy.meta.database import Database
from risingpy.meta.reads import CommittedSnapshot
from risingpy.meta.schema.commands import SchemaCommands
from risingpy.plan.catalog import Catalog, FunctionDesc, Index, Table
from risingpy.plan.expressions import Expr
from risingpy.plan.logical import LogicalPlan, Schema
from risingpy.statement_limits import StatementLimits


class StatementContext(Protocol):
    """A session as its statements see it. All of it is for the session's own thread."""

    @property
    def database(self) -> Database: ...

    @property
    def startup(self) -> StartupParameters:
        """The client's parameters at startup."""

    @property
    def identity(self) -> SessionIdentity:
        """The session's user, and the role that it acts as."""

    @property
    def demands(self) -> Demands:
        """What the running statement must be allowed to do."""

    @property
    def ddl(self) -> SchemaCommands:
        """CREATE, ALTER and DROP; what they create belongs to the role that the session acts as.

        They are done if what `demands` were asked so far holds in the state that they change.
        """

    @property
    def settings(self) -> Settings: ...

    @property
    def transaction(self) -> Transaction:
        """The transaction, with the writes that are not logged yet."""

    @property
    def scope(self) -> TransactionScope:
        """Begins and ends transactions."""

    @property
    def cancelled(self) -> CancelFlag:
        """Set when the running statement must end; everything that waits also waits for it."""

    @property
    def statements(self) -> dict[str, PreparedEntry]:
        """The prepared statements, PREPARE's and the protocol's."""

    @property
    def portals(self) -> Portals:
        """The portals, cursors among them."""

    @property
    def subscription_cursors(self) -> SubscriptionCursors:
        """The subscription cursors."""

    @property
    def sequences(self) -> SessionSequences:
        """The numbers that the session has taken of sequences."""

    @property
    def advisory(self) -> SessionAdvisoryLocks:
        """The advisory locks that the session has."""

    @property
    def notifications(self) -> SessionNotifications:
        """LISTEN and NOTIFY."""

    @property
    def view_texts(self) -> ViewTexts:
        """The texts of views as the session is shown them."""

    @property
    def temporaries(self) -> SessionTemporaries:
        """The session's temporary relations."""

    # The names and limits that a statement is bound with

    def search_path(self) -> tuple[str, ...]: ...

    def database_names(self) -> tuple[str, ...]:
        """The names that may qualify a schema in every statement: the database's."""

    def readable_databases(self) -> Collection[str]:
        """The names that may qualify a schema where a query reads: those of all databases."""

    def use_database(self, name: str) -> None:
        """Goes to another database, in which names are looked up from now on. Raises 3D000."""

    def session_values(self) -> SessionValues:
        """The values of current_user and similar functions."""

    def limits(self) -> StatementLimits:
        """The limits of the running statement."""

    def check(self) -> None:
        """Raises QueryCanceled if the running statement has been cancelled."""

    def notice(
        self, message: str, *, severity: str = "NOTICE", sqlstate: str = "00000", hint: str | None = None
    ) -> None:
        """Sends the client a notice."""

    def tell(self, message: str) -> None:
        """Sends the client a notice at once, while the statement goes on. Nobody sees it in an embedded database."""

    # Statements within statements

    def split(self, sql: str) -> Sequence[Statement]:
        """The statements of a text."""

    def bind(self, statement: Statement, parameter_oids: Sequence[int]) -> Command:
        """The command of another statement, which this one runs as a part of itself."""

    def prepare(self, statement: Statement, parameter_oids: Sequence[int]) -> Prepared:
        """Prepares a statement, as PREPARE and Parse do; an OID of 0 means that the type must be inferred."""

    def run_prepared(self, prepared: Prepared, parameters: Parameters) -> Result:
        """Runs a result of `prepare`, and binds it again if the catalog has changed since."""

    procedures: tuple[FunctionDesc, ...]
    """The procedures that run, the innermost last: its statements may name its arguments."""

    # Rows

    parts: StatementReads | None
    """What the parts of the running statement read, if it has several that write; else None."""

    def snapshot(self, relation_ids: frozenset[int] | None = None) -> CommittedSnapshot:
        """The newest committed state, which has the writes that `visibility_mode` asks for.

        If it asks for those of all sessions, those below the relations with these ids; None: this session's own ones.
        """

    def planned(self, query: LogicalPlan, catalog: Catalog | None = None) -> PreparedQuery:
        """The optimized query, ready to run; `catalog` is the one on which it was bound."""

    def run_query(self, query: PreparedQuery, parameters: Parameters) -> Iterator[pa.RecordBatch]:
        """The rows of a query over committed rows and this transaction's own, lazily."""

    def run_to_table(self, query: PreparedQuery, parameters: Parameters, given: pa.Table | None = None) -> pa.Table:
        """All rows of a query; `given` are those that it reads as GivenRows."""

    def rows_with_keys(self, relation: Table, keys: pa.Table) -> pa.Table:
        """The rows of a table (all columns, c0…) that have the keys of `keys`, which has no key twice; in no order.

        Rows that this transaction has written may come although nothing asked for their keys.
        """

    def committed_rows(self, relation: Table, keys: pa.Table) -> pa.Table:
        """As `rows_with_keys`, but the committed rows of now: it waits for nothing, and sees no own changes."""

    def has_committed(self, relation: Table, keys: pa.Table) -> bool:
        """Whether any of the keys of `keys` has a committed row now."""

    def committed_by_index(self, index: Index, keys: Sequence[pa.Array | pa.ChunkedArray]) -> pa.Table:
        """The committed rows of an index, all its columns, with any of these keys; `_prefix` is the key's place."""

    def evaluate(self, expressions: Sequence[Expr], fields: Schema, rows: pa.Table, parameters: Parameters) -> pa.Table:
        """The values of expressions over the given `rows` (c0…); `fields` has the types of the values."""
