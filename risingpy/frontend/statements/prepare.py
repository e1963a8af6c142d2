"""PREPARE, EXECUTE, DEALLOCATE. The extended protocol's prepared statements are the same ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyarrow import MonthDayNano

from risingpy.errors import SqlError, UndefinedStatement
from risingpy.frontend.binder import bind_arguments
from risingpy.frontend.binder.types import resolve_type
from risingpy.frontend.catalog.query import SystemStatement
from risingpy.frontend.parser.ast import Deallocate, Execute, InnerStatement, ParsedStatement, Prepare, TypeName
from risingpy.frontend.prepared import Parameters, PreparedStatement
from risingpy.frontend.wire.portal import PreparedEntry
from risingpy.frontend.wire.session_protocol import Result
from risingpy.plan.expressions import Expr
from risingpy.plan.logical import Field, Values
from risingpy.types import SqlType

if TYPE_CHECKING:
    from risingpy.frontend.session import ClientSession


@dataclass(frozen=True, slots=True)
class PreparedParts:
    """What an EXECUTE means: the statement, its parameters' types, and their values."""

    statement: ParsedStatement | SystemStatement
    types: tuple[SqlType, ...]
    values: tuple[object | None, ...]


def prepare(
    session: ClientSession, parsed: ParsedStatement, statement: Prepare, parameter_types: Sequence[SqlType]
) -> PreparedStatement:
    oids = [_oid_of(name) for name in statement.types]
    [inner] = inner_statements(session, statement.statement)

    def run(parameters: Parameters) -> Result:
        if statement.name in session.statements:
            raise SqlError(f'prepared statement "{statement.name}" already exists', sqlstate="42P05")
        bound = session.prepare(inner, oids)
        session.statements[statement.name] = PreparedEntry(bound, parsed.text, from_sql=True)
        return Result("PREPARE")

    return PreparedStatement(run)


def _oid_of(name: TypeName) -> int:
    """As Parse declares it: 0 is to be found out."""
    return 0 if name.text.lower() == "unknown" else resolve_type(name.text, name.position).oid


def inner_statements(session: ClientSession, inner: InnerStatement) -> Sequence[ParsedStatement | SystemStatement]:
    """The statement of a text within another one; its errors have positions in the whole text."""
    return session.split(" " * (inner.position - 1) + inner.text)


def prepare_execute(
    session: ClientSession, parsed: ParsedStatement, statement: Execute, parameter_types: Sequence[SqlType]
) -> PreparedStatement:
    prepared = _find(session, statement.name).prepared
    if prepared is None:
        return PreparedStatement(lambda parameters: Result("EXECUTE"), lasts=False)

    def run(parameters: Parameters) -> Result:
        values = _values(session, statement, prepared.parameter_types)
        try:
            return session.run_prepared(prepared, values)
        except SqlError as error:
            error.position = None  # it would count in the text of the PREPARE
            raise

    _bound_arguments(session, statement, prepared.parameter_types)  # what is wrong with them is told at once
    return PreparedStatement(run, prepared.fields, lasts=False)


def executed_parts(session: ClientSession, statement: Execute) -> PreparedParts | None:
    """What EXPLAIN shows of an EXECUTE; None of an empty text."""
    prepared = _find(session, statement.name).prepared
    if prepared is None:
        return None
    assert isinstance(prepared.plan, tuple)
    inner, _, types = prepared.plan
    return PreparedParts(inner, types, _values(session, statement, types))


def _bound_arguments(session: ClientSession, statement: Execute, types: Sequence[SqlType]) -> tuple[Expr, ...]:
    return bind_arguments(
        statement, types, session.database.catalog, session.search_path(), session=session.session_values()
    )


def _values(session: ClientSession, statement: Execute, types: Sequence[SqlType]) -> tuple[object | None, ...]:
    """The arguments' values, as Bind would decode them."""
    expressions = _bound_arguments(session, statement, types)
    if not expressions:
        return ()
    fields = tuple(Field(f"c{index}", expr.type) for index, expr in enumerate(expressions))
    row = session.run_to_table(Values((expressions,), fields), ())
    return tuple(_hashable(column[0].as_py()) for column in row.columns)


def _hashable(value: object) -> object:
    """Arrays and structs as `Literal` has them."""
    match value:
        case list() | tuple():
            return value if isinstance(value, MonthDayNano) else tuple(_hashable(item) for item in value)
        case dict():
            return tuple(_hashable(item) for item in value.values())
    return value


def prepare_deallocate(
    session: ClientSession, parsed: ParsedStatement, statement: Deallocate, parameter_types: Sequence[SqlType]
) -> PreparedStatement:
    def run(parameters: Parameters) -> Result:
        if statement.name is None:
            session.statements.clear()
            return Result("DEALLOCATE ALL")
        _find(session, statement.name)
        del session.statements[statement.name]
        return Result("DEALLOCATE")

    return PreparedStatement(run)


def _find(session: ClientSession, name: str) -> PreparedEntry:
    entry = session.statements.get(name)
    if entry is None:
        raise UndefinedStatement(f'prepared statement "{name}" does not exist')
    return entry
