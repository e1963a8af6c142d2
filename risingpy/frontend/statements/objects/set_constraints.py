"""SET CONSTRAINTS."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from risingpy.errors import SqlError, UndefinedObject, WrongObjectType
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.constraints.deferred import look_at_deferred
from risingpy.frontend.parser.ast import ObjectName, ParsedStatement, SetConstraints
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.system_catalog.constraints.listed import constraints_of
from risingpy.plan.catalog import Deferrable, Table
from risingpy.types import SqlType


def bind(
    session: StatementContext, parsed: ParsedStatement, statement: SetConstraints, parameter_types: Sequence[SqlType]
) -> Command:
    """For the rest of the transaction. IMMEDIATE looks at what was put off, and fails as the commit would."""

    def run(parameters: Parameters) -> Result:
        keys = [key for name in statement.names for key in _named(session, name, deferred=statement.deferred)]
        if not session.transaction.is_open:
            message = "SET CONSTRAINTS can only be used in transaction blocks"
            session.notice(message, severity="WARNING", sqlstate="25P01")
            return Result(CommandTag("SET CONSTRAINTS"))
        deferral, ids = session.transaction.deferral, {key.constraint_id for key in keys}
        if not statement.deferred:
            look_at_deferred(session, ids if statement.names else None)
        if statement.names:
            deferral.modes.update(dict.fromkeys(ids, statement.deferred))
        else:
            deferral.set_all(deferred=statement.deferred)
        return Result(CommandTag("SET CONSTRAINTS"))

    return Command(run)


def _named(session: StatementContext, name: ObjectName, *, deferred: bool) -> Iterator[Deferrable]:
    """The deferrable constraints of that name in its schema, or in the first schema of the search path that has one.

    What is always looked at at once may be named with IMMEDIATE, which changes nothing of it.
    """
    catalog = session.database.reads.catalog
    if name.schema is not None and name.schema not in catalog.schemas:
        raise SqlError(f'schema "{name.schema}" does not exist', sqlstate="3F000", position=name.position)
    for schema in session.search_path() if name.schema is None else (name.schema,):
        tables = [each for each in catalog.own_relations if isinstance(each, Table) and each.schema_name == schema]
        found = [each for table in tables for each in constraints_of(catalog, table) if each.name == name.name]
        for each in found:
            constraint = each.deferrable
            if constraint is not None and constraint.deferrable:
                yield constraint
            elif deferred:
                message = f'constraint "{each.name}" is not deferrable'
                raise WrongObjectType(message, position=name.position)
        if found:
            return
    raise UndefinedObject(f'constraint "{name}" does not exist', position=name.position)
