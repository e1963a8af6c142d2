"""CREATE SEQUENCE and ALTER SEQUENCE."""

from __future__ import annotations

from collections.abc import Sequence

from risingpy.errors import WrongObjectType
from risingpy.frontend.altered_sequence import alter_sequence, owning_column
from risingpy.frontend.binder.ddl.counting import counting_of
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.parser.ast import AlterSequence, CreateSequence, ParsedStatement
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.alter_table import altered_relation
from risingpy.frontend.statements.placing import made_temporary, relation_schema, skipped
from risingpy.meta.schema.objects.sequences import NewSequence, add_sequence
from risingpy.meta.state import MetaState
from risingpy.plan.catalog import NumberSequence, is_temporary_schema
from risingpy.types import SqlType


def bind(
    session: StatementContext, parsed: ParsedStatement, statement: CreateSequence, parameter_types: Sequence[SqlType]
) -> Command:
    """The options are checked now. IF NOT EXISTS of a relation that exists gives a notice (42P07)."""
    counting = counting_of(statement.options)

    def run(parameters: Parameters) -> Result:
        name = statement.name.name
        schema = relation_schema(session, statement.name, temporary=statement.temporary)
        owned_by = owning_column(session, statement.options, schema)
        created = True

        def add(state: MetaState) -> MetaState:
            nonlocal created
            created = not (statement.if_not_exists and state.catalog.find(name, schema, ()) is not None)
            return add_sequence(state, NewSequence(schema, name, counting, owned_by))[0] if created else state

        session.ddl.change(add, session.cancelled)
        if not created:
            skipped(session, statement.name)
        elif is_temporary_schema(schema):
            made_temporary(session, schema, name)
        return Result(CommandTag("CREATE SEQUENCE"))

    return Command(run)


def bind_alter(
    session: StatementContext, parsed: ParsedStatement, statement: AlterSequence, parameter_types: Sequence[SqlType]
) -> Command:
    """What the options do not say stays. RESTART takes effect at once, also for other sessions."""

    def run(parameters: Parameters) -> Result:
        found = altered_relation(session, statement.name, if_exists=statement.if_exists)
        if found is not None:
            if not isinstance(found, NumberSequence):
                raise WrongObjectType(f'"{found.name}" is not a sequence', position=statement.name.position)
            alter_sequence(session, found, statement.options)
        return Result(CommandTag("ALTER SEQUENCE"))

    return Command(run)
