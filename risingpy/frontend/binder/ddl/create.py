"""CREATE TABLE, CREATE SOURCE and CREATE VIEW: columns, keys, defaults and the queries of views."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from risingpy.connectors.included_columns import IncludedColumn
from risingpy.errors import (
    DatatypeMismatch,
    DuplicateColumn,
    FeatureNotSupported,
    InvalidTableDefinition,
    SqlError,
    SyntaxError_,
    UndefinedColumn,
)
from risingpy.frontend.binder.column_limits import check_relation, check_types
from risingpy.frontend.binder.ddl.generated import refuse_processing_time, with_generated
from risingpy.frontend.binder.ddl.identity import identity_of, identity_type, next_number, refuse_identity
from risingpy.frontend.binder.ddl.included import included_names, with_included
from risingpy.frontend.binder.ddl.named_sequences import default_context, refuse_system_but_sequences, stored_default
from risingpy.frontend.binder.ddl.watermark import bind_watermark
from risingpy.frontend.binder.ddl.webhook import bind_webhook
from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.query.query import BoundQuery, bind_query
from risingpy.frontend.binder.query.row_timestamp import refuse_row_timestamp
from risingpy.frontend.binder.scope.columns import ROW_TIME, Scope
from risingpy.frontend.binder.scope.context import BindContext, SessionValues, depth_limited, refuse_system
from risingpy.frontend.binder.statement import make_context
from risingpy.frontend.binder.trees import position_of
from risingpy.frontend.binder.typing.coercion import Context, can_coerce
from risingpy.frontend.binder.typing.collations import check_collation
from risingpy.frontend.binder.typing.domain_names import domain_named, refuse_domain, shows_text
from risingpy.frontend.binder.typing.type_names import KnownTypes, is_text_name, resolve_type
from risingpy.frontend.parser.ast import (
    ColumnDefinition,
    ColumnName,
    CreateMaterializedView,
    CreateSource,
    CreateTable,
    CreateView,
    Expression,
)
from risingpy.frontend.parser.connectors.source import no_key_of_source
from risingpy.frontend.parser.parse import parse_expression
from risingpy.optimizer.rewrite import rewrite_plan
from risingpy.optimizer.rules.apply_to_join import apply_to_join
from risingpy.optimizer.rules.column_pruning import column_pruning
from risingpy.optimizer.rules.project_merge import project_merge
from risingpy.optimizer.rules.subqueries_to_apply import subqueries_to_apply
from risingpy.plan.catalog import Catalog, ColumnDesc, Relation, Watermark, Webhook, is_of_session
from risingpy.plan.catalog.columns import ROW_ID
from risingpy.plan.catalog.domains import domain_default
from risingpy.plan.expressions import Expr
from risingpy.plan.logical import LogicalPlan, Scan
from risingpy.plan.operators import ConflictBehavior
from risingpy.types import SqlType, TypeKind
from risingpy.types.system_types import NAME

_VERSION_TYPES = frozenset(
    {
        *(TypeKind.SMALLINT, TypeKind.INTEGER, TypeKind.BIGINT, TypeKind.NUMERIC, TypeKind.REAL, TypeKind.DOUBLE),
        *(TypeKind.DATE, TypeKind.TIME, TypeKind.TIMESTAMP, TypeKind.TIMESTAMPTZ, TypeKind.VARCHAR),
        TypeKind.TIMESTAMP_NS,
    }
)
_SYSTEM_COLUMNS = ("tableoid", "xmin", "cmin", "xmax", "cmax", "ctid", ROW_ID, ROW_TIME)


@dataclass(frozen=True, slots=True)
class TableDefinition:
    """What CREATE TABLE or CREATE SOURCE defines: columns with ids from 1, no `_row_id`, and the key's positions.

    `version_columns` are columns' ids. `included` are the columns that INCLUDE has added.
    """

    columns: tuple[ColumnDesc, ...]
    primary_key: tuple[int, ...]
    on_conflict: ConflictBehavior = ConflictBehavior.OVERWRITE
    version_columns: tuple[int, ...] = ()
    watermark: Watermark | None = None
    included: tuple[IncludedColumn, ...] = ()
    webhook: Webhook | None = None


@dataclass(frozen=True, slots=True)
class BoundView:
    """A view's query and the names of its columns: the list's names first, then the query's own."""

    query: BoundQuery
    column_names: tuple[str, ...]

    @property
    def columns(self) -> tuple[ColumnDesc, ...]:
        query = self.query
        fields = zip(self.column_names, query.fields, query.texts, query.column_domains, strict=True)
        return tuple(
            ColumnDesc(i, name, field.type, as_text=is_text, domain=domain)
            for i, (name, field, is_text, domain) in enumerate(fields, 1)
        )


