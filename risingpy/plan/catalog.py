"""The catalog as planners read it: an immutable snapshot of every relation.

The meta service (`meta/durable_state.py`) keeps and changes it; a statement is bound and planned against one snapshot.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

from risingpy.plan.expression_trees import columns_read
from risingpy.plan.expressions import Expr
from risingpy.plan.logical import LogicalPlan
from risingpy.plan.operators import ConflictBehavior
from risingpy.plan.properties import WatermarkColumn
from risingpy.storage.codec.table_schema import ColumnHistory, TableSchema
from risingpy.types import SqlType, TypeKind


class RelationKind(Enum):
    """The value is what messages call it."""

    TABLE = "table"
    MATERIALIZED_VIEW = "materialized view"
    VIEW = "view"
    SOURCE = "source"
    INDEX = "index"
    INTERNAL_TABLE = "internal table"


class JobStatus(Enum):
    CREATING = "creating"  # backfilling: not yet visible to queries
    CREATED = "created"
    FAILED = "failed"  # stopped by an error; its last answer can still be read


@dataclass(frozen=True, slots=True)
class Generated:
    """GENERATED ALWAYS AS (text): an expression whose `InputRef`s count by column id, so that ALTER leaves it alone."""

    text: str
    expression: Expr


@dataclass(frozen=True, slots=True)
class Identity:
    """GENERATED … AS IDENTITY, or a type serial: where a row says nothing the column's next number stands.

    `counter` is the number of the counter that hands them out; `always`: no other values are taken. The numbers are
    `start`, `start + increment` and so on, between `minimum` and `maximum`; None is what PostgreSQL takes for it.
    """

    counter: int
    always: bool
    start: int = 1
    increment: int = 1
    minimum: int | None = None
    maximum: int | None = None


@dataclass(frozen=True, slots=True)
class ColumnDesc:
    """A column of a relation. `default` is the SQL text of its DEFAULT; `history`: see `TableColumn`."""

    column_id: int
    name: str
    type: SqlType
    not_null: bool = False
    hidden: bool = False
    default: str | None = None
    history: ColumnHistory | None = None
    generated: Generated | None = None
    identity: Identity | None = None


@dataclass(frozen=True, slots=True)
class Watermark:
    """WATERMARK FOR a column AS text: rows are late that are below the expression's greatest value so far.

    The expression's `InputRef`s count by column id.
    """

    column_id: int
    text: str
    expression: Expr

    @property
    def columns_read(self) -> frozenset[int]:
        """The ids of the columns that it needs."""
        return frozenset({self.column_id, *columns_read(self.expression)})


@dataclass(frozen=True, slots=True)
class IndexKey:
    """What an index is ordered by. The expression's `InputRef`s count by column id of the indexed relation."""

    text: str
    expression: Expr
    descending: bool = False
    nulls_first: bool = False


@dataclass(frozen=True, slots=True)
class IndexDefinition:
    """An index of a table or materialized view.

    `include` are ids of columns that it has besides (None: all of them, also those to come). Its rows are spread by
    the first `distributed_by` keys.
    """

    relation_id: int
    keys: tuple[IndexKey, ...]
    include: tuple[int, ...] | None = None
    distributed_by: int = 1


@dataclass(frozen=True, slots=True)
class Relation:
    """A table, view, materialized view or source.

    `columns` are in storage order and include hidden ones (`_row_id`, stream key columns that the query does
    not select). `primary_key` are the declared key's positions (empty: `_row_id` is the key).
    `stream_key` are the positions of the key of its change stream. `table` is its stored form (None for
    views and sources). `definition` is the CREATE statement's text. `query` is the query's text for views
    and materialized views. `depends_on` are ids of relations that it reads. `options` are a source's WITH options.
    `version` changes with its columns. `next_column_id` is beyond every id that a column of it ever had (0: no column
    was ever dropped). `plan` is a view's query as it was bound when the view was created, kept up with changes of the
    tables that it reads; None if its meaning depends on the session that reads it, and then the text is bound.
    `on_conflict` is what a table does with a row whose key is there; `version_column` is the id of the column that says
    which of two rows of a key is newer. `functions` are ids of the user's functions that its query calls.
    `watermark` is what WATERMARK FOR says; `watermarks` are the columns that have one, also of a materialized view.
    """

    relation_id: int
    schema_name: str
    name: str
    kind: RelationKind
    columns: tuple[ColumnDesc, ...]
    definition: str
    primary_key: tuple[int, ...] = ()
    stream_key: tuple[int, ...] = ()
    append_only: bool = False
    table: TableSchema | None = None
    query: str | None = None
    depends_on: tuple[int, ...] = ()
    status: JobStatus = JobStatus.CREATED
    version: int = 0
    options: tuple[tuple[str, str], ...] = ()
    next_column_id: int = 0
    plan: LogicalPlan | None = None
    on_conflict: ConflictBehavior = ConflictBehavior.OVERWRITE
    version_column: int | None = None
    functions: tuple[int, ...] = ()
    index: IndexDefinition | None = None
    watermark: Watermark | None = None
    watermarks: tuple[WatermarkColumn, ...] = ()

    @property
    def never_retracts(self) -> bool:
        """Whether no row of this table is ever changed or taken back: a later row of a key must not replace it."""
        return self.append_only and (not self.primary_key or self.on_conflict is ConflictBehavior.IGNORE)

    @property
    def qualified_name(self) -> str:
        return f"{self.schema_name}.{self.name}"


