"""Statements as data: what `parse` gives, one frozen class a statement.

Names are folded already (unquoted ones to lower case). Every `position` counts characters of the whole text
that the client sent, from 1. Queries and expressions inside stay sqlglot trees (`Query.tree`, `Expression.tree`),
which only the parser and the binder read.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from risingpy.frontend.parser.ast_alter import AlterAction as AlterAction
from risingpy.frontend.parser.ast_alter import AlterRelation as AlterRelation
from risingpy.frontend.parser.ast_alter import AlterSystem as AlterSystem
from risingpy.frontend.parser.ast_alter import AlterTable as AlterTable
from risingpy.frontend.parser.ast_parts import ColumnDefinition as ColumnDefinition
from risingpy.frontend.parser.ast_parts import ColumnName as ColumnName
from risingpy.frontend.parser.ast_parts import Expression as Expression
from risingpy.frontend.parser.ast_parts import ObjectName as ObjectName
from risingpy.frontend.parser.ast_parts import Query as Query
from risingpy.frontend.parser.ast_parts import TypeName as TypeName
from risingpy.frontend.parser.ast_parts import WatermarkDefinition as WatermarkDefinition
from risingpy.optimizer.catalog import RelationKind
from risingpy.optimizer.explain_tree import ExplainFormat
from risingpy.optimizer.plan import ConflictBehavior


@dataclass(frozen=True, slots=True)
class CreateTable:
    """`primary_key`: the columns of a PRIMARY KEY table constraint; None if there is none.

    `on_conflict` is None unless said.
    """

    name: ObjectName
    columns: tuple[ColumnDefinition, ...]
    primary_key: tuple[ColumnName, ...] | None = None
    append_only: bool = False
    if_not_exists: bool = False
    on_conflict: ConflictBehavior | None = None
    version_column: ColumnName | None = None
    watermark: WatermarkDefinition | None = None


@dataclass(frozen=True, slots=True)
class CreateSource:
    """`options` are those of WITH (…), in order, names in lower case."""

    name: ObjectName
    columns: tuple[ColumnDefinition, ...]
    options: tuple[tuple[str, str], ...] = ()
    if_not_exists: bool = False
    watermark: WatermarkDefinition | None = None


@dataclass(frozen=True, slots=True)
class CreateView:
    name: ObjectName
    column_names: tuple[ColumnName, ...]
    query: Query
    if_not_exists: bool = False
    or_replace: bool = False


@dataclass(frozen=True, slots=True)
class CreateMaterializedView:
    name: ObjectName
    column_names: tuple[ColumnName, ...]
    query: Query
    if_not_exists: bool = False
    emit_on_window_close: bool = False


@dataclass(frozen=True, slots=True)
class IndexElement:
    """A key of an index; `nulls_first` is None unless said."""

    expression: Expression
    descending: bool = False
    nulls_first: bool | None = None


@dataclass(frozen=True, slots=True)
class CreateIndex:
    """`name` is None where the index is to be named for what it indexes; `include` is None unless said: all columns."""

    name: ObjectName | None
    table: ObjectName
    keys: tuple[IndexElement, ...]
    include: tuple[ColumnName, ...] | None = None
    distributed_by: tuple[Expression, ...] = ()
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class CreateSchema:
    name: str
    if_not_exists: bool = False
    position: int = 1


@dataclass(frozen=True, slots=True)
class DropSchema:
    names: tuple[str, ...]
    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True, slots=True)
class Drop:
    """DROP TABLE, VIEW, MATERIALIZED VIEW or SOURCE."""

    kind: RelationKind
    names: tuple[ObjectName, ...]
    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True, slots=True)
class FunctionArgument:
    """`name` is empty where only the type is given."""

    name: str
    type: TypeName


@dataclass(frozen=True, slots=True)
class CreateFunction:
    """`body` is the text of AS, or of the expression after RETURN (then `returns_expression`).

    `columns` are those of RETURNS TABLE, one without a name for RETURNS SETOF; `returns` is None then.
    """

    name: ObjectName
    arguments: tuple[FunctionArgument, ...]
    returns: TypeName | None
    language: str
    body: str
    body_position: int
    returns_expression: bool = False
    immutable: bool = False
    strict: bool = False
    batch: bool = False
    or_replace: bool = False
    if_not_exists: bool = False
    columns: tuple[FunctionArgument, ...] = ()
    aggregate: bool = False


@dataclass(frozen=True, slots=True)
class DropFunction:
    """Each function with its argument types, None where there is no list; or `aggregate`."""

    functions: tuple[tuple[ObjectName, tuple[FunctionArgument, ...] | None], ...]
    if_exists: bool = False
    cascade: bool = False
    aggregate: bool = False


@dataclass(frozen=True, slots=True)
class Insert:
    """`columns` is None without a column list; `source` is None for DEFAULT VALUES."""

    table: ObjectName
    alias: str | None
    columns: tuple[ColumnName, ...] | None
    source: Query | None
    returning: tuple[Expression, ...] | None = None


@dataclass(frozen=True, slots=True)
class Assignment:
    """`column = value`; `value` is None for DEFAULT.

    Of `(a, b) = (SELECT …)` each column has an assignment: `field` is its (index, number of columns).
    """

    column: ColumnName
    value: Expression | None
    field: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Update:
    table: ObjectName
    alias: str | None
    assignments: tuple[Assignment, ...]
    where: Expression | None
    returning: tuple[Expression, ...] | None = None


@dataclass(frozen=True, slots=True)
class Delete:
    table: ObjectName
    alias: str | None
    where: Expression | None
    returning: tuple[Expression, ...] | None = None


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
    statement: Statement
    verbose: bool = False
    analyze: bool = False
    kind: ExplainKind = ExplainKind.PHYSICAL
    format: ExplainFormat = ExplainFormat.TEXT


@dataclass(frozen=True, slots=True)
class ExplainAnalyze:
    """EXPLAIN ANALYZE MATERIALIZED VIEW name: what a running job's operators do. `words` say what is named.

    Over the next `seconds`, or since the server started.
    """

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
    CREATE_TABLE = "create table"
    CREATE_VIEW = "create view"
    CREATE_MATERIALIZED_VIEW = "create materialized view"
    CREATE_SOURCE = "create source"


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
    name: ObjectName


@dataclass(frozen=True, slots=True)
class Flush:
    pass


@dataclass(frozen=True, slots=True)
class Backup:
    """BACKUP TO 'directory', which is the server's."""

    directory: str