@depth_limited
def bind_table(
    statement: CreateTable | CreateSource,
    catalog: Catalog | None = None,
    search_path: Sequence[str] = (),
    *,
    session: SessionValues | None = None,
) -> TableDefinition:
    """Types, NOT NULL, defaults (checked, kept as text) and the primary key. Names the mistake where there is one.

    Defaults may name sequences of the catalog.
    """
    context = default_context(catalog or Catalog(), search_path, session)
    check_relation(len(statement.columns), statement.name.position)
    seen: set[str] = set()
    for column in statement.columns:
        if column.name in seen:
            raise DuplicateColumn(f'column "{column.name}" specified more than once', position=column.position)
        check_column_name(column)
        seen.add(column.name)
    key = _primary_key(statement)
    types = KnownTypes(catalog or Catalog(), tuple(search_path))
    columns = tuple(
        _column(context, types, i, column, table=statement.name.name, in_key=i - 1 in key)
        for i, column in enumerate(statement.columns, 1)
    )
    # Nothing but a DEFAULT may name a sequence.
    context = make_context((catalog or Catalog()).only_types(), search_path, (), session)
    columns = with_generated(context, statement, columns)
    refuse_processing_time(statement, columns, [i for i in key if i < len(columns)])
    if isinstance(statement, CreateSource):
        for column in statement.columns:
            refuse_domain(column.type.text, column.type.position, context.types, "a source's column")
        refuse_identity(statement, columns)
        columns, included = with_included(statement, columns)
        check_relation(len(columns), statement.name.position)
        return TableDefinition(columns, key, watermark=bind_watermark(context, statement, columns), included=included)
    columns, included = with_included(statement, columns)
    check_relation(len(columns), statement.name.position)
    watermark, webhook = bind_watermark(context, statement, columns), bind_webhook(context, statement, columns)
    conflict, version_columns = _on_conflict(statement, columns, key)
    return TableDefinition(columns, key, conflict, version_columns, watermark, included, webhook)


def _on_conflict(
    statement: CreateTable, columns: Sequence[ColumnDesc], key: tuple[int, ...]
) -> tuple[ConflictBehavior, tuple[int, ...]]:
    """What the table does with a row whose key is there, and the ids of its version columns."""
    behavior = statement.on_conflict or ConflictBehavior.OVERWRITE
    is_final = statement.watermark is not None and (statement.append_only or not statement.watermark.ttl)
    if is_final and key:  # what has been passed on as final stays
        behavior = ConflictBehavior.IGNORE
    if not key and (statement.on_conflict is not None or statement.version_columns):
        raise InvalidTableDefinition("ON CONFLICT needs a primary key", position=statement.name.position)
    versions: list[int] = []
    for each in statement.version_columns:
        versions.append(_version_column(each, columns))
        if versions[-1] in versions[:-1]:
            message = f'column "{each.name}" appears twice among the version columns'
            raise DuplicateColumn(message, position=each.position)
    if versions and behavior is ConflictBehavior.IGNORE:
        message = "WITH VERSION COLUMN needs ON CONFLICT DO UPDATE: with DO NOTHING no later row counts"
        raise InvalidTableDefinition(message, position=statement.version_columns[0].position)
    return behavior, tuple(versions)


def _version_column(named: ColumnName, columns: Sequence[ColumnDesc]) -> int:
    """The id of a version column. Raises UndefinedColumn, and DatatypeMismatch for a type without such an order."""
    column = next((column for column in columns if column.name == named.name), None)
    if column is None:
        raise UndefinedColumn(f'version column "{named.name}" does not exist', position=named.position)
    if column.type.kind not in _VERSION_TYPES:
        message = f'version column "{named.name}" cannot be of type {column.type}'
        hint = "Numbers, dates, times and text can be compared."
        raise DatatypeMismatch(message, position=named.position, hint=hint)
    return column.column_id


