"""SET, RESET, and SHOW of a setting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from risingpy.frontend.parser.ast import ParsedStatement, SetVariable, ShowVariable
from risingpy.frontend.prepared import Parameters, PreparedStatement
from risingpy.frontend.statements.text_table import text_fields, text_rows
from risingpy.frontend.wire.session_protocol import Result
from risingpy.types import SqlType

if TYPE_CHECKING:
    from risingpy.frontend.session import ClientSession


def prepare(
    session: ClientSession, parsed: ParsedStatement, statement: SetVariable, parameter_types: Sequence[SqlType]
) -> PreparedStatement:
    def run(parameters: Parameters) -> Result:
        if statement.values is None and parsed.text[:5].upper() == "RESET":
            session.settings.reset(statement.name)
            return Result("RESET")
        if statement.local and not session.transaction.is_open:
            session.notice("SET LOCAL can only be used in transaction blocks", severity="WARNING", sqlstate="25P01")
            return Result("SET")
        definition = session.settings.set(statement.name, statement.values, local=statement.local)
        if definition is not None and definition.ignored:
            session.notice(f'parameter "{definition.name}" has no effect in RisingPy')
        return Result("SET")

    return PreparedStatement(run)


def prepare_show(
    session: ClientSession, parsed: ParsedStatement, statement: ShowVariable, parameter_types: Sequence[SqlType]
) -> PreparedStatement:
    if statement.name == "all":
        fields = text_fields("name", "setting", "description")

        def run_all(parameters: Parameters) -> Result:
            rows = [(s.name, s.value, s.description) for s in session.settings.all()]
            return Result("SHOW", fields, text_rows(fields, rows))

        return PreparedStatement(run_all, fields)
    session.settings.get(statement.name)
    fields = text_fields(statement.name)

    def run(parameters: Parameters) -> Result:
        return Result("SHOW", fields, text_rows(fields, [(session.settings.get(statement.name),)]))

    return PreparedStatement(run, fields)
