"""VACUUM, ANALYZE, REINDEX and their like: what they name is checked, and a notice says why there is nothing to do."""

from __future__ import annotations

from collections.abc import Sequence

from risingpy.errors import SqlError, UndefinedColumn, WrongObjectType
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.parser.ast import Maintenance, NamedTable, ParsedStatement
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.describe import named_relation
from risingpy.frontend.transaction import TransactionStatus
from risingpy.plan.catalog import MaterializedView
from risingpy.types import SqlType

_REASONS = {
    "VACUUM": "the store gives back the space of deleted rows by itself",
    "ANALYZE": "queries are planned without statistics that would have to be collected",
    "CHECKPOINT": "what a statement has written is durable when it returns",
    "CLUSTER": "rows are stored in the order of their keys",
    "REINDEX": "indexes are changed together with their tables",
    "REFRESH MATERIALIZED VIEW": "materialized views follow their tables",
}
_NOT_IN_A_TRANSACTION = ("VACUUM", "CLUSTER")


def bind(
    session: StatementContext, parsed: ParsedStatement, statement: Maintenance, parameter_types: Sequence[SqlType]
) -> Command:
    """Raises UndefinedTable or UndefinedColumn for what is not there; running raises 25001 as PostgreSQL does."""
    for table in statement.tables:
        _check(session, statement.command, table)

    def run(parameters: Parameters) -> Result:
        is_open = session.transaction.status is not TransactionStatus.IDLE
        if is_open and statement.command in _NOT_IN_A_TRANSACTION:
            raise SqlError(f"{statement.command} cannot run inside a transaction block", sqlstate="25001")
        session.notice(f"{statement.command} has nothing to do here: {_REASONS[statement.command]}")
        return Result(CommandTag(statement.command))

    return Command(run)


def _check(session: StatementContext, command: str, table: NamedTable) -> None:
    relation = named_relation(session, table.name)
    names = {column.name for column in relation.columns if not column.hidden}
    for column in table.columns:
        if column.name not in names:
            message = f'column "{column.name}" of relation "{relation.name}" does not exist'
            raise UndefinedColumn(message, position=column.position)
    if command == "REFRESH MATERIALIZED VIEW" and not isinstance(relation, MaterializedView):
        raise WrongObjectType(f'"{relation.name}" is not a materialized view', position=table.name.position)
