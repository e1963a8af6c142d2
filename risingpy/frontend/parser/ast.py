"""Statements as data: what `parse` gives, one frozen class a statement.

Names are folded already (unquoted ones to lower case). Every `position` counts characters of the whole text
that the client sent, from 1. Queries and expressions inside stay sqlglot trees (`Query.tree`, `Expression.tree`),
which only the parser and the binder read.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from risingpy.frontend.parser.ast_alter import AddPrimaryKey as AddPrimaryKey
from risingpy.frontend.parser.ast_alter import AlterAction as AlterAction
from risingpy.frontend.parser.ast_alter import AlterConnection as AlterConnection
from risingpy.frontend.parser.ast_alter import AlterConnector as AlterConnector
from risingpy.frontend.parser.ast_alter import AlterFunction as AlterFunction
from risingpy.frontend.parser.ast_alter import AlterRelation as AlterRelation
from risingpy.frontend.parser.ast_alter import AlterSecret as AlterSecret
from risingpy.frontend.parser.ast_alter import AlterSequence as AlterSequence
from risingpy.frontend.parser.ast_alter import AlterSink as AlterSink
from risingpy.frontend.parser.ast_alter import AlterSource as AlterSource
from risingpy.frontend.parser.ast_alter import AlterSourceColumns as AlterSourceColumns
from risingpy.frontend.parser.ast_alter import AlterSubscription as AlterSubscription
from risingpy.frontend.parser.ast_alter import AlterSystem as AlterSystem
from risingpy.frontend.parser.ast_alter import AlterTable as AlterTable
from risingpy.frontend.parser.ast_comment import CommentOn as CommentOn
from risingpy.frontend.parser.ast_create import CallProcedure as CallProcedure
from risingpy.frontend.parser.ast_create import CopiedTable as CopiedTable
from risingpy.frontend.parser.ast_create import CreateConnection as CreateConnection
from risingpy.frontend.parser.ast_create import CreateFunction as CreateFunction
from risingpy.frontend.parser.ast_create import CreateIndex as CreateIndex
from risingpy.frontend.parser.ast_create import CreateMaterializedView as CreateMaterializedView
from risingpy.frontend.parser.ast_create import CreateSecret as CreateSecret
from risingpy.frontend.parser.ast_create import CreateSequence as CreateSequence
from risingpy.frontend.parser.ast_create import CreateSink as CreateSink
from risingpy.frontend.parser.ast_create import CreateSource as CreateSource
from risingpy.frontend.parser.ast_create import CreateSubscription as CreateSubscription
from risingpy.frontend.parser.ast_create import CreateTable as CreateTable
from risingpy.frontend.parser.ast_create import CreateTableAs as CreateTableAs
from risingpy.frontend.parser.ast_create import CreateView as CreateView
from risingpy.frontend.parser.ast_create import FunctionArgument as FunctionArgument
from risingpy.frontend.parser.ast_create import IndexElement as IndexElement
from risingpy.frontend.parser.ast_dml import Assignment as Assignment
from risingpy.frontend.parser.ast_dml import ConflictAction as ConflictAction
from risingpy.frontend.parser.ast_dml import ConflictTarget as ConflictTarget
from risingpy.frontend.parser.ast_dml import Delete as Delete
from risingpy.frontend.parser.ast_dml import Insert as Insert
from risingpy.frontend.parser.ast_dml import Merge as Merge
from risingpy.frontend.parser.ast_dml import MergeDelete as MergeDelete
from risingpy.frontend.parser.ast_dml import MergeInsert as MergeInsert
from risingpy.frontend.parser.ast_dml import MergeUpdate as MergeUpdate
from risingpy.frontend.parser.ast_dml import MergeWhen as MergeWhen
from risingpy.frontend.parser.ast_dml import TableItems as TableItems
from risingpy.frontend.parser.ast_dml import Truncate as Truncate
from risingpy.frontend.parser.ast_dml import Update as Update
from risingpy.frontend.parser.ast_parts import ColumnDefinition as ColumnDefinition
from risingpy.frontend.parser.ast_parts import ColumnName as ColumnName
from risingpy.frontend.parser.ast_parts import Expression as Expression
from risingpy.frontend.parser.ast_parts import ObjectName as ObjectName
from risingpy.frontend.parser.ast_parts import Query as Query
from risingpy.frontend.parser.ast_parts import SequenceOptions as SequenceOptions
from risingpy.frontend.parser.ast_parts import TypeName as TypeName
from risingpy.frontend.parser.ast_parts import WatermarkDefinition as WatermarkDefinition
from risingpy.frontend.parser.ast_session import Backup as Backup
from risingpy.frontend.parser.ast_session import Begin as Begin
from risingpy.frontend.parser.ast_session import CloseCursor as CloseCursor
from risingpy.frontend.parser.ast_session import Commit as Commit
from risingpy.frontend.parser.ast_session import Deallocate as Deallocate
from risingpy.frontend.parser.ast_session import DeclareCursor as DeclareCursor
from risingpy.frontend.parser.ast_session import DeclareSubscriptionCursor as DeclareSubscriptionCursor
from risingpy.frontend.parser.ast_session import Execute as Execute
from risingpy.frontend.parser.ast_session import Fetch as Fetch
from risingpy.frontend.parser.ast_session import FetchKind as FetchKind
from risingpy.frontend.parser.ast_session import Flush as Flush
from risingpy.frontend.parser.ast_session import InnerStatement as InnerStatement
from risingpy.frontend.parser.ast_session import LockTable as LockTable
from risingpy.frontend.parser.ast_session import Maintenance as Maintenance
from risingpy.frontend.parser.ast_session import NamedTable as NamedTable
from risingpy.frontend.parser.ast_session import Prepare as Prepare
from risingpy.frontend.parser.ast_session import Recover as Recover
from risingpy.frontend.parser.ast_session import ReleaseSavepoint as ReleaseSavepoint
from risingpy.frontend.parser.ast_session import Rollback as Rollback
from risingpy.frontend.parser.ast_session import RollbackTo as RollbackTo
from risingpy.frontend.parser.ast_session import Savepoint as Savepoint
from risingpy.frontend.parser.ast_session import SetConstraints as SetConstraints
from risingpy.frontend.parser.ast_session import SetTransaction as SetTransaction
from risingpy.frontend.parser.ast_session import Subscribe as Subscribe
from risingpy.frontend.parser.ast_session import SubscriptionStart as SubscriptionStart
from risingpy.frontend.parser.channels.trees import ChannelStatement as ChannelStatement
from risingpy.frontend.parser.channels.trees import Listen as Listen
from risingpy.frontend.parser.channels.trees import Notify as Notify
from risingpy.frontend.parser.channels.trees import Unlisten as Unlisten
from risingpy.frontend.parser.databases.trees import AlterDatabase as AlterDatabase
from risingpy.frontend.parser.databases.trees import AlterSettings as AlterSettings
from risingpy.frontend.parser.databases.trees import CreateDatabase as CreateDatabase
from risingpy.frontend.parser.databases.trees import CreateSchema as CreateSchema
from risingpy.frontend.parser.databases.trees import DatabaseStatement as DatabaseStatement
from risingpy.frontend.parser.databases.trees import DropDatabase as DropDatabase
from risingpy.frontend.parser.databases.trees import DropSchema as DropSchema
from risingpy.frontend.parser.databases.trees import RenameSchema as RenameSchema
from risingpy.frontend.parser.databases.trees import SchemaStatement as SchemaStatement
from risingpy.frontend.parser.databases.trees import UseDatabase as UseDatabase
from risingpy.frontend.parser.jobs.trees import AlterBackfill as AlterBackfill
from risingpy.frontend.parser.jobs.trees import CancelJobs as CancelJobs
from risingpy.frontend.parser.jobs.trees import JobStatement as JobStatement
from risingpy.frontend.parser.jobs.trees import KillProcess as KillProcess
from risingpy.frontend.parser.jobs.trees import WaitJobs as WaitJobs
from risingpy.frontend.parser.roles.trees import AlterDefaultPrivileges as AlterDefaultPrivileges
from risingpy.frontend.parser.roles.trees import AlterObjectOwner as AlterObjectOwner
from risingpy.frontend.parser.roles.trees import AlterOwner as AlterOwner
from risingpy.frontend.parser.roles.trees import AlterRole as AlterRole
from risingpy.frontend.parser.roles.trees import CreateRole as CreateRole
from risingpy.frontend.parser.roles.trees import DropOwned as DropOwned
from risingpy.frontend.parser.roles.trees import DropRole as DropRole
from risingpy.frontend.parser.roles.trees import GrantPrivileges as GrantPrivileges
from risingpy.frontend.parser.roles.trees import GrantRole as GrantRole
from risingpy.frontend.parser.roles.trees import ReassignOwned as ReassignOwned
from risingpy.frontend.parser.roles.trees import RevokeRole as RevokeRole
from risingpy.frontend.parser.user_types.trees import AlterAttributes as AlterAttributes
from risingpy.frontend.parser.user_types.trees import AlterDomain as AlterDomain
from risingpy.frontend.parser.user_types.trees import AlterTypeAddValue as AlterTypeAddValue
from risingpy.frontend.parser.user_types.trees import AlterTypePlace as AlterTypePlace
from risingpy.frontend.parser.user_types.trees import AlterTypeRenameValue as AlterTypeRenameValue
from risingpy.frontend.parser.user_types.trees import CreateCompositeType as CreateCompositeType
from risingpy.frontend.parser.user_types.trees import CreateDomain as CreateDomain
from risingpy.frontend.parser.user_types.trees import CreateType as CreateType
from risingpy.frontend.parser.user_types.trees import DropType as DropType
from risingpy.frontend.parser.user_types.trees import TypeStatement as TypeStatement
from risingpy.optimizer.explain.tree import ExplainFormat
from risingpy.plan.catalog import ConnectionDesc, RelationClass, SecretDesc


@dataclass(frozen=True, slots=True)
class Drop:
    """DROP TABLE, VIEW, MATERIALIZED VIEW or SOURCE."""

    kind: RelationClass
    names: tuple[ObjectName, ...]
    if_exists: bool = False
    cascade: bool = False
    concurrently: bool = False


@dataclass(frozen=True, slots=True)
class DropHidden:
    """DROP SECRET or CONNECTION."""

    kind: type[SecretDesc] | type[ConnectionDesc]
    names: tuple[ObjectName, ...]
    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True, slots=True)
class DropFunction:
    """Each with its argument types, None where there is no list; `noun` is the word after DROP, in lower case."""

    functions: tuple[tuple[ObjectName, tuple[FunctionArgument, ...] | None], ...]
    if_exists: bool = False
    cascade: bool = False
    noun: str = "function"


@dataclass(frozen=True, slots=True)
class Select:
    """SELECT, VALUES, WITH … SELECT, TABLE t."""

    query: Query


class ExplainKind(Enum):
    """EXPLAIN (LOGICAL | PHYSICAL | DISTSQL); the value is the word in SQL."""

    LOGICAL = "logical"
    PHYSICAL = "physical"
    DISTSQL = "distsql"


@dataclass(frozen=True, slots=True)
class Explain:
    """EXPLAIN. `trace` shows the plan after each rule; `analyze` runs a query and shows what it did."""

    statement: Statement
    verbose: bool = False
    analyze: bool = False
    kind: ExplainKind = ExplainKind.PHYSICAL
    format: ExplainFormat = ExplainFormat.TEXT
    trace: bool = False


@dataclass(frozen=True, slots=True)
class ExplainAnalyze:
    """EXPLAIN ANALYZE words name: what a running job's operators do for `seconds`, or since the server started."""

    words: str
    name: ObjectName
    seconds: float | None = None


