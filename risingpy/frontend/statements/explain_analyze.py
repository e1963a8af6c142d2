"""EXPLAIN ANALYZE of a materialized view, a table or an index: its operators' rows, times and state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from risingpy.errors import QueryCanceled, SqlError, WrongObjectType
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.parser.ast import ExplainAnalyze, ParsedStatement
from risingpy.frontend.results import CommandTag, Result, ResultField
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.describe import named_relation
from risingpy.frontend.statements.rights.checks import check_allowed
from risingpy.optimizer.explain import AnalyzedOperator, explain_analyze
from risingpy.plan.catalog import Relation
from risingpy.plan.catalog.acl import Privilege
from risingpy.plan.graph import Job
from risingpy.plan.operator_work import OperatorPosition, OperatorWork
from risingpy.types import BIGINT, DOUBLE, VARCHAR, SqlType

_FIELDS = (
    ResultField("identity", VARCHAR),
    ResultField("fragment", BIGINT),
    ResultField("stage", BIGINT),
    ResultField("rows_in", BIGINT),
    ResultField("rows_out", BIGINT),
    ResultField("time_ms", DOUBLE),
    ResultField("state_rows", BIGINT),
    ResultField("state_bytes", BIGINT),
    ResultField("state_lookups", BIGINT),
    ResultField("state_found", BIGINT),
)


def bind(
    session: StatementContext, parsed: ParsedStatement, statement: ExplainAnalyze, parameter_types: Sequence[SqlType]
) -> Command:
    """A row per operator: its work since the start, or in the seconds waited. 42809 for another kind.

    Raises InsufficientPrivilege unless the session may read the relation: EXPLAIN needs what its query would need.
    """
    relation = named_relation(session, statement.name)
    if relation.noun != statement.words:
        raise WrongObjectType(f'"{relation.name}" is not a {statement.words}', position=statement.name.position)
    check_allowed(session, relation, Privilege.SELECT)

    def run(parameters: Parameters) -> Result:
        before = _work_before(session, statement.seconds)
        snapshot = session.snapshot()
        try:
            tables = snapshot.view.statistics()
        finally:
            snapshot.view.release()
        now = session.database.introspection.operator_work()
        work = {at: done.minus(before.get(at, OperatorWork())) for at, done in now.items()}
        return Result(
            CommandTag("EXPLAIN"), _FIELDS, _rows(explain_analyze(_running_job(session, relation), work, tables))
        )

    return Command(run, _FIELDS)


def _work_before(session: StatementContext, seconds: float | None) -> Mapping[OperatorPosition, OperatorWork]:
    """Waits for `seconds`, and returns the work done before them; without `seconds`, no work."""
    if seconds is None:
        return {}
    before = session.database.introspection.operator_work()
    if session.cancelled.wait(seconds):
        raise QueryCanceled("canceling statement due to user request")
    return before


def _running_job(session: StatementContext, relation: Relation) -> Job:
    job = session.database.reads.state.jobs.get(relation.relation_id)
    if job is None:
        raise SqlError(
            f'{relation.noun} "{relation.name}" has stopped because of an error',
            sqlstate="55000",
            hint="The server's log has the error. DROP it and create it again.",
        )
    return job


def _rows(operators: Sequence[AnalyzedOperator]) -> Iterator[pa.RecordBatch]:
    rows = [
        (
            *(o.identity, o.fragment_id, o.stage, o.rows_in, o.rows_out, o.milliseconds),
            *(o.state_rows, o.state_bytes, o.lookups, o.found),
        )
        for o in operators
    ]
    columns = zip(*rows, strict=True)
    arrays = [pa.array(column, field.type.arrow) for column, field in zip(columns, _FIELDS, strict=True)]
    return iter([pa.RecordBatch.from_arrays(arrays, names=[f"c{index}" for index in range(len(arrays))])])
