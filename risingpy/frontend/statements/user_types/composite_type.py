"""CREATE TYPE … AS (…), and ALTER TYPE … ADD, DROP, ALTER and RENAME ATTRIBUTE."""

from __future__ import annotations

from collections.abc import Sequence

from risingpy.frontend.binder import altered_attributes, bind_composite
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.parser.ast import AlterAttributes, CreateCompositeType, ParsedStatement
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.placing import new_schema
from risingpy.frontend.statements.rights.checks import check_owns_all, check_uses_types
from risingpy.frontend.statements.user_types.alter_type import at_name, target_of
from risingpy.meta.schema.objects.composites import add_composite, required_composite, with_attributes
from risingpy.meta.state import MetaState
from risingpy.types import SqlType


def bind_create(
    session: StatementContext,
    parsed: ParsedStatement,
    statement: CreateCompositeType,
    parameter_types: Sequence[SqlType],
) -> Command:
    """The attributes are bound, and the name is checked, when the type is made."""

    def run(parameters: Parameters) -> Result:
        schema = new_schema(session, statement.name)
        new = bind_composite(statement, schema, session.database.reads.catalog, session.search_path())
        check_uses_types(session, new.items)
        session.ddl.change(lambda state: add_composite(state, new), session.cancelled)
        return Result(CommandTag("CREATE TYPE"))

    return Command(run)


def bind_alter(
    session: StatementContext, parsed: ParsedStatement, statement: AlterAttributes, parameter_types: Sequence[SqlType]
) -> Command:
    """All actions or none, in one step."""

    def run(parameters: Parameters) -> Result:
        target, notices = target_of(session, statement.name), list[str]()
        at_name(statement.name, lambda: check_owns_all(session, lambda state: [required_composite(state, target)]))

        def change(state: MetaState) -> MetaState:
            found = required_composite(state, target)
            altered, notices[:] = altered_attributes(found, statement, state.catalog, session.search_path())
            return with_attributes(state, found, altered)

        at_name(statement.name, lambda: session.ddl.change(change, session.cancelled))
        for notice in notices:
            session.notice(notice)
        return Result(CommandTag("ALTER TYPE"))

    return Command(run)