class ShowKind(Enum):
    """What SHOW lists; the value is the words in SQL."""

    TABLES = "tables"
    INTERNAL_TABLES = "internal tables"
    MATERIALIZED_VIEWS = "materialized views"
    VIEWS = "views"
    SOURCES = "sources"
    SCHEMAS = "schemas"
    DATABASES = "databases"
    COLUMNS = "columns"
    PARAMETERS = "parameters"
    JOBS = "jobs"
    FUNCTIONS = "functions"
    INDEXES = "indexes"
    SINKS = "sinks"
    CREATE_SINK = "create sink"
    SUBSCRIPTIONS = "subscriptions"
    CREATE_SUBSCRIPTION = "create subscription"
    SUBSCRIPTION_CURSORS = "subscription cursors"
    CREATE_TABLE = "create table"
    CREATE_VIEW = "create view"
    CREATE_MATERIALIZED_VIEW = "create materialized view"
    CREATE_SOURCE = "create source"
    SECRETS = "secrets"
    CONNECTIONS = "connections"


@dataclass(frozen=True, slots=True)
class Show:
    """SHOW of catalog objects. `name` for COLUMNS FROM and CREATE …; `schema` of `FROM schema`; `like` a pattern."""

    kind: ShowKind
    name: ObjectName | None = None
    schema: str | None = None
    like: str | None = None