def check_column_name(column: ColumnDefinition | ColumnName) -> None:
    """Raises 42701 for a name that the system has taken."""
    if column.name in _SYSTEM_COLUMNS:
        message = f'column name "{column.name}" conflicts with a system column name'
        raise DuplicateColumn(message, position=column.position)


def refuse_null_twice(column: ColumnDefinition, table: str, *, is_not_null: bool) -> None:
    """Raises 42601 for a column that says NULL, and that other words keep from being NULL."""
    if column.says_null and is_not_null:
        message = f'conflicting NULL/NOT NULL declarations for column "{column.name}" of table "{table}"'
        raise SyntaxError_(message, position=column.position)


def _primary_key(statement: CreateTable | CreateSource) -> tuple[int, ...]:
    names = [column.name for column in statement.columns] + included_names(statement)
    inline = tuple(i for i, column in enumerate(statement.columns) if column.primary_key)
    constraint = statement.primary_key if isinstance(statement, CreateTable) else None
    if inline and isinstance(statement, CreateSource):
        raise no_key_of_source(statement.columns[inline[0]].position)
    if constraint is None:
        return inline
    key: list[int] = []
    for column in constraint:
        if column.name not in names:
            raise UndefinedColumn(f'column "{column.name}" named in key does not exist', position=column.position)
        if names.index(column.name) in key:
            message = f'column "{column.name}" appears twice in primary key constraint'
            raise DuplicateColumn(message, position=column.position)
        key.append(names.index(column.name))
    if inline:
        message = f'multiple primary keys for table "{statement.name.name}" are not allowed'
        raise InvalidTableDefinition(message, position=statement.name.position)
    return tuple(key)


def _column(
    context: BindContext, types: KnownTypes, column_id: int, column: ColumnDefinition, *, table: str, in_key: bool
) -> ColumnDesc:
    identity = identity_of(column, table)
    refuse_null_twice(column, table, is_not_null=column.not_null or identity is not None)
    if identity is not None:
        return ColumnDesc(column_id, column.name, identity_type(column), not_null=True, identity=identity)
    sql_type = column.type.resolved or resolve_type(column.type.text, column.type.position, types)
    domain = column.type.domain if column.type.resolved else domain_named(column.type.text, context.types)
    if column.collation is not None:
        check_collation(column.collation.name, sql_type, column.collation.position)
    text, sequences = None, tuple[int, ...]()
    if column.default is not None:
        bound = bound_default(context, column.default, column.name, sql_type)
        text, sequences = stored_default(context, column.default, bound)
    null_in_key = in_key and column.says_null
    not_null = column.not_null or (in_key and not null_in_key)
    shown = is_text_name(column.type.text) if domain is None else shows_text(domain, context.types.catalog)
    return ColumnDesc(
        *(column_id, column.name, sql_type, not_null),
        default=text,
        sequences=sequences,
        as_text=shown,
        domain=domain,
        null_in_key=null_in_key,
    )


def bound_default(context: BindContext, default: Expression, name: str, sql_type: SqlType) -> Expr:
    """A DEFAULT's expression as a value of the column."""
    for column in default.tree.find_all(exp.Column):
        raise FeatureNotSupported("cannot use column reference in DEFAULT expression", position=position_of(column))
    operand = ExpressionBinder(context, Scope(), "DEFAULT expressions").bind(default.tree)
    refuse_system_but_sequences(context, "a DEFAULT")
    if not can_coerce(operand.type, sql_type, Context.ASSIGNMENT):
        wanted, given = sql_type.name, operand.type.name
        message = f'column "{name}" is of type {wanted} but default expression is of type {given}'
        hint = "You will need to rewrite or cast the expression."
        raise DatatypeMismatch(message, position=operand.position, hint=hint)
    return context.coercer.assign(operand, sql_type)


