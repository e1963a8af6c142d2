"""CREATE as data: one frozen class a kind of object."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum

from risingpy.connectors.formats.decoder import MessageFormat
from risingpy.frontend.parser.ast_constraints import ConstraintDefinition
from risingpy.frontend.parser.ast_parts import (
    ColumnDefinition,
    ColumnName,
    Expression,
    FunctionBody,
    ObjectName,
    OnCommit,
    Query,
    SequenceOptions,
    TypeName,
    WatermarkDefinition,
)
from risingpy.frontend.parser.ast_session import Execute
from risingpy.plan.operators import ConflictBehavior


@dataclass(frozen=True, slots=True)
class CopiedTable:
    """FROM source TABLE 'name': what a table copies. `all_columns`: its columns are those of the other table, (*)."""

    source: ObjectName
    name: str
    all_columns: bool
    position: int


class LikeOption(Enum):
    """What LIKE takes over besides names, types and NOT NULL. The last three say how PostgreSQL stores values."""

    COMMENTS = "COMMENTS"
    CONSTRAINTS = "CONSTRAINTS"
    DEFAULTS = "DEFAULTS"
    GENERATED = "GENERATED"
    IDENTITY = "IDENTITY"
    INDEXES = "INDEXES"
    COMPRESSION = "COMPRESSION"
    STATISTICS = "STATISTICS"
    STORAGE = "STORAGE"


@dataclass(frozen=True, slots=True)
class LikeClause:
    """LIKE table [INCLUDING …]. `place` is how many columns of the statement stand before it."""

    table: ObjectName
    including: frozenset[LikeOption]
    place: int


@dataclass(frozen=True, slots=True)
class OptionText:
    """An option's value as it is written, and where it stands."""

    text: str
    position: int


@dataclass(frozen=True, slots=True)
class CreateTable:
    """`primary_key`: the columns of a PRIMARY KEY table constraint; None if there is none.

    `on_conflict` is None unless said. `options`, `option_places`, `includes`, `message_format`, `all_columns`,
    `columns_place` and `references` are as in CreateSource; `validation` is VALIDATE [SECRET validation_secret] AS.
    `constraints` are all but the primary key, also those of columns; `key_name` is the name of the former's.
    `storage_parameters` are the names of those that PostgreSQL has for its files (fillfactor); they have no effect.
    `unlogged` has no effect either. `temporary` is CREATE TEMPORARY, `on_commit` is None unless said. The
    columns of `likes` are not among `columns`. `retention` is what WITH (retention_seconds = …) says, `ttl` what
    WITH (ttl = …) does, `row_timestamp` what WITH (row_timestamp = …) does.
    """

    name: ObjectName
    columns: tuple[ColumnDefinition, ...]
    primary_key: tuple[ColumnName, ...] | None = None
    append_only: bool = False
    if_not_exists: bool = False
    on_conflict: ConflictBehavior | None = None
    version_columns: tuple[ColumnName, ...] = ()
    watermark: WatermarkDefinition | None = None
    options: tuple[tuple[str, str], ...] = ()
    validation: Expression | None = None
    copied: CopiedTable | None = None
    includes: tuple[IncludeDefinition, ...] = ()
    message_format: MessageFormat | None = None
    option_places: tuple[OptionPlace, ...] = ()
    all_columns: bool = False
    columns_place: TextPlace | None = None
    storage_parameters: tuple[str, ...] = ()
    references: tuple[OptionReference, ...] = ()
    validation_secret: ObjectName | None = None
    constraints: tuple[ConstraintDefinition, ...] = ()
    key_name: str | None = None
    temporary: bool = False
    on_commit: OnCommit | None = None
    likes: tuple[LikeClause, ...] = ()
    unlogged: bool = False
    retention: OptionText | None = None
    ttl: OptionText | None = None
    row_timestamp: OptionText | None = None

    @property
    def is_fed(self) -> bool:
        """Whether a source feeds the table: it has options, and is not for webhooks."""
        return bool(self.options) and dict(self.options).get("connector") != "webhook"


