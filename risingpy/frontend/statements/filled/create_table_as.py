"""CREATE TABLE … AS query, and SELECT … INTO: a table with the columns and the rows of a query.

The table is in creation until it has all rows, so nobody sees a part of them, and a server that stops has none of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from risingpy.batch import PreparedQuery
from risingpy.errors import DuplicateColumn, SqlError, SyntaxError_
from risingpy.frontend.binder import BoundQuery, bind_query, check_column_name
from risingpy.frontend.binder.column_limits import check_types
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.parser.ast import ColumnName, CreateTableAs, Execute, ParsedStatement
from risingpy.frontend.parser.ast_parts import OnCommit
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.create_table import table_schema, with_row_id
from risingpy.frontend.statements.create_view import without_effect
from risingpy.frontend.statements.filled.filling import filling, write_own
from risingpy.frontend.statements.placing import made_temporary, skipped
from risingpy.frontend.statements.prepare import executed_query
from risingpy.frontend.statements.rights.checks import check_uses_types
from risingpy.frontend.statements.select import set_settings
from risingpy.frontend.table_definition import definition_of_columns
from risingpy.frontend.written_rows import check_writable
from risingpy.meta.schema.tables import NewTable
from risingpy.optimizer.rules import optimize
from risingpy.plan.catalog import ColumnDesc, Table, is_temporary_schema
from risingpy.types import SqlType
from risingpy.types.system_types import plain_type


def bind(
    session: StatementContext, parsed: ParsedStatement, statement: CreateTableAs, parameter_types: Sequence[SqlType]
) -> Command:
    """The tag is `SELECT rows`, as PostgreSQL's. WITH NO DATA runs nothing."""
    if isinstance(statement.query, Execute):
        executed = statement.query
        return Command(lambda parameters: _run_executed(session, parsed, statement, executed), lasts=False)
    catalog, query_text = session.database.reads.catalog, statement.query
    bound = bind_query(query_text, catalog, session.search_path(), parameter_types, session=session.session_values())
    columns = _columns(statement, bound, query_text.position)
    query = session.planned(optimize(bound.plan, session.check), catalog)

    def run(parameters: Parameters) -> Result:
        check_writable(session, "CREATE TABLE AS")
        schema = table_schema(session, statement)
        in_block = session.scope.schema.is_there  # then the rows are the transaction's, as the table is
        check_uses_types(session, (column.domain or column.type for column in columns))
        table = NewTable(
            schema_name=schema,
            name=statement.name.name,
            columns=with_row_id(columns),
            primary_key=(),
            append_only=False,
            definition=definition_of_columns(schema, statement.name.name, columns),
            filled=statement.with_data and not in_block and statement.on_commit is not OnCommit.DELETE_ROWS,
        )
        if statement.with_data:
            set_settings(session, bound.settings, parameters)
        counted = _create(session, statement, table, query, parameters)
        if counted is None:
            skipped(session, statement.name)
        without_effect(session, statement.storage_parameters, unlogged=statement.unlogged)
        has_rows = counted is not None and statement.with_data
        return Result(CommandTag("SELECT", counted) if has_rows else CommandTag("CREATE TABLE AS"))

    return Command(run, parameter_types=bound.parameter_types)


def _run_executed(
    session: StatementContext, parsed: ParsedStatement, statement: CreateTableAs, executed: Execute
) -> Result:
    """The prepared query and its arguments are those of the moment, looked at only if the table is to be made.

    Errors have no position, since it would be one in the text of the PREPARE, but for those in arguments.
    """
    name, catalog = statement.name, session.database.reads.catalog
    if statement.if_not_exists and catalog.find(name.name, table_schema(session, statement), ()) is not None:
        skipped(session, name)
        return Result(CommandTag("CREATE TABLE AS"))
    query, parts = executed_query(session, executed)
    try:
        made = bind(session, parsed, replace(statement, query=query), parts.types).run(parts.values)
    except SqlError as error:
        error.position = None
        raise
    return made if statement.with_data else replace(made, tag=CommandTag("SELECT", 0))  # PostgreSQL's, for EXECUTE


def _create(
    session: StatementContext,
    statement: CreateTableAs,
    table: NewTable,
    query: PreparedQuery,
    parameters: Parameters,
) -> int | None:
    """Creates the table; returns how many rows it has, None if it was there already."""
    ddl, counted = session.ddl, 0
    options = {"if_not_exists": statement.if_not_exists}

    def count(rows: int) -> None:
        nonlocal counted
        counted += rows

    if table.filled:
        fill = filling(session, query, parameters, count)
        created = ddl.create_filled_table(table, fill, **options, cancelled=session.cancelled)
    else:
        created = ddl.create_table(table, **options, cancelled=session.cancelled)
    if not created:
        return None
    if is_temporary_schema(table.schema_name):
        made_temporary(session, table.schema_name, table.name, statement.on_commit)
    if statement.with_data and not table.filled:
        found = session.database.reads.catalog.find(table.name, table.schema_name, ())
        assert isinstance(found, Table)
        write_own(session, found, query, parameters, count)
    return counted


def _columns(statement: CreateTableAs, bound: BoundQuery, position: int) -> tuple[ColumnDesc, ...]:
    """The query's columns, under the names of the list as far as it goes."""
    listed, fields = statement.column_names, bound.fields
    if len(listed) > len(fields):
        raise SyntaxError_("too many column names were specified", position=listed[len(fields)].position)
    names = [*listed, *(ColumnName(field.name, position) for field in fields[len(listed) :])]
    for i, name in enumerate(names):
        check_column_name(name)
        if name.name in {other.name for other in names[:i]}:
            raise DuplicateColumn(f'column "{name.name}" specified more than once', position=name.position)
    check_types(((name.name, field.type) for name, field in zip(names, fields, strict=True)), position)
    columns = enumerate(zip(names, fields, bound.texts, bound.column_domains, strict=True), 1)
    return tuple(
        ColumnDesc(i, name.name, plain_type(f.type), as_text=is_text, domain=domain)
        for i, (name, f, is_text, domain) in columns
    )
