"""SET, RESET, and SHOW of a setting."""

from __future__ import annotations

from collections.abc import Sequence

from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.parameters.definitions import BY_NAME
from risingpy.frontend.parser.ast import ParsedStatement, SetVariable, ShowVariable
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.text_table import text_fields, text_rows
from risingpy.frontend.statements.transactions.read_write_transactions import after_set
from risingpy.frontend.statements.transactions.transaction_modes import is_mode, set_variable
from risingpy.types import SqlType


def bind(
    session: StatementContext, parsed: ParsedStatement, statement: SetVariable, parameter_types: Sequence[SqlType]
) -> Command:
    """SET LOCAL outside a transaction only warns (25P01), as in PostgreSQL; a setting without effect gives a notice."""

    def run(parameters: Parameters) -> Result:
        is_reset = statement.values is None and parsed.text[:5].upper() == "RESET"
        if is_reset and not is_mode(statement.name):
            session.settings.reset(statement.name)
            return Result(CommandTag("RESET"))
        if statement.local and not session.transaction.is_open:
            session.notice("SET LOCAL can only be used in transaction blocks", severity="WARNING", sqlstate="25P01")
            return Result(CommandTag("SET"))
        if set_variable(session, statement.name, statement.values):
            return Result(CommandTag("RESET" if is_reset else "SET"))
        definition = session.settings.set(statement.name, statement.values, local=statement.local)
        if definition is not None and definition.ignored:
            session.notice(f'parameter "{definition.name}" has no effect in RisingPy')
        if definition is not None:
            after_set(session, definition.name)
        return Result(CommandTag("SET"))

    return Command(run)


def bind_show(
    session: StatementContext, parsed: ParsedStatement, statement: ShowVariable, parameter_types: Sequence[SqlType]
) -> Command:
    """The setting as the client would write it, in one row, or all settings. Raises 42704 for an unknown name now."""
    if statement.name == "all":
        fields = text_fields("name", "setting", "description")

        def run_all(parameters: Parameters) -> Result:
            rows = [(s.name, s.value, s.description) for s in session.settings.all()]
            return Result(CommandTag("SHOW"), fields, text_rows(fields, rows))

        return Command(run_all, fields)
    session.settings.get(statement.name)
    definition = BY_NAME.get(statement.name)
    fields = text_fields(definition.reported or definition.name if definition is not None else statement.name)

    def run(parameters: Parameters) -> Result:
        value = session.settings.get(statement.name)
        return Result(CommandTag("SHOW"), fields, text_rows(fields, [(value,)]))

    return Command(run, fields)