@dataclass(frozen=True, slots=True)
class CreateTableAs:
    """CREATE [TEMPORARY | UNLOGGED] TABLE name [(columns)] [ON COMMIT …] AS query [WITH [NO] DATA], and SELECT INTO.

    In place of the query EXECUTE may stand.
    """

    name: ObjectName
    query: Query | Execute
    column_names: tuple[ColumnName, ...] = ()
    if_not_exists: bool = False
    with_data: bool = True
    storage_parameters: tuple[str, ...] = ()
    temporary: bool = False
    on_commit: OnCommit | None = None
    unlogged: bool = False


@dataclass(frozen=True, slots=True)
class IncludeDefinition:
    """A part of the message as a column. `name` is None without AS; `header` names one header."""

    part: str
    header: str | None
    header_type: TypeName | None
    name: ColumnName | None
    position: int


@dataclass(frozen=True, slots=True)
class TextPlace:
    """Where something stands in the text: begin and end (exclusive), in characters from 1."""

    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class OptionPlace:
    """Where an option's value stands in the text: begin and end (exclusive), in characters from 1.

    `is_reference`: it names a secret or connection.
    """

    name: str
    begin: int
    end: int
    is_reference: bool = False


@dataclass(frozen=True, slots=True)
class OptionReference:
    """`option = SECRET object [AS FILE]`, or `connection = object`. `of_format`: it stands after ENCODE."""

    option: str
    object: ObjectName
    of_format: bool
    is_connection: bool = False
    as_file: bool = False


@dataclass(frozen=True, slots=True)
class CreateSource:
    """`options` are those of WITH (…), in order, names in lower case; `references` name secrets and connections.

    `option_places` has the places of their values and of those after ENCODE. `all_columns`: `(*)`, the columns of the
    messages' schema besides those that are written. `columns_place` is that of the columns with their parentheses.
    """

    name: ObjectName
    columns: tuple[ColumnDefinition, ...]
    options: tuple[tuple[str, str], ...] = ()
    if_not_exists: bool = False
    watermark: WatermarkDefinition | None = None
    includes: tuple[IncludeDefinition, ...] = ()
    message_format: MessageFormat | None = None
    option_places: tuple[OptionPlace, ...] = ()
    all_columns: bool = False
    columns_place: TextPlace | None = None
    references: tuple[OptionReference, ...] = ()


@dataclass(frozen=True, slots=True)
class CreateSink:
    """CREATE SINK. Either `relation` is what it reads (FROM), or `query` (AS); the other one is None.

    `into` is the table of INTO, and `into_columns` are the columns of it that get the query's, in their order. The rest
    is as in CreateSource.
    """

    name: ObjectName
    relation: ObjectName | None
    query: Query | None
    options: tuple[tuple[str, str], ...] = ()
    if_not_exists: bool = False
    message_format: MessageFormat | None = None
    option_places: tuple[OptionPlace, ...] = ()
    into: ObjectName | None = None
    into_columns: tuple[ColumnName, ...] = ()
    references: tuple[OptionReference, ...] = ()


@dataclass(frozen=True, slots=True)
class CreateSequence:
    """CREATE [TEMPORARY] SEQUENCE name options."""

    name: ObjectName
    options: SequenceOptions
    if_not_exists: bool = False
    temporary: bool = False


@dataclass(frozen=True, slots=True)
class CreateSubscription:
    """CREATE SUBSCRIPTION. `relation` is what it follows; `options` and `option_places` are as in CreateSource."""

    name: ObjectName
    relation: ObjectName
    options: tuple[tuple[str, str], ...] = ()
    if_not_exists: bool = False
    option_places: tuple[OptionPlace, ...] = ()


@dataclass(frozen=True, slots=True)
class CreateView:
    """CREATE [TEMPORARY] VIEW. `column_names` may be fewer than the query's columns; the others keep their names."""

    name: ObjectName
    column_names: tuple[ColumnName, ...]
    query: Query
    if_not_exists: bool = False
    or_replace: bool = False
    temporary: bool = False


