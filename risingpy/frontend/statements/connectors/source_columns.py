"""ALTER SOURCE … ADD COLUMN and ALTER SOURCE | TABLE … REFRESH SCHEMA: later messages are read into more columns.

What is there already stays: views of a source keep their columns, and a table's rows have NULL in the new ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from risingpy.connectors.formats.schema_options import TEXT, with_text
from risingpy.connectors.formats.source_schema import has_schema, schema_columns, with_schema
from risingpy.connectors.secrets.opened_options import OpenedOptions, opened
from risingpy.errors import DuplicateColumn, FeatureNotSupported, SqlError, WrongObjectType
from risingpy.frontend.binder import BoundAlterTable, bind_source_column, check_relation
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.parser import parse
from risingpy.frontend.parser.ast import CreateSource, ParsedStatement
from risingpy.frontend.parser.ast_alter import AddColumn, AlterSourceColumns
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.alter_table import altered_relation, replace_altered
from risingpy.frontend.statements.connectors.source_options import check_source_columns
from risingpy.frontend.statements.placing import known_types
from risingpy.frontend.table_definition import column_definition
from risingpy.meta.schema.sources import with_source_columns
from risingpy.optimizer.table_change import with_column
from risingpy.plan.catalog import ColumnDesc, ExternalSource, Table
from risingpy.types import SqlType


def bind(
    session: StatementContext,
    parsed: ParsedStatement,
    statement: AlterSourceColumns,
    parameter_types: Sequence[SqlType],
) -> Command:
    """The source is found when it runs; its messages' schema is read then."""

    def run(parameters: Parameters) -> Result:
        relation = altered_relation(session, statement.name, if_exists=statement.if_exists)
        tag = CommandTag(f"ALTER {statement.kind.noun.upper()}")
        if relation is None:
            return Result(tag)
        source = relation.source if isinstance(relation, Table) else relation
        if not isinstance(relation, statement.kind) or not isinstance(source, ExternalSource):
            raise WrongObjectType(f'"{relation.name}" is not a source', position=statement.name.position)
        vault, catalog = session.database.vault, session.database.reads.catalog
        options = opened(vault, catalog.resolved(source))
        try:
            if statement.added is not None:
                altered = _with_added(session, source, statement.added)
            else:
                altered = _refreshed(source, options)
            if altered is not source:
                check_source_columns(altered, options)
        except SqlError as error:
            error.position = error.position or statement.position
            raise
        if altered is not source:
            _replace(session, relation, source, altered)
        return Result(tag)

    return Command(run)


def _replace(session: StatementContext, relation: object, source: ExternalSource, altered: ExternalSource) -> None:
    if isinstance(relation, Table):
        table = replace(relation, source=replace(source, message_format=altered.message_format))
        for column in altered.columns[len(source.columns) - 1 : -1]:
            table = with_column(table, column, None)
        replace_altered(session, relation, BoundAlterTable(table, (), (), cascade=False))
        return
    session.ddl.change(lambda state: with_source_columns(state, source, altered), session.cancelled)


def _with_added(session: StatementContext, source: ExternalSource, action: AddColumn) -> ExternalSource:
    column = bind_source_column(action.column, source.name, known_types(session))
    if any(each.name == column.name for each in source.columns):
        message = f'column "{column.name}" of relation "{source.name}" already exists'
        if not action.if_not_exists:
            raise DuplicateColumn(message, position=action.column.position)
        session.notice(f"{message}, skipping")
        return source
    if source.message_format is not None and has_schema(source.message_format):
        message = "the columns of a source whose messages have a schema are those of the schema"
        raise FeatureNotSupported(message, hint=f"ALTER SOURCE {source.name} REFRESH SCHEMA takes in new ones.")
    return _with_columns(source, [column])


def _refreshed(source: ExternalSource, options: OpenedOptions) -> ExternalSource:
    """The source with its messages' schema as it is now. Raises FeatureNotSupported if columns are gone or changed."""
    message_format = source.message_format
    if message_format is None or not has_schema(message_format):
        raise FeatureNotSupported("REFRESH SCHEMA is for sources whose messages have a schema: AVRO and PROTOBUF")
    assert options.message_format is not None
    with options.masked_errors():
        opened_format = with_schema(options.message_format, options.options)
    found = dict(schema_columns(opened_format))
    message_format = with_text(message_format, dict(opened_format.options)[TEXT])
    included = {column.column_id for column in source.included}
    own = [c for c in source.columns[:-1] if c.column_id not in included and c.generated is None and not c.hidden]
    lost = [column.name for column in own if column.name not in found]
    if lost:
        message = f"the schema has no longer: {', '.join(lost)}"
        raise FeatureNotSupported(message, hint="A view may read them: create another source.")
    taken = {column.name for column in source.columns}
    added = [ColumnDesc(0, name, type_) for name, type_ in found.items() if name not in taken]
    renewed = replace(source, message_format=message_format)
    return _with_columns(renewed, added)


def _with_columns(source: ExternalSource, added: Sequence[ColumnDesc]) -> ExternalSource:
    """The source with more columns before its row id, in its definition too."""
    first = 1 + max(column.column_id for column in source.columns)
    numbered = [replace(column, column_id=first + k) for k, column in enumerate(added)]
    columns = (*source.columns[:-1], *numbered, source.columns[-1])
    check_relation(sum(not column.hidden for column in columns))
    return replace(source, columns=columns, definition=_with_written(source.definition, added))


def _with_written(definition: str, added: Sequence[ColumnDesc]) -> str:
    """The definition with more columns, where it names any: `(*)`, and no list at all, have them already."""
    [parsed] = parse(definition)
    statement = parsed.statement
    if not isinstance(statement, CreateSource) or statement.all_columns or statement.columns_place is None:
        return definition
    end = statement.columns_place.end - 2
    texts = [column_definition(column) for column in added]
    if statement.columns or statement.watermark is not None:
        texts.insert(0, "")
    return f"{definition[:end]}{', '.join(texts)}{definition[end:]}"