@dataclass(frozen=True, slots=True)
class ShowVariable:
    """SHOW name, SHOW ALL (name "all"). Names are in lower case; TIME ZONE is "timezone"."""

    name: str
    position: int = 1


@dataclass(frozen=True, slots=True)
class SetVariable:
    """SET, RESET. `values` is None for DEFAULT; RESET ALL has the name "all"."""

    name: str
    values: tuple[str, ...] | None
    local: bool = False
    position: int = 1


@dataclass(frozen=True, slots=True)
class Describe:
    """DESCRIBE and DESC, of a relation."""

    name: ObjectName


@dataclass(frozen=True, slots=True)
class WaitSink:
    """WAIT SINK: waits until the other side has what the sink's query has changed so far."""

    name: ObjectName


class CopyDirection(Enum):
    """Where COPY's rows come from or go to; files and programs of the server are not offered."""

    FROM_STDIN = "FROM STDIN"
    TO_STDOUT = "TO STDOUT"


@dataclass(frozen=True, slots=True)
class Copy:
    """`table`, `query` or `subscribe` is set. `options` are names in lower case with their values as written."""

    table: ObjectName | None
    columns: tuple[ColumnName, ...] | None
    query: Query | None
    direction: CopyDirection
    options: tuple[tuple[str, str], ...] = ()
    subscribe: Subscribe | None = None
    where: Expression | None = None  # of COPY FROM


