"""INSERT."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from risingpy.frontend.binder import bind_insert
from risingpy.frontend.bound_parameters import with_parameters
from risingpy.frontend.literal_rows import literal_rows
from risingpy.frontend.parser.ast import Insert, ParsedStatement
from risingpy.frontend.prepared import Parameters, PreparedStatement
from risingpy.frontend.returning import returned, returning_fields
from risingpy.frontend.wire.session_protocol import Result
from risingpy.frontend.written_rows import check_writable, inserted, write_inserted
from risingpy.optimizer.rules import optimize
from risingpy.plan.logical import LogicalPlan
from risingpy.types import SqlType

if TYPE_CHECKING:
    from risingpy.frontend.session import ClientSession


def prepare(
    session: ClientSession, parsed: ParsedStatement, statement: Insert, parameter_types: Sequence[SqlType]
) -> PreparedStatement:
    bound = bind_insert(
        statement,
        session.database.catalog,
        session.search_path(),
        parameter_types,
        session=session.session_values(),
    )
    plan = optimize(bound.plan, session.check)

    def run(parameters: Parameters) -> Result:
        check_writable(session, "INSERT")
        rows = inserted(session, bound.relation, _rows(session, plan, parameters))
        answer = returned(session, bound.returning, rows, parameters)
        write_inserted(session, bound.relation, rows)
        return Result(f"INSERT 0 {rows.num_rows}", returning_fields(bound.returning), answer)

    return PreparedStatement(run, returning_fields(bound.returning), bound.parameter_types)


def _rows(session: ClientSession, plan: LogicalPlan, parameters: Parameters) -> pa.Table:
    constant = literal_rows(with_parameters(plan, parameters))
    return constant if constant is not None else session.run_to_table(plan, parameters)
