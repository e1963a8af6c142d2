"""VACUUM, ANALYZE, REINDEX and their like: what they name is checked, and a notice says why there is nothing to do.

RECOVER has something to do."""

from __future__ import annotations

from collections.abc import Sequence

from risingpy.errors import InsufficientPrivilege, UndefinedColumn, UndefinedTable, WrongObjectType
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.parser.ast import Maintenance, NamedTable, ObjectName, ParsedStatement, Recover
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.describe import named_relation
from risingpy.frontend.statements.rights.checks import check_owns
from risingpy.meta.schema.recovering import Recovered, recover, recover_all
from risingpy.meta.state import MetaState
from risingpy.plan.catalog import Catalog, CreatedRelation, Index, InternalTable, MaterializedView
from risingpy.plan.catalog.roles import CHECKPOINT_ROLE_ID
from risingpy.types import SqlType

_REASONS = {
    "VACUUM": "the store gives back the space of deleted rows by itself",
    "ANALYZE": "queries are planned without statistics that would have to be collected",
    "CHECKPOINT": "what a statement has written is durable when it returns",
    "CLUSTER": "rows are stored in the order of their keys",
    "REINDEX": "indexes are changed together with their tables",
    "CREATE EXTENSION": "the types and functions that are there of extensions are built in",
    "REFRESH MATERIALIZED VIEW": "materialized views follow their tables",
}
_FOR_OWNERS = ("CLUSTER", "REINDEX", "REFRESH MATERIALIZED VIEW")


def bind(
    session: StatementContext, parsed: ParsedStatement, statement: Maintenance, parameter_types: Sequence[SqlType]
) -> Command:
    """Raises UndefinedTable or UndefinedColumn for what is not there; running raises 25001 as PostgreSQL does."""
    for table in statement.tables:
        _check(session, statement.command, table)

    def run(parameters: Parameters) -> Result:
        if statement.alone is not None:
            session.scope.refuse_block(statement.alone)
        if statement.command == "CHECKPOINT":
            _check_may_checkpoint(session)
        if statement.command == "REFRESH MATERIALIZED VIEW" and _refreshed(session, statement.tables[0]):
            return Result(CommandTag(statement.command))
        session.notice(f"{statement.command} has nothing to do here: {_REASONS[statement.command]}")
        return Result(CommandTag(statement.command))

    return Command(run)


def _refreshed(session: StatementContext, table: NamedTable) -> bool:
    """Refreshes a view that is refreshed at intervals; False if it is none."""
    relation = named_relation(session, table.name)
    if not isinstance(relation, MaterializedView) or relation.refresh_seconds is None:
        return False
    session.scope.refuse_block("REFRESH MATERIALIZED VIEW")  # it would wait for what the transaction has written
    session.database.reads.flush(session.cancelled)
    session.database.refreshes.run(relation.relation_id, session.cancelled)
    return True


def bind_recover(
    session: StatementContext, parsed: ParsedStatement, statement: Recover, parameter_types: Sequence[SqlType]
) -> Command:
    """Starts again what has failed, and what has failed with it; returns when it has all rows.

    Raises SqlError (55000) for a named relation that has not failed, and InsufficientPrivilege unless the session owns
    it. Without names, RECOVER starts everything of the session's own.
    """

    def may(relation: CreatedRelation) -> bool:
        return session.database.reads.catalog.has_role(session.identity.current_id, relation.owner)

    def change(state: MetaState) -> tuple[MetaState, Recovered]:
        if not statement.names:
            return recover_all(state, may, session.database.reads.catalog.database_id)
        roots = []
        catalog = state.catalog.seen_from(session.database.reads.catalog.database_id)
        for name in statement.names:
            relation = _recovered(session, catalog, statement, name)
            if not may(relation):
                raise InsufficientPrivilege(f"must be owner of {relation.noun} {relation.name}")
            roots.append(relation)
        return recover(state, roots)

    def run(parameters: Parameters) -> Result:
        recovered = session.database.recovery.run(change, session.cancelled)
        for notice in recovered.notices:
            session.notice(notice)
        if not (recovered.relation_ids or recovered.notices):
            session.notice("nothing has failed that could be recovered")
        return Result(CommandTag("RECOVER"))

    return Command(run)


def _recovered(session: StatementContext, catalog: Catalog, statement: Recover, name: ObjectName) -> CreatedRelation:
    relation = catalog.find(name.name, name.schema, session.search_path())
    if relation is None or isinstance(relation, InternalTable):
        shown = name.name if name.schema is None else f"{name.schema}.{name.name}"
        raise UndefinedTable(f'relation "{shown}" does not exist', position=name.position)
    if statement.kind is not None and not isinstance(relation, statement.kind):
        article = "an" if statement.kind is Index else "a"
        raise WrongObjectType(f'"{relation.name}" is not {article} {statement.kind.noun}', position=name.position)
    return relation


def _check_may_checkpoint(session: StatementContext) -> None:
    identity, catalog = session.identity, session.database.reads.catalog
    if not (identity.is_superuser or CHECKPOINT_ROLE_ID in catalog.inherited(identity.current_id)):
        raise InsufficientPrivilege("must be superuser or have privileges of pg_checkpoint to do CHECKPOINT")


def _check(session: StatementContext, command: str, table: NamedTable) -> None:
    relation = named_relation(session, table.name)
    if command in _FOR_OWNERS:
        check_owns(session, relation)
    names = {column.name for column in relation.columns if not column.hidden}
    for column in table.columns:
        if column.name not in names:
            message = f'column "{column.name}" of relation "{relation.name}" does not exist'
            raise UndefinedColumn(message, position=column.position)
    if command == "REFRESH MATERIALIZED VIEW" and not isinstance(relation, MaterializedView):
        raise WrongObjectType(f'"{relation.name}" is not a materialized view', position=table.name.position)
