"""CREATE DOMAIN."""

from __future__ import annotations

from collections.abc import Sequence

from risingpy.frontend.binder import bind_domain
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.parser.ast import CreateDomain, ParsedStatement
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.placing import new_schema
from risingpy.frontend.statements.rights.checks import check_uses_types
from risingpy.meta.schema.objects.domains import add_domain
from risingpy.types import SqlType


def bind(
    session: StatementContext, parsed: ParsedStatement, statement: CreateDomain, parameter_types: Sequence[SqlType]
) -> Command:
    """The rules are bound, and the name is checked, when the domain is made."""

    def run(parameters: Parameters) -> Result:
        schema = new_schema(session, statement.name)
        catalog = session.database.reads.catalog
        new = bind_domain(statement, schema, catalog, session.search_path(), session.session_values())
        check_uses_types(session, [new.parent or new.base])
        session.ddl.change(lambda state: add_domain(state, new), session.cancelled)
        return Result(CommandTag("CREATE DOMAIN"))

    return Command(run)
