"""ALTER TABLE … ADD PRIMARY KEY: a statement of its own, or a part of the one that adds the key's column.

The rows are checked, and written to a copy under the key, which replaces the table: see `new_key.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

from risingpy.errors import WrongObjectType
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.parser.ast import AddPrimaryKey, ParsedStatement
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.alter_table import altered_relation, refuse_spilled
from risingpy.frontend.statements.filled.new_key import add_key
from risingpy.plan.catalog import Table
from risingpy.types import SqlType


def bind(
    session: StatementContext, parsed: ParsedStatement, statement: AddPrimaryKey, parameter_types: Sequence[SqlType]
) -> Command:
    """Raises 23502 for NULLs and 23505 for duplicates among the rows, and then leaves the table as it was."""

    def run(parameters: Parameters) -> Result:
        relation = altered_relation(session, statement.name, if_exists=statement.if_exists)
        if relation is not None and not isinstance(relation, Table):
            message = f'ALTER action ADD CONSTRAINT cannot be performed on relation "{relation.name}"'
            detail = f"This operation is not supported for {relation.noun}s."
            raise WrongObjectType(message, detail=detail, position=statement.name.position)
        if relation is not None:
            refuse_spilled(session, relation)
            add_key(session, relation, statement)
        return Result(CommandTag("ALTER TABLE"))

    return Command(run)