@dataclass(frozen=True, slots=True)
class Begin:
    """`read_only` is None unless said."""

    read_only: bool | None = None
    isolation: str | None = None


@dataclass(frozen=True, slots=True)
class Commit:
    pass


@dataclass(frozen=True, slots=True)
class Rollback:
    pass


class CopyDirection(Enum):
    FROM_STDIN = "FROM STDIN"
    TO_STDOUT = "TO STDOUT"


@dataclass(frozen=True, slots=True)
class Copy:
    """`table` or `query` is set. `options` are names in lower case with their values as written, in order."""

    table: ObjectName | None
    columns: tuple[ColumnName, ...] | None
    query: Query | None
    direction: CopyDirection
    options: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Discard:
    """DISCARD ALL | PLANS | SEQUENCES | TEMP."""

    what: str


@dataclass(frozen=True, slots=True)
class Deallocate:
    """DEALLOCATE name; `name` is None for ALL."""

    name: str | None


@dataclass(frozen=True, slots=True)
class NoOperation:
    """What drivers send to reset a connection and finds nothing to do here (CLOSE ALL, UNLISTEN *); `tag` answers."""

    tag: str


Statement = (
    AlterTable
    | AlterRelation
    | AlterSystem
    | CreateTable
    | CreateSource
    | CreateView
    | CreateMaterializedView
    | CreateIndex
    | CreateSchema
    | CreateFunction
    | DropFunction
    | DropSchema
    | Drop
    | Insert
    | Update
    | Delete
    | Select
    | Explain
    | ExplainAnalyze
    | Show
    | ShowVariable
    | SetVariable
    | Describe
    | Flush
    | Backup
    | Begin
    | Commit
    | Rollback
    | Copy
    | Discard
    | Deallocate
    | NoOperation
)


@dataclass(frozen=True, slots=True)
class ParsedStatement:
    """A statement with its own text (no semicolon), which begins after `offset` characters of the whole text."""

    statement: Statement
    text: str
    offset: int
