"""ALTER SOURCE … SET source_rate_limit."""

from __future__ import annotations

from collections.abc import Sequence

from risingpy.connectors.registry import rate_limit
from risingpy.errors import SqlError, WrongObjectType
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.parser import parse
from risingpy.frontend.parser.ast import CreateSource, ParsedStatement
from risingpy.frontend.parser.ast_alter import AlterSource
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.alter_table import altered_relation
from risingpy.meta.schema.sources import with_source_option
from risingpy.plan.catalog import ExternalSource
from risingpy.types import SqlType


def bind(
    session: StatementContext, parsed: ParsedStatement, statement: AlterSource, parameter_types: Sequence[SqlType]
) -> Command:
    """The value is checked now; the source, and that it is one, when it runs."""
    try:
        rate_limit({statement.option: statement.value})
    except SqlError as error:
        error.position = statement.position
        raise

    def run(parameters: Parameters) -> Result:
        relation = altered_relation(session, statement.name, if_exists=statement.if_exists)
        if relation is not None:
            if not isinstance(relation, ExternalSource):
                raise WrongObjectType(f'"{relation.name}" is not a source', position=statement.name.position)
            option, source_id = (statement.option, statement.value), relation.relation_id
            session.database.ddl.change(
                lambda state: with_source_option(state, source_id, option, _with_option), session.cancelled
            )
        return Result(CommandTag("ALTER SOURCE"))

    return Command(run)


def _with_option(definition: str, name: str, value: str) -> str:
    """The source's CREATE statement with another value of an option."""
    [parsed] = parse(definition)
    assert isinstance(parsed.statement, CreateSource)
    places = {place.name: place for place in parsed.statement.option_places}
    if name in places:
        place = places[name]
        return f"{definition[: place.begin - 1]}{value}{definition[place.end - 1 :]}"
    last = places["connector"]
    return f"{definition[: last.end - 1]}, {name} = {value}{definition[last.end - 1 :]}"
