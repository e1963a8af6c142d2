"""ALTER SOURCE | TABLE … CONNECTOR WITH (…): how the other side is reached from now on."""

from __future__ import annotations

from collections.abc import Sequence

from risingpy.connectors.registry import connector_of, is_pushed, pushed_connector_of
from risingpy.connectors.secret_options import is_secret
from risingpy.connectors.secrets.hidden_options import StoredOptions
from risingpy.connectors.secrets.opened_options import opened
from risingpy.errors import InvalidParameterValue, WrongObjectType
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

# What a source has read is known by what it reads: its topic, its files. Only the way there may change.
_CHANGEABLE = ("hostname", "port", "username", "ssl.mode", "server_url", "s3.endpoint_url", "s3.region_name")
_CHANGEABLE_PREFIX = "properties."


def bind(
    session: StatementContext, parsed: ParsedStatement, statement: AlterConnector, parameter_types: Sequence[SqlType]
) -> Command:
    """The other side is reached with the new values when it runs; running jobs go on with them."""
    names = [*(name for name, _ in statement.options), *(each.option for each in statement.references)]
    check_names([(name, "") for name in names])
    for name in names:
        if name not in _CHANGEABLE and not name.startswith(_CHANGEABLE_PREFIX) and not is_secret(name):
            raise InvalidParameterValue(
                f'option "{name}" of a source cannot be changed',
                hint="Those can that say how the other side is reached: addresses, users and passwords.",
                position=statement.position,
            )

    def run(parameters: Parameters) -> Result:
        relation = altered_relation(session, statement.name, if_exists=statement.if_exists)
        tag = CommandTag(f"ALTER {statement.kind.noun.upper()}")
        if relation is None:
            return Result(tag)
        source = relation.source if isinstance(relation, Table) else relation
        if not isinstance(relation, statement.kind) or not isinstance(source, ExternalSource):
            raise WrongObjectType(f'"{relation.name}" is not a source', position=statement.name.position)
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
            pushed_connector_of(values.options).check()
        else:
            connector_of(values.options, values.message_format).check()