class FunctionLanguage(Enum):
    """The value is the name after LANGUAGE."""

    SQL = "sql"
    PYTHON = "python"


class FunctionKind(Enum):
    """The value is what messages call it."""

    SCALAR = "function"
    TABLE = "table function"
    AGGREGATE = "aggregate"


@dataclass(frozen=True, slots=True)
class FunctionDesc:
    """CREATE FUNCTION or AGGREGATE. `argument_names` are empty where one has none; `body` is what AS or RETURN says.

    An `immutable` function gives the same for the same arguments, for ever. A `strict` one gives NULL for a NULL. With
    `batch` a Python function takes and gives Arrow arrays. A table function's `result` is a row's type, a struct for
    several columns; `column` is the name of its only column, empty for SETOF. `retracts`: whether an aggregate can take
    back a row from its state.
    """

    function_id: int
    schema_name: str
    name: str
    argument_names: tuple[str, ...]
    argument_types: tuple[SqlType, ...]
    result: SqlType
    language: FunctionLanguage
    body: str
    definition: str
    immutable: bool = False
    strict: bool = False
    batch: bool = False
    kind: FunctionKind = FunctionKind.SCALAR
    column: str = ""
    retracts: bool = False

    @property
    def shown(self) -> str:
        """`name(types)`, as messages call it."""
        return f"{self.name}({','.join(t.kind.value for t in self.argument_types)})"

    @property
    def result_text(self) -> str:
        """`integer`, `SETOF integer`, `TABLE(a integer, b text)`."""
        if self.kind is not FunctionKind.TABLE:
            return str(self.result)
        if self.result.kind is TypeKind.STRUCT:
            columns = zip(self.result.names, self.result.items, strict=True)
            return f"TABLE({', '.join(f'{name} {type_}' for name, type_ in columns)})"
        return f"TABLE({self.column} {self.result})" if self.column else f"SETOF {self.result}"


DEFAULT_SCHEMA = "public"
INTERNAL_PREFIX = "__internal_"  # of the names of state tables


@dataclass(frozen=True, slots=True)
class Catalog:
    """All relations and schemas at one version.

    `internal_tables`, by id, are the jobs' state tables: queries may name them, and nothing else may.
    """

    version: int = 0
    database: str = "dev"
    schemas: tuple[str, ...] = (DEFAULT_SCHEMA,)
    relations: Mapping[int, Relation] = field(default_factory=dict)
    internal_tables: Mapping[int, Relation] = field(default_factory=dict)
    functions: Mapping[int, FunctionDesc] = field(default_factory=dict)

    def functions_named(self, name: str, schema: str | None, search_path: tuple[str, ...]) -> list[FunctionDesc]:
        """The functions called `name` in `schema`, or in the first schema of the search path that has one."""
        for candidate in (schema,) if schema is not None else search_path:
            found = [f for f in self.functions.values() if f.name == name and f.schema_name == candidate]
            if found:
                return found
        return []

    def find(self, name: str, schema: str | None, search_path: tuple[str, ...]) -> Relation | None:
        """The relation called `name` in `schema`, or in the first schema of the search path that has it."""
        searched = [*self.relations.values()]
        if name.startswith(INTERNAL_PREFIX):
            searched += self.internal_tables.values()
        for candidate in (schema,) if schema is not None else search_path:
            for relation in searched:
                if relation.name == name and relation.schema_name == candidate:
                    return relation
        return None

    def get(self, relation_id: int) -> Relation | None:
        """The relation or internal table with this id."""
        return self.relations.get(relation_id) or self.internal_tables.get(relation_id)

    def dependents(self, relation_id: int) -> Iterator[Relation]:
        """The relations that read `relation_id` directly."""
        return (r for r in self.relations.values() if relation_id in r.depends_on)


GREATEST_INTEGERS = {TypeKind.SMALLINT: 2**15 - 1, TypeKind.INTEGER: 2**31 - 1, TypeKind.BIGINT: 2**63 - 1}


def identity_bounds(type_: SqlType, increment: int, minimum: int | None, maximum: int | None) -> tuple[int, int]:
    """The least and the greatest number: from 1 on upwards, from -1 on downwards, unless others are given."""
    end = GREATEST_INTEGERS[type_.kind]
    least, greatest = (1, end) if increment > 0 else (-end - 1, -1)
    return least if minimum is None else minimum, greatest if maximum is None else maximum
