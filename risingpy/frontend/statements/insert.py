"""INSERT."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pyarrow as pa

from risingpy.frontend.binder import bind_insert
from risingpy.frontend.binder.dml.insert import BoundInsert
from risingpy.frontend.command import Command, Parameters, PlainInsert
from risingpy.frontend.constraints.guarded import guarded
from risingpy.frontend.parser.ast import Insert, ParsedStatement
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.returning import returned, returning_fields
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.writes.insert_by_key import inserted_by_key
from risingpy.frontend.statements.writes.on_conflict import inserting_or_updating
from risingpy.frontend.statements.writes.repeated_insert import (
    RowsOfExecutions,
    repeated_insert,
    rows_of_executions,
)
from risingpy.frontend.written_rows import check_writable, inserted, write_inserted
from risingpy.optimizer.rules import optimize
from risingpy.plan.catalog import Catalog
from risingpy.types import SqlType


def bind(
    session: StatementContext, parsed: ParsedStatement, statement: Insert, parameter_types: Sequence[SqlType]
) -> Command:
    """Computes the rows first and logs them together, so a failing expression leaves nothing behind.

    With RETURNING the rows are those that were written, defaults and numbers included. The tag is `INSERT 0 rows`.
    """
    catalog = session.database.reads.catalog

    def bind_on(catalog: Catalog) -> BoundInsert:
        path, values = session.search_path(), session.session_values()
        return bind_insert(statement, catalog, path, parameter_types, session=values)

    bound = bind_on(catalog)
    if bound.on_conflict is not None:
        return inserting_or_updating(session, bound, bind_on)
    query = session.planned(optimize(bound.plan, session.check), catalog)

    def written(visible: pa.Table, parameters: Parameters) -> Result:
        rows = inserted(session, bound.relation, visible)
        answer = returned(session, bound.returning, rows, parameters)
        if not inserted_by_key(session, bound.relation, rows):
            with guarded(session, bound.relation):
                write_inserted(session, bound.relation, rows)
        return Result(CommandTag("INSERT 0", rows.num_rows), returning_fields(bound.returning), answer)

    def run(parameters: Parameters) -> Result:
        check_writable(session, "INSERT")
        return written(session.run_to_table(query, parameters), parameters)

    command = Command(
        run,
        returning_fields(bound.returning),
        bound.parameter_types,
        takes_constants=query.takes_constants(len(bound.parameter_types)),
    )
    many = rows_of_executions(session, query)
    if many is None or bound.returning is not None:
        return command
    plain = PlainInsert(query, bound.relation, _of_many(session, many, written))
    return replace(command, inserts=plain, repeated=repeated_insert(session, bound.relation, many))


def _of_many(
    session: StatementContext, many: RowsOfExecutions, written: Callable[[pa.Table, Parameters], Result]
) -> Callable[[Sequence[Parameters]], Result | None]:
    """`PlainInsert.run_rows`."""

    def run_rows(executions: Sequence[Parameters]) -> Result | None:
        check_writable(session, "INSERT")
        visible = many(executions)
        return None if visible is None else written(visible, ())

    return run_rows
