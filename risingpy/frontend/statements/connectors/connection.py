"""CREATE CONNECTION, and ALTER CONNECTION … CONNECTOR WITH."""

from __future__ import annotations

from collections.abc import Sequence

from risingpy.connectors.connections import check_connection
from risingpy.connectors.secrets.hidden_options import StoredOptions
from risingpy.connectors.secrets.opened_options import opened
from risingpy.errors import InvalidParameterValue
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.parser.ast import AlterConnection, CreateConnection, ParsedStatement
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.connectors.given_options import (
    CONNECTION_TYPES,
    changed_options,
    given_options,
    named_connection,
)
from risingpy.frontend.statements.connectors.options import check_names
from risingpy.frontend.statements.placing import new_schema
from risingpy.frontend.statements.rights.checks import check_owns
from risingpy.meta.schema.options import with_changes
from risingpy.meta.schema.secrets import add_connection, with_connection_options
from risingpy.meta.state import MetaState
from risingpy.plan.catalog import ConnectionDesc
from risingpy.types import SqlType


def bind(
    session: StatementContext, parsed: ParsedStatement, statement: CreateConnection, parameter_types: Sequence[SqlType]
) -> Command:
    """Reaches the other side when it runs. IF NOT EXISTS gives a notice (42710)."""
    position = statement.name.position
    for reference in statement.references:
        if reference.is_connection:
            raise InvalidParameterValue("a connection has no connection", position=reference.object.position)
    names = [(each.option, "") for each in statement.references]
    check_names([*statement.options, *names])
    kind = dict(statement.options).get("type", "").lower()
    if kind not in CONNECTION_TYPES:
        hint = f"WITH (type = …), which is {', '.join(CONNECTION_TYPES)}."
        raise InvalidParameterValue(f'unknown type "{kind}" of a connection', hint=hint, position=position)
    options = tuple(option for option in statement.options if option[0] != "type")

    def run(parameters: Parameters) -> Result:
        schema, name = new_schema(session, statement.name), statement.name.name
        given = given_options(session, statement.references, "")
        with given.masked_errors(position):
            found = session.database.reads.catalog.find_connection(name, schema, ())
            if not (statement.if_not_exists and found is not None):
                check_connection(kind, {**dict(options), **given.values.options})
        stored = given.stored(options)
        connection = ConnectionDesc(0, schema, name, kind, stored.options, stored.hidden)
        made: list[bool] = []

        def add(state: MetaState) -> MetaState:
            after, created = add_connection(state, connection, if_not_exists=statement.if_not_exists)
            made.append(created)
            return after

        session.ddl.change(add, session.cancelled)
        if not made[-1]:
            session.notice(f'connection "{name}" already exists, skipping', sqlstate="42710")
        return Result(CommandTag("CREATE CONNECTION"))

    return Command(run)


def bind_alter(
    session: StatementContext, parsed: ParsedStatement, statement: AlterConnection, parameter_types: Sequence[SqlType]
) -> Command:
    """Running sources and sinks take the new values, if the other side answers with them."""
    if "type" in dict(statement.options):
        raise InvalidParameterValue("the type of a connection cannot be changed", position=statement.position)

    def run(parameters: Parameters) -> Result:
        database = session.database
        connection = named_connection(session, statement.name)
        check_owns(session, connection)
        changes = changed_options(session, statement.options, statement.references)
        options, hidden = with_changes(connection.options, connection.hidden, changes)
        values = opened(database.vault, database.reads.catalog.resolved(StoredOptions(options, None, hidden)))
        with values.masked_errors():
            check_connection(connection.type, values.options)
        connection_id = connection.connection_id
        session.ddl.change(lambda state: with_connection_options(state, connection_id, changes), session.cancelled)
        return Result(CommandTag("ALTER CONNECTION"))

    return Command(run)
