"""SELECT, VALUES, WITH, TABLE."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from risingpy.batch.parameters import bound as with_values
from risingpy.frontend.binder import SetConfig, bind_query
from risingpy.frontend.binder.query.column_origins import NONE, Origin
from risingpy.frontend.command import Command, Parameters, PlainQuery
from risingpy.frontend.parser.ast import ParsedStatement, Select
from risingpy.frontend.results import CommandTag, Result, ResultField
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.transactions.transaction_modes import set_variable
from risingpy.optimizer.rules import optimize
from risingpy.plan.expressions import Literal
from risingpy.plan.logical import Limit, LogicalPlan, Project, Schema, Sort, SortKey, TopN
from risingpy.types import SqlType


def bind(
    session: StatementContext, parsed: ParsedStatement, statement: Select, parameter_types: Sequence[SqlType]
) -> Command:
    """Plans now and reads one epoch when it runs. A warning names views that have stopped. set_config() acts first."""
    catalog = session.database.reads.catalog
    bound = bind_query(
        statement.query,
        catalog,
        session.search_path(),
        parameter_types,
        session=session.session_values(),
    )
    query = session.planned(optimize(_in_order_of_firsts(bound.plan), session.check), catalog)
    fields = result_fields(bound.shown_fields, bound.origins)

    def run(parameters: Parameters) -> Result:
        _warn_of_stopped(session, bound.dependencies)
        set_settings(session, bound.settings, parameters)
        rows, spills = session.run_query(query, parameters), session.database.query_engines.file_if_crowded
        return Result(CommandTag("SELECT", counts_rows=True), fields, rows, spills=spills)

    takes_constants = query.takes_constants(len(bound.parameter_types))
    plain = None if bound.settings else PlainQuery(query, tuple(bound.dependencies))
    return Command(run, fields, bound.parameter_types, takes_constants=takes_constants, plain=plain)


def _in_order_of_firsts(plan: LogicalPlan) -> LogicalPlan:
    """The plan with the rows of a DISTINCT ON in the order of its expressions, unless ORDER BY says another.

    PostgreSQL finds the first rows in sorted ones, and tools rely on that (Drizzle-kit, for the columns of an index).
    The binder makes a TopN of nothing else.
    """
    match plan:
        case TopN():
            return Sort(plan, tuple(map(SortKey, plan.group_key)))
        case Project() | Limit():
            below = _in_order_of_firsts(plan.input)
            return plan if below is plan.input else replace(plan, input=below)
    return plan


def set_settings(session: StatementContext, settings: Sequence[SetConfig], parameters: Parameters) -> None:
    """Applies calls of set_config; a call with a NULL as name or value has no effect."""
    for each in settings:
        parts = (with_values(part, parameters) for part in (each.name, each.value, each.local))
        name, value, local = (part.value if isinstance(part, Literal) else None for part in parts)
        if isinstance(name, str) and isinstance(value, str) and not set_variable(session, name, (value,)):
            session.settings.set(name, (value,), local=bool(local))


def _warn_of_stopped(session: StatementContext, relation_ids: Sequence[int]) -> None:
    """Warns the client of relations whose job has failed: they have the rows of their last epoch."""
    for relation_id in relation_ids:
        relation = session.database.reads.catalog.relations.get(relation_id)
        if relation is not None and relation.has_stopped:
            session.notice(
                f'{relation.noun} "{relation.name}" has stopped because of an error: its rows are those from before it',
                severity="WARNING",
                hint=f"The server's log has the error. RECOVER {relation.noun.upper()} {relation.name} makes it anew.",
            )


def result_fields(schema: Schema, origins: Sequence[Origin] = ()) -> tuple[ResultField, ...]:
    """A plan's schema as result columns, with what they are columns of."""
    known = origins or [NONE] * len(schema)
    return tuple(ResultField(f.name, f.type, *origin) for f, origin in zip(schema, known, strict=True))