@dataclass(frozen=True, slots=True)
class CreateMaterializedView:
    """CREATE MATERIALIZED VIEW. `emit_on_window_close` keeps rows back until a watermark has passed them.

    `recursion_limit`: so many steps may a WITH RECURSIVE in it take. `with_no_data` is WITH NO DATA, without effect.
    `ttl`: for so long rows of what it reads count. `refresh_seconds`: it follows what it reads at such intervals alone.
    `backfill_rate_limit`: so many rows a second of what is there it reads, instead of the session's setting.
    """

    name: ObjectName
    column_names: tuple[ColumnName, ...]
    query: Query
    if_not_exists: bool = False
    emit_on_window_close: bool = False
    or_replace: bool = False
    recursion_limit: int | None = None
    with_no_data: bool = False
    ttl: OptionText | None = None
    refresh_seconds: int | None = None
    backfill_rate_limit: int | None = None
    without_effect: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class IndexElement:
    """A key of an index; `nulls_first` is None unless said. `operator_class` is the name of one, if one is named."""

    expression: Expression
    descending: bool = False
    nulls_first: bool | None = None
    operator_class: str | None = None


@dataclass(frozen=True, slots=True)
class CreateIndex:
    """`name` is None where the index is to be named for what it indexes; `include` is None unless said: all columns.

    `unique` and `nulls_distinct` are CREATE UNIQUE INDEX … NULLS [NOT] DISTINCT. `options` are those of an index of
    vectors (USING hnsw), None of every other one. `where` is the condition of rows that a partial index has.
    """

    name: ObjectName | None
    table: ObjectName
    keys: tuple[IndexElement, ...]
    include: tuple[ColumnName, ...] | None = None
    distributed_by: tuple[Expression, ...] = ()
    if_not_exists: bool = False
    storage_parameters: tuple[str, ...] = ()
    unique: bool = False
    nulls_distinct: bool = True
    options: tuple[tuple[str, str], ...] | None = None
    where: Expression | None = None
    concurrently: bool = False


@dataclass(frozen=True, slots=True)
class CreateSecret:
    """CREATE SECRET. `option_places` has the place of the value."""

    name: ObjectName
    backend: str
    value: str
    position: int
    if_not_exists: bool = False
    option_places: tuple[OptionPlace, ...] = ()


@dataclass(frozen=True, slots=True)
class CreateConnection:
    """CREATE CONNECTION. The rest is as in CreateSource."""

    name: ObjectName
    options: tuple[tuple[str, str], ...]
    if_not_exists: bool = False
    option_places: tuple[OptionPlace, ...] = ()
    references: tuple[OptionReference, ...] = ()


@dataclass(frozen=True, slots=True)
class FunctionArgument:
    """`name` is empty where only the type is given. `mode` is IN, OUT, INOUT or VARIADIC."""

    name: str
    type: TypeName
    default: Expression | None = None
    mode: str = "IN"


@dataclass(frozen=True, slots=True)
class CreateFunction:
    """`columns` are those of RETURNS TABLE, one without a name for RETURNS SETOF; `returns` is None then, and for a
    `procedure`. A function with OUT and INOUT arguments gives these: `signature` has all arguments in their order then,
    `arguments` those of a call, `columns` what comes for SETOF; else they are the fields of the result, or it itself.
    """

    name: ObjectName
    arguments: tuple[FunctionArgument, ...]
    returns: TypeName | None
    language: str
    body: FunctionBody
    immutable: bool = False
    strict: bool = False
    batch: bool = False
    or_replace: bool = False
    if_not_exists: bool = False
    columns: tuple[FunctionArgument, ...] = ()
    aggregate: bool = False
    procedure: bool = False
    signature: tuple[FunctionArgument, ...] = ()

    @property
    def variadic(self) -> bool:
        """Whether the last argument is a VARIADIC one."""
        return bool(self.arguments) and self.arguments[-1].mode == "VARIADIC"

    @property
    def follows_names(self) -> bool:
        """Whether the body names objects in the text itself, as a view's query does."""
        return self.body.unquoted and not self.procedure

    @property
    def results(self) -> tuple[FunctionArgument, ...]:
        """What the function gives, perhaps under names."""
        if self.returns is not None:
            return (FunctionArgument("", self.returns),)
        return self.columns or outputs_of(self.signature)


def outputs_of(arguments: Iterable[FunctionArgument]) -> tuple[FunctionArgument, ...]:
    """The OUT and INOUT ones, with the names that PostgreSQL gives those without one."""
    found = [each for each in arguments if each.mode in ("OUT", "INOUT")]
    return tuple(replace(each, name=each.name or f"column{number}") for number, each in enumerate(found, 1))


@dataclass(frozen=True, slots=True)
class CallProcedure:
    """CALL: `call` is written as a function's."""

    call: Expression
