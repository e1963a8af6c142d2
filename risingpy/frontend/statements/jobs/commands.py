"""CANCEL JOBS, WAIT, KILL, and ALTER … SET BACKFILL_RATE_LIMIT."""

from __future__ import annotations

from collections.abc import Sequence

from risingpy.errors import SqlError, WrongObjectType
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.parser.ast import AlterBackfill, CancelJobs, KillProcess, ParsedStatement, WaitJobs
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.alter_table import altered_relation
from risingpy.frontend.statements.jobs.creation import progress_notices
from risingpy.frontend.statements.rights.checks import check_owns
from risingpy.frontend.statements.text_table import text_fields, text_rows
from risingpy.meta.schema.jobs.created_jobs import with_limit
from risingpy.meta.sessions import Signal
from risingpy.plan.catalog import InternalTable
from risingpy.types import SqlType


def bind_cancel(
    session: StatementContext, parsed: ParsedStatement, statement: CancelJobs, parameter_types: Sequence[SqlType]
) -> Command:
    """Removes jobs in creation; its rows are their ids.

    Running raises UndefinedObject for an id that SHOW JOBS does not have, InsufficientPrivilege for another's job.
    """
    fields = text_fields("Id")

    def run(parameters: Parameters) -> Result:
        found = {each.relation.relation_id: each.relation for each in session.database.introspection.ddl_progress()}
        for job_id in statement.ids:
            if job_id not in found:
                hint = "SHOW JOBS has the ids of those that can be cancelled: views, indexes and sinks in creation."
                raise SqlError(f"job {job_id} does not exist", sqlstate="42704", hint=hint)
            check_owns(session, found[job_id])
        session.ddl.jobs.cancel(statement.ids)
        rows: list[tuple[str | None, ...]] = [(str(job_id),) for job_id in statement.ids]
        return Result(CommandTag("CANCEL JOBS"), fields, text_rows(fields, rows))

    return Command(run, fields)


def bind_wait(
    session: StatementContext, parsed: ParsedStatement, statement: WaitJobs, parameter_types: Sequence[SqlType]
) -> Command:
    """Returns when nothing is in creation any more that is now."""

    def run(parameters: Parameters) -> Result:
        ids = [each.relation.relation_id for each in session.database.introspection.ddl_progress()]
        session.ddl.jobs.until_none(ids, session.cancelled, progress_notices(session))
        return Result(CommandTag("WAIT"))

    return Command(run)


def bind_kill(
    session: StatementContext, parsed: ParsedStatement, statement: KillProcess, parameter_types: Sequence[SqlType]
) -> Command:
    """As pg_cancel_backend: the other session goes on. A warning tells that there is no such session."""

    def run(parameters: Parameters) -> Result:
        session.limits().signal(Signal.CANCEL.value, statement.process_id, 0)
        return Result(CommandTag("KILL"))

    return Command(run)


def bind_alter_limit(
    session: StatementContext, parsed: ParsedStatement, statement: AlterBackfill, parameter_types: Sequence[SqlType]
) -> Command:
    """Changes how fast a relation in creation reads the rows of its upstreams; afterwards it has no effect."""
    tag = CommandTag(f"ALTER {statement.kind.noun.upper()}")

    def run(parameters: Parameters) -> Result:
        relation = altered_relation(session, statement.name, if_exists=statement.if_exists, in_creation=True)
        if relation is None:
            return Result(tag)
        if not isinstance(relation, statement.kind) or isinstance(relation, InternalTable):
            message = f'"{relation.name}" is not a {statement.kind.noun}'
            raise WrongObjectType(message, position=statement.name.position)
        if not relation.is_being_created:
            session.notice(
                f'{relation.noun} "{relation.name}" has all rows of its upstreams: there is nothing to limit'
            )
            return Result(tag)
        relation_id = relation.relation_id
        session.ddl.change(lambda state: with_limit(state, relation_id, statement.limit), session.cancelled)
        return Result(tag)

    return Command(run)