@dataclass(frozen=True, slots=True)
class Discard:
    """DISCARD ALL | PLANS | SEQUENCES | TEMP."""

    what: str


@dataclass(frozen=True, slots=True)
class NoOperation:
    """What clients say and finds nothing to do here (SET TRANSACTION ISOLATION LEVEL …); `tag` answers."""

    tag: str


Statement = (
    AddPrimaryKey
    | AlterFunction
    | AlterTable
    | AlterRelation
    | AlterSource
    | AlterSourceColumns
    | AlterSink
    | AlterConnector
    | AlterConnection
    | AlterSecret
    | AlterSequence
    | AlterSubscription
    | AlterSystem
    | AlterDefaultPrivileges
    | AlterObjectOwner
    | AlterOwner
    | GrantPrivileges
    | AlterRole
    | CreateRole
    | DropOwned
    | DropRole
    | GrantRole
    | ReassignOwned
    | RevokeRole
    | CreateTable
    | CreateTableAs
    | CreateSource
    | CreateSink
    | CreateSecret
    | CommentOn
    | CreateConnection
    | CreateSequence
    | CreateSubscription
    | WaitSink
    | CreateView
    | CreateMaterializedView
    | CreateIndex
    | DatabaseStatement
    | AlterSettings
    | SchemaStatement
    | CallProcedure
    | CreateFunction
    | DropFunction
    | DropHidden
    | TypeStatement
    | Drop
    | Insert
    | Update
    | Delete
    | Merge
    | Truncate
    | Select
    | Explain
    | ExplainAnalyze
    | Show
    | ShowVariable
    | SetVariable
    | SetConstraints
    | SetTransaction
    | Describe
    | Flush
    | Backup
    | Begin
    | Commit
    | Rollback
    | Savepoint
    | ReleaseSavepoint
    | RollbackTo
    | Copy
    | Discard
    | Prepare
    | Execute
    | Deallocate
    | DeclareCursor
    | DeclareSubscriptionCursor
    | Fetch
    | Subscribe
    | CloseCursor
    | ChannelStatement
    | NoOperation
    | Maintenance
    | LockTable
    | Recover
    | JobStatement
)


@dataclass(frozen=True, slots=True)
class ParsedStatement:
    """A statement with its own text (no semicolon), which begins after `offset` characters of the whole text."""

    statement: Statement
    text: str
    offset: int
