"""PREPARE, EXECUTE, DEALLOCATE. They share the prepared statements with the extended protocol."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyarrow import MonthDayNano

from risingpy.errors import SqlError, UndefinedStatement, WrongObjectType
from risingpy.frontend.binder import bind_arguments
from risingpy.frontend.binder.typing.type_names import resolve_type
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.parser.ast import (
    Deallocate,
    Execute,
    InnerStatement,
    ParsedStatement,
    Prepare,
    Query,
    Select,
    TypeName,
)
from risingpy.frontend.portals import PreparedEntry
from risingpy.frontend.results import CommandTag, Result, Statement
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.placing import known_types
from risingpy.optimizer.rules import optimize
from risingpy.plan.expressions import Expr
from risingpy.plan.logical import Field, Values
from risingpy.types import SqlType
from risingpy.types.far_moments import value_of


@dataclass(frozen=True, slots=True)
class PreparedParts:
    """The parts of an EXECUTE: the prepared statement, its parameters' types, and their values."""

    statement: Statement | None
    types: tuple[SqlType, ...]
    values: tuple[object | None, ...]


def bind(
    session: StatementContext, parsed: ParsedStatement, statement: Prepare, parameter_types: Sequence[SqlType]
) -> Command:
    """The inner statement is bound when PREPARE runs. Raises 42P05 for a name in use."""
    oids = [_oid_of(session, name) for name in statement.types]
    [inner] = inner_statements(session, statement.statement)

    def run(parameters: Parameters) -> Result:
        if statement.name in session.statements:
            raise SqlError(f'prepared statement "{statement.name}" already exists', sqlstate="42P05")
        bound = session.prepare(inner, oids)
        session.statements[statement.name] = PreparedEntry(bound, parsed.text, from_sql=True)
        return Result(CommandTag("PREPARE"))

    return Command(run)


def _oid_of(session: StatementContext, name: TypeName) -> int:
    """The OID of a declared type, as in Parse; 0 if the type must be inferred."""
    if name.text.lower() == "unknown":
        return 0
    return resolve_type(name.text, name.position, known_types(session), of_column=False).oid


def inner_statements(session: StatementContext, inner: InnerStatement) -> Sequence[Statement]:
    """The statements of a text within another one; their errors have positions in the whole text."""
    return session.split(" " * (inner.position - 1) + inner.text)


def bind_execute(
    session: StatementContext, parsed: ParsedStatement, statement: Execute, parameter_types: Sequence[SqlType]
) -> Command:
    """Runs the prepared statement, whose tag and rows are the answer. Raises 26000 for an unknown name.

    Errors in arguments come now; errors of the run have no position, since it would be one in the text of the PREPARE.
    """
    prepared = _find(session, statement.name).prepared
    if prepared is None:
        return Command(lambda parameters: Result(CommandTag("EXECUTE")), lasts=False)

    def run(parameters: Parameters) -> Result:
        values = _values(session, statement, prepared.parameter_types)
        try:
            return session.run_prepared(prepared, values)
        except SqlError as error:
            error.position = None  # it would be a position in the text of the PREPARE
            raise

    _bound_arguments(session, statement, prepared.parameter_types)  # raises errors in the arguments now
    return Command(run, prepared.fields, lasts=False)


def executed_query(session: StatementContext, statement: Execute) -> tuple[Query, PreparedParts]:
    """The query that an EXECUTE runs, and its parts. Raises 42809 for a prepared statement that is none."""
    parts = executed_parts(session, statement)
    prepared = None if parts is None else parts.statement
    if parts is None or not isinstance(prepared, ParsedStatement) or not isinstance(prepared.statement, Select):
        raise WrongObjectType("prepared statement is not a SELECT")
    return prepared.statement.query, parts


def executed_parts(session: StatementContext, statement: Execute) -> PreparedParts | None:
    """The parts of an EXECUTE for EXPLAIN; None if the prepared text is empty."""
    prepared = _find(session, statement.name).prepared
    if prepared is None:
        return None
    types = prepared.parameter_types
    return PreparedParts(prepared.statement, types, _values(session, statement, types))


def _bound_arguments(session: StatementContext, statement: Execute, types: Sequence[SqlType]) -> tuple[Expr, ...]:
    return bind_arguments(
        statement, types, session.database.reads.catalog, session.search_path(), session=session.session_values()
    )


def _values(session: StatementContext, statement: Execute, types: Sequence[SqlType]) -> tuple[object | None, ...]:
    """The arguments' values, as Bind would decode them."""
    return values_of(session, _bound_arguments(session, statement, types), ())


def values_of(
    session: StatementContext, expressions: Sequence[Expr], parameters: Parameters
) -> tuple[object | None, ...]:
    """The values of expressions without columns, as a client's parameters."""
    if not expressions:
        return ()
    fields = tuple(Field(f"c{index}", expr.type) for index, expr in enumerate(expressions))
    plan = optimize(Values((tuple(expressions),), fields), session.check)
    row = session.run_to_table(session.planned(plan), parameters)
    return first_row(row)


def first_row(rows: pa.Table | pa.RecordBatch) -> tuple[object | None, ...]:
    """The values of the first row, as a client's parameters."""
    return tuple(_hashable(value_of(column, 0)) for column in rows.columns)


def _hashable(value: object) -> object:
    """The value in the form of a `Literal`: arrays and structs as tuples."""
    match value:
        case list() | tuple():
            return value if isinstance(value, MonthDayNano) else tuple(_hashable(item) for item in value)
        case dict():
            return tuple(_hashable(item) for item in value.values())
    return value


def bind_deallocate(
    session: StatementContext, parsed: ParsedStatement, statement: Deallocate, parameter_types: Sequence[SqlType]
) -> Command:
    """Raises 26000 for an unknown name; DEALLOCATE ALL forgets the extended protocol's statements too."""

    def run(parameters: Parameters) -> Result:
        if statement.name is None:
            session.statements.clear()
            return Result(CommandTag("DEALLOCATE ALL"))
        _find(session, statement.name)
        del session.statements[statement.name]
        return Result(CommandTag("DEALLOCATE"))

    return Command(run)


def _find(session: StatementContext, name: str) -> PreparedEntry:
    entry = session.statements.get(name)
    if entry is None:
        raise UndefinedStatement(f'prepared statement "{name}" does not exist')
    return entry