def bind_default(column: ColumnDesc, catalog: Catalog, *, session: SessionValues | None = None) -> Expr | None:
    """The expression of a column's stored DEFAULT or of its numbers, without input columns; None if it has none.

    That of its domain serves a column without one. It may name the catalog's types, with their schemas.
    """
    if column.identity is not None:
        return next_number(column, column.identity)
    text = column.default
    if text is None and column.domain is not None and not column.domain.dimensions(column.type):
        text = domain_default(column.domain, catalog.types)
    if text is None:
        return None
    context = make_context(catalog.only_types(), (), (), session)
    return bound_default(context, parse_expression(text), column.name, column.type)


def bind_view(
    statement: CreateView | CreateMaterializedView,
    catalog: Catalog,
    search_path: Sequence[str],
    *,
    session: SessionValues | None = None,
    are_called: bool = True,
) -> BoundView:
    """The query of a view; parameters cannot stand in it.

    Its output columns need distinct names (42701), if they `are_called` by them: those of a sink into a table are not.
    """
    is_read = isinstance(statement, CreateMaterializedView)  # a plain view is read when somebody asks
    query = bind_query(statement.query, catalog, search_path, session=session, is_read=is_read)
    if query.parameter_types:
        raise SqlError("there is no parameter $1", sqlstate="42P02", position=statement.query.position)
    what = "CREATE VIEW" if isinstance(statement, CreateView) else "CREATE MATERIALIZED VIEW"
    # A plain view stores no value: what stands beside current_user may be a name there, as a dump writes it.
    may_name = isinstance(statement, CreateView)
    refuse_system([use for use in query.system_uses if not (may_name and use.name == NAME.name)], "a view")
    refuse_row_timestamp(statement.query.tree, what, statement.query.position)
    if any(dependency in catalog.internal_tables for dependency in query.dependencies):
        message = f"{what} does not support internal tables"
        raise FeatureNotSupported(message, position=statement.query.position)
    if len(statement.column_names) > len(query.fields):
        raise SyntaxError_(f"{what} specifies more column names than columns", position=statement.name.position)
    check_relation(len(query.fields), statement.name.position)
    names = [column.name for column in statement.column_names]
    names += [field.name for field in query.fields[len(names) :]]
    check_types(zip(names, (field.type for field in query.fields), strict=True), statement.query.position)
    if not are_called:
        return BoundView(query, tuple(names))
    if isinstance(statement, CreateMaterializedView):  # it is stored like a table: a plain view takes any name
        for name in names:
            if name != ROW_ID:  # which a query may select
                check_column_name(ColumnName(name, statement.query.position))
    for i, name in enumerate(names):
        if name in names[:i]:
            raise DuplicateColumn(f'column "{name}" specified more than once', position=statement.query.position)
    return BoundView(query, tuple(names))


def bind_stored_plan(
    statement: CreateView, catalog: Catalog, search_path: Sequence[str], *, session: SessionValues
) -> LogicalPlan | None:
    """A plain view's query, to be kept: it goes on meaning what it means now, whatever becomes of names and stars.

    None if it depends on the session (current_user, its time zone): then the text is bound for each reader.
    """
    zone = "Asia/Kathmandu" if session.time_zone == "UTC" else "UTC"
    mine = bind_view(statement, catalog, search_path, session=session)
    another = SessionValues("", "", database="", schema=None, version="", time_zone=zone, check=session.check)
    if any(is_of_session(catalog.relations[each]) for each in mine.query.dependencies if each in catalog.relations):
        another = replace(another, temporary_schema=session.temporary_schema)  # no other session reads such a view
    its = bind_view(statement, catalog, search_path, session=another)
    if mine.query.plan != its.query.plan:
        return None
    plan = column_pruning(apply_to_join(subqueries_to_apply(mine.query.plan)))
    return rewrite_plan(project_merge(plan), _without_facts)  # else a view over views would be as deep as they are many


def _without_facts(plan: LogicalPlan) -> LogicalPlan:
    return replace(plan, not_null=()) if isinstance(plan, Scan) else plan


def visible_columns(relation: Relation) -> list[int]:
    """The positions of the columns that the user knows."""
    return [i for i, column in enumerate(relation.columns) if not column.hidden]
