"""ALTER SOURCE | TABLE … SET source_rate_limit."""

from __future__ import annotations

from collections.abc import Sequence

from risingpy.connectors.registry import is_pushed, rate_limit
from risingpy.errors import FeatureNotSupported, SqlError, WrongObjectType
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.parser.ast import ParsedStatement
from risingpy.frontend.parser.ast_alter import AlterSource
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.alter_table import altered_relation
from risingpy.frontend.statements.connectors.options import with_option
from risingpy.meta.schema.options import OptionChanges
from risingpy.meta.schema.sources import with_source_options
from risingpy.plan.catalog import ExternalSource, Table
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
            source = relation.source if isinstance(relation, Table) else relation
            if not isinstance(source, ExternalSource):
                raise WrongObjectType(f'"{relation.name}" is not a source', position=statement.name.position)
            if is_pushed(dict(source.options)):
                message = f'source "{relation.name}" sends its rows by itself: it has no {statement.option}'
                raise FeatureNotSupported(message, position=statement.position)
            option, source_id = (statement.option, statement.value), relation.relation_id
            changes = OptionChanges((option,), texts=(option,))
            session.ddl.change(
                lambda state: with_source_options(state, source_id, changes, with_option), session.cancelled
            )
        return Result(CommandTag("ALTER TABLE" if isinstance(relation, Table) else "ALTER SOURCE"))

    return Command(run)
