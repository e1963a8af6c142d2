"""ALTER FUNCTION | AGGREGATE | PROCEDURE | ROUTINE … RENAME TO, SET SCHEMA."""

from __future__ import annotations

from collections.abc import Sequence

from risingpy.errors import SqlError
from risingpy.frontend.binder.typing.polymorphic import type_of_routine
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.parser.ast import AlterFunction, ParsedStatement
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.databases.retold import called_by_new_name, retold
from risingpy.frontend.statements.placing import known_types
from risingpy.frontend.statements.rights.checks import check_creates_in, check_names_schema, check_owns_all
from risingpy.meta.schema.functions import FunctionTarget
from risingpy.meta.schema.objects.moved_functions import FunctionTexts, moved, required_function
from risingpy.types import SqlType


def bind(
    session: StatementContext, parsed: ParsedStatement, statement: AlterFunction, parameter_types: Sequence[SqlType]
) -> Command:
    """Texts of views, and bodies that are expressions (RETURN), follow; bodies in strings stay, as in PostgreSQL."""
    name = None if statement.new_name is None else statement.new_name.name
    schema = None if statement.new_schema is None else statement.new_schema.name

    def run(parameters: Parameters) -> Result:
        known, types = known_types(session), None
        if statement.arguments is not None:
            names = [each.type for each in statement.arguments]
            types = tuple(type_of_routine(each.text, each.position, known) for each in names)
        check_names_schema(session, statement.name.schema, statement.name.position)
        target = FunctionTarget(
            statement.name.schema, statement.name.name, types, session.search_path(), noun=statement.noun
        )
        try:
            found = required_function(session.database.reads.seen_state, target)
            check_owns_all(session, lambda state: [required_function(state, target)])
            check_creates_in(session, schema or found.schema_name)
            texts = FunctionTexts(retold().function, retold().reader, called_by_new_name)
            session.ddl.change(lambda state: moved(state, target, texts, name=name, schema=schema), session.cancelled)
        except SqlError as error:
            if error.sqlstate in ("42883", "42725", "42809"):
                error.position = statement.name.position
            raise
        return Result(CommandTag(f"ALTER {statement.noun.upper()}"))

    return Command(run)
