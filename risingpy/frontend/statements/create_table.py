"""CREATE TABLE."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from risingpy.connectors.secrets.hidden_options import StoredOptions
from risingpy.errors import FeatureNotSupported, SqlError
from risingpy.frontend.binder import TableDefinition, bind_table
from risingpy.frontend.binder.ddl.constraints import BoundUnique, ConstraintBinder
from risingpy.frontend.binder.ddl.end_of_rows import end_of_rows
from risingpy.frontend.binder.ddl.table_options import has_times
from risingpy.frontend.binder.statement import make_context
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.constraints.changes import new_uniques
from risingpy.frontend.copied_table import copied_columns, refuse_unsupported
from risingpy.frontend.parser.ast import CreateTable, CreateTableAs, ParsedStatement
from risingpy.frontend.parser.ast_constraints import ForeignKeyDefinition, UniqueDefinition
from risingpy.frontend.parser.creation.table_elements import null_in_deferrable_key
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.shown_text import shown_text
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.connectors.given_options import named_secret, opened_statement, refuse_references
from risingpy.frontend.statements.connectors.source_options import checked_options, with_schema_columns
from risingpy.frontend.statements.create_view import without_effect
from risingpy.frontend.statements.objects.like import complete_likes, with_likes
from risingpy.frontend.statements.placing import made_temporary, relation_schema, skipped
from risingpy.frontend.statements.rights.checks import check_uses_types
from risingpy.frontend.statements.rights.server_rights import check_source
from risingpy.frontend.table_definition import definition_of_columns
from risingpy.meta.schema.relations import check_new_name
from risingpy.meta.schema.schemas import check_schema
from risingpy.meta.schema.tables import FedBy, NewTable
from risingpy.optimizer.stream.index import key_column_ids
from risingpy.plan.catalog import OWN_TEMPORARY_SCHEMA, ColumnDesc, Webhook, is_temporary_schema
from risingpy.plan.catalog.columns import ROW_ID
from risingpy.types import BIGINT, SqlType


def bind(
    session: StatementContext, parsed: ParsedStatement, statement: CreateTable, parameter_types: Sequence[SqlType]
) -> Command:
    """Checks the columns now and names the schema when it runs. IF NOT EXISTS of a table that exists gives a notice.

    A table that copies another gets its columns, or has them checked, when it runs.
    """
    if statement.copied is not None:
        refuse_unsupported(statement)
    if statement.likes:
        statement = with_likes(session, statement)
    stored: StoredOptions | None = None
    if statement.is_fed:
        defined, stored = _with_source(session, statement)
    else:
        refuse_references(statement)
        defined = _defined(session, statement)

    def run(parameters: Parameters) -> Result:
        schema, name = table_schema(session, statement), statement.name.name
        if statement.if_not_exists and session.database.reads.catalog.find(name, schema, ()) is not None:
            skipped(session, statement.name)  # also if the system of a table to be copied does not answer
        else:
            table = new_table(session, shown_text(parsed), statement, defined, stored)
            if statement.likes:  # what it takes over may change
                keys = [table.columns[place].name for place in table.primary_key]
                columns = [column for column in table.columns if not column.hidden]
                table = replace(table, definition=definition_of_columns(schema, name, columns, keys))
            if not session.ddl.create_table(table, if_not_exists=statement.if_not_exists, cancelled=session.cancelled):
                skipped(session, statement.name)
            else:
                if is_temporary_schema(schema):
                    made_temporary(session, schema, name, statement.on_commit)
                complete_likes(session, statement, schema)
        without_effect(session, statement.storage_parameters, unlogged=statement.unlogged)
        return Result(CommandTag("CREATE TABLE"))

    return Command(run)


def _defined(session: StatementContext, statement: CreateTable) -> TableDefinition:
    """The columns. As in PostgreSQL, a schema that is missing is told before a mistake in them."""
    catalog, path = session.database.reads.catalog, session.search_path()
    try:
        return bind_table(statement, catalog, path, session=session.session_values())
    except SqlError:
        schema = statement.name.schema
        if schema is not None and schema != OWN_TEMPORARY_SCHEMA and not is_temporary_schema(schema):
            check_schema(session.database.reads.seen_state, schema)
        raise


def table_schema(session: StatementContext, statement: CreateTable | CreateTableAs) -> str:
    """The schema of a new table."""
    name, temporary = statement.name, statement.temporary
    schema = relation_schema(session, name, temporary=temporary, on_commit=statement.on_commit)
    is_fed = isinstance(statement, CreateTable) and (statement.options or statement.copied is not None)
    if is_fed and is_temporary_schema(schema):
        raise FeatureNotSupported("a temporary table gets its rows from statements alone", position=name.position)
    return schema


def new_table(
    session: StatementContext,
    definition: str,
    statement: CreateTable,
    defined: TableDefinition,
    stored: StoredOptions | None,
) -> NewTable:
    """The statement's table, in its schema. `stored` are the options of the source that feeds it."""
    columns, key, upstream = defined.columns, defined.primary_key, None
    if statement.copied is not None:
        columns, key, upstream = copied_columns(session, statement.copied, defined)
    check_uses_types(session, (column.domain or column.type for column in columns if not column.hidden))
    columns = columns if key else with_row_id(columns)
    schema_name = table_schema(session, statement)
    bound = _bound_constraints(session, statement, columns, key)
    columns = _with_not_null(statement, columns, bound.uniques)
    return NewTable(
        schema_name=schema_name,
        name=statement.name.name,
        columns=columns,
        primary_key=key,
        append_only=statement.append_only,
        definition=definition,
        on_conflict=defined.on_conflict,
        version_columns=defined.version_columns,
        watermark=defined.watermark,
        webhook=_with_secret(session, statement, defined.webhook),
        upstream=upstream,
        source=None if stored is None else FedBy(stored, defined.included),
        constraints=tuple(bound.constraints),
        uniques=new_uniques(schema_name, statement.name.name, bound.uniques),
        key_name=statement.key_name,
        ends=end_of_rows(statement),
        has_times=has_times(statement),
    )


