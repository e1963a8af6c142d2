"""ALTER SOURCE | TABLE … CONNECTOR WITH (…): how the other side is reached from now on."""

from __future__ import annotations

from collections.abc import Sequence

from risingpy.connectors.altered_options import check_altered
from risingpy.connectors.registry import connector_of, is_pushed, pushed_connector_of
from risingpy.connectors.secrets.hidden_options import StoredOptions
from risingpy.connectors.secrets.opened_options import opened
from risingpy.errors import SqlError, WrongObjectType
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.parser.ast import AlterConnector, ParsedStatement
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.alter_table import altered_relation
from risingpy.frontend.statements.connectors.given_options import changed_options
from risingpy.frontend.statements.connectors.options import check_names, with_option_text
from risingpy.meta.schema.options import with_changes
from risingpy.meta.schema.sources import with_source_options
from risingpy.plan.catalog import ExternalSource, Table
from risingpy.types import SqlType


def bind(
    session: StatementContext, parsed: ParsedStatement, statement: AlterConnector, parameter_types: Sequence[SqlType]
) -> Command:
    """The other side is reached with the new values when it runs; running jobs go on with them."""
    names = [*(name for name, _ in statement.options), *(each.option for each in statement.references)]
    check_names([(name, "") for name in names])

    def run(parameters: Parameters) -> Result:
        relation = altered_relation(session, statement.name, if_exists=statement.if_exists)
        tag = CommandTag(f"ALTER {statement.kind.noun.upper()}")
        if relation is None:
            return Result(tag)
        source = relation.source if isinstance(relation, Table) else relation
        if not isinstance(relation, statement.kind) or not isinstance(source, ExternalSource):
            raise WrongObjectType(f'"{relation.name}" is not a source', position=statement.name.position)
        try:
            check_altered(dict(source.options), names)
        except SqlError as error:
            error.position = statement.position
            raise
        changes = changed_options(session, statement.options, statement.references)
        options, hidden = with_changes(source.options, source.hidden, changes)
        _check(session, StoredOptions(options, source.message_format, hidden))
        source_id = relation.relation_id
        session.ddl.change(
            lambda state: with_source_options(state, source_id, changes, with_option_text), session.cancelled
        )
        return Result(tag)

    return Command(run)


def _check(session: StatementContext, stored: StoredOptions) -> None:
    """Reaches the other side. Raises as CREATE does."""
    values = opened(session.database.vault, session.database.reads.catalog.resolved(stored))
    with values.masked_errors():
        if is_pushed(values.options):
            pushed_connector_of(values.options).check(is_followed=True)
        else:
            connector_of(values.options, values.message_format).check()
