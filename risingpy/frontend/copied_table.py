"""CREATE TABLE … FROM source TABLE 'name': the columns of a table that copies one of another system."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from risingpy.connectors.pushed import UpstreamColumn, UpstreamDescription
from risingpy.connectors.registry import is_pushed, pushed_connector_of
from risingpy.connectors.secrets.opened_options import opened
from risingpy.errors import (
    DatatypeMismatch,
    FeatureNotSupported,
    InvalidTableDefinition,
    SqlError,
    UndefinedColumn,
    UndefinedTable,
    WrongObjectType,
)
from risingpy.frontend.binder import TableDefinition, check_relation
from risingpy.frontend.binder.scope.uses import check_schema, denied
from risingpy.frontend.parser.ast import CopiedTable, CreateTable
from risingpy.frontend.statement_context import StatementContext
from risingpy.plan.catalog import ColumnDesc, ExternalSource, UpstreamTable
from risingpy.plan.catalog.acl import Privilege
from risingpy.plan.catalog.rights import privileges_of, securable
from risingpy.types import SqlType, TypeKind

_WIDER = {
    TypeKind.SMALLINT: (TypeKind.INTEGER, TypeKind.BIGINT, TypeKind.NUMERIC),
    TypeKind.INTEGER: (TypeKind.BIGINT, TypeKind.NUMERIC),
    TypeKind.BIGINT: (TypeKind.NUMERIC,),
    TypeKind.REAL: (TypeKind.DOUBLE,),
}
_CHARACTERS = (TypeKind.VARCHAR, TypeKind.CHARACTER)


def refuse_unsupported(statement: CreateTable) -> None:
    """Raises FeatureNotSupported for what a table that copies another cannot have."""
    for what in _unsupported(statement):
        message = f"{what} of a table that copies another is not supported"
        raise FeatureNotSupported(message, position=statement.name.position)


def copied_columns(
    session: StatementContext, copied: CopiedTable, defined: TableDefinition
) -> tuple[tuple[ColumnDesc, ...], tuple[int, ...], UpstreamTable]:
    """(columns, positions of the key, what is copied). Asks the other system, which makes its table ready.

    Raises SqlError if it does not answer, or if the columns that were `defined` are not those of its table.
    """
    source = _source(session, copied)
    try:
        options = opened(session.database.vault, session.database.reads.catalog.resolved(source))
        with options.masked_errors():
            upstream = pushed_connector_of(options.options).describe(copied.name)
        if not copied.all_columns:
            _refuse_null_in_key(defined.columns)
            _check(defined.columns, defined.primary_key, upstream)
    except SqlError as error:
        error.position = error.position or copied.position
        raise
    what = UpstreamTable(source.relation_id, upstream.name, upstream.shape, copied.all_columns)
    if copied.all_columns:
        check_relation(len(upstream.columns), copied.position)
        return _all_columns(upstream), _key(upstream), what
    return defined.columns, defined.primary_key, what


def _unsupported(statement: CreateTable) -> Iterator[str]:
    if statement.append_only:
        yield "APPEND ONLY"
    if statement.on_conflict is not None or statement.version_columns:
        yield "ON CONFLICT"
    if statement.watermark is not None:
        yield "WATERMARK"
    if statement.options:
        yield "WITH"
    for column in statement.columns:
        if column.default is not None or column.generated is not None or column.identity is not None:
            yield f'a value of its own for column "{column.name}"'


def _source(session: StatementContext, copied: CopiedTable) -> ExternalSource:
    name = copied.source
    check_schema(session.database.reads.catalog, session.identity.current_id, name.schema, name.position)
    found = session.database.reads.catalog.find(name.name, name.schema, session.search_path())
    if found is None:
        raise UndefinedTable(f'source "{name}" does not exist', position=name.position)
    if not isinstance(found, ExternalSource):
        raise WrongObjectType(f'"{name}" is not a source', position=name.position)
    catalog = session.database.reads.catalog
    if Privilege.SELECT not in privileges_of(catalog, session.identity.current_id, securable(catalog, found)):
        raise denied(found)
    if not is_pushed(dict(found.options)):
        hint = "Create a materialized view over it."
        raise FeatureNotSupported(f'source "{name}" has no tables to copy', position=name.position, hint=hint)
    return found


def _all_columns(upstream: UpstreamDescription) -> tuple[ColumnDesc, ...]:
    return tuple(
        ColumnDesc(i, column.name, column.type, column.not_null) for i, column in enumerate(upstream.columns, 1)
    )


def _key(upstream: UpstreamDescription) -> tuple[int, ...]:
    names = [column.name for column in upstream.columns]
    return tuple(names.index(name) for name in upstream.key)


def _check(columns: Sequence[ColumnDesc], key: Sequence[int], upstream: UpstreamDescription) -> None:
    """Raises unless the columns are some of the other table's, in types that take their values, with the same key."""
    known = {column.name: column for column in upstream.columns}
    for column in columns:
        found = known.get(column.name)
        if found is None:
            raise UndefinedColumn(f'column "{column.name}" does not exist in table "{upstream.name}" upstream')
        if not _takes(column.type, found):
            message = f'column "{column.name}" is of type {column.type} but upstream of type {found.shown_type}'
            raise DatatypeMismatch(message, hint=f"It can be {found.type} here.")
    given = {columns[index].name for index in key}
    if given != set(upstream.key):
        shown = ", ".join(upstream.key)
        hint = f"PRIMARY KEY ({shown})"
        raise InvalidTableDefinition(f'the primary key must be that of table "{upstream.name}" upstream', hint=hint)


def _refuse_null_in_key(columns: Sequence[ColumnDesc]) -> None:
    for column in columns:
        if column.null_in_key:  # the other system's key has none
            message = f'NULL in the primary key of a table that copies another is not supported: column "{column.name}"'
            raise FeatureNotSupported(message)


def _takes(type_: SqlType, upstream: UpstreamColumn) -> bool:
    """Whether the type takes all values of the other one, in their text form. A length is checked row by row."""
    if type_.kind in _CHARACTERS:
        return True
    if type_.kind is upstream.type.kind and type_.kind is not TypeKind.ARRAY:
        return True
    return type_ == upstream.type or type_.kind in _WIDER.get(upstream.type.kind, ())