def _bound_constraints(
    session: StatementContext, statement: CreateTable, columns: tuple[ColumnDesc, ...], key: tuple[int, ...]
) -> ConstraintBinder:
    """The statement's UNIQUE, CHECK and FOREIGN KEY. Raises FeatureNotSupported if such a table can have none."""
    values, path = session.session_values(), session.search_path()
    binder = ConstraintBinder(
        make_context(session.database.reads.catalog.only_types(), path, (), values),
        *(session.database.reads.catalog, path, table_schema(session, statement), statement.name.name),
        *(columns, key, None, statement.key_name),
    )
    domains = [column for column in columns if column.domain is not None]
    if not statement.constraints and not domains:
        return binder
    position = statement.constraints[0].position if statement.constraints else statement.name.position
    rules = (
        (statement.is_fed or bool(statement.options), "other systems write its rows"),
        (statement.copied is not None, "it copies a table of a source"),
        (statement.watermark is not None, "it has a watermark"),
        (statement.append_only, "it is APPEND ONLY"),
        (statement.on_conflict is not None or bool(statement.version_columns), "it has a rule for conflicts"),
    )
    for holds, reason in rules:
        if holds:
            what = "constraints" if statement.constraints else "domains as types of columns"
            message = f'{what} of table "{statement.name.name}" are not supported: {reason}'
            raise FeatureNotSupported(message, position=position)
    # A foreign key may refer to a unique key that stands after it. As in PostgreSQL, a name that is taken is told
    # before a mistake in CHECK or FOREIGN KEY, and after one in UNIQUE.
    for unique in (each for each in statement.constraints if isinstance(each, UniqueDefinition)):
        binder.add(unique)
    others = [each for each in statement.constraints if not isinstance(each, UniqueDefinition)]
    if others:
        check_new_name(session.database.reads.seen_state, binder.schema_name, binder.name)
    for other in sorted(others, key=lambda each: isinstance(each, ForeignKeyDefinition)):
        binder.add(other)
    return binder


def _with_not_null(
    statement: CreateTable, columns: tuple[ColumnDesc, ...], uniques: Sequence[BoundUnique]
) -> tuple[ColumnDesc, ...]:
    """The columns, those of a DEFERRABLE PRIMARY KEY without NULLs. Raises 0A000 if one of these says NULL."""
    rules = ((each.definition, each.definition.unique) for each in uniques)
    keys = [key_column_ids(definition) for definition, rule in rules if rule is not None and rule.is_primary]
    ids = frozenset().union(*keys)
    names = {column.name for column in columns if column.column_id in ids}
    for column in statement.columns:
        if column.says_null and column.name in names:
            raise null_in_deferrable_key(column)
    return tuple(replace(each, not_null=each.not_null or each.column_id in ids) for each in columns)


def _with_secret(session: StatementContext, statement: CreateTable, webhook: Webhook | None) -> Webhook | None:
    """The webhook with the secret that VALIDATE names. Raises UndefinedObject."""
    if webhook is None or statement.validation_secret is None:
        return webhook
    return replace(webhook, secret_id=named_secret(session, statement.validation_secret).secret_id)


def _with_source(session: StatementContext, statement: CreateTable) -> tuple[TableDefinition, StoredOptions]:
    """(The table with the columns of its messages' schema, its source). Raises SqlError if it cannot be fed so."""
    statement, given = opened_statement(session, statement)
    with given.masked_errors(statement.name.position):
        check_source(session, dict(statement.options), statement.message_format, statement.name.position)
        statement = with_schema_columns(statement)
        defined = bind_table(
            statement,
            session.database.reads.catalog.only_types(),
            session.search_path(),
            session=session.session_values(),
        )
        for column in defined.columns:
            if column.identity is not None or column.default is not None:
                what = f'a value of its own for column "{column.name}"'
                raise FeatureNotSupported(f"{what} of a table that a source feeds is not supported")
        return defined, given.stored(checked_options(statement, defined), statement.message_format)


def with_row_id(columns: tuple[ColumnDesc, ...]) -> tuple[ColumnDesc, ...]:
    """The columns, and the hidden number of the row."""
    return (*columns, ColumnDesc(len(columns) + 1, ROW_ID, BIGINT, not_null=True, hidden=True))
