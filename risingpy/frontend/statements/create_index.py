"""CREATE INDEX: returns when the index has all rows."""

from __future__ import annotations

from collections.abc import Sequence

from risingpy.errors import DuplicateRelation
from risingpy.frontend.binder import BoundAlterTable, BoundIndex, bind_index
from risingpy.frontend.binder.ddl.alter_constraints import ConstraintChanges
from risingpy.frontend.binder.ddl.constraints import BoundUnique, refuse_special
from risingpy.frontend.binder.statement import make_context
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.parser.ast import CreateIndex, ParsedStatement
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.alter_table import replace_altered
from risingpy.frontend.statements.create_view import without_effect
from risingpy.frontend.statements.jobs.creation import creation_of
from risingpy.frontend.statements.rights.checks import check_indexes
from risingpy.meta.schema.indexes import NewIndex
from risingpy.plan.catalog import Index, Table
from risingpy.types import SqlType


def bind(
    session: StatementContext, parsed: ParsedStatement, statement: CreateIndex, parameter_types: Sequence[SqlType]
) -> Command:
    """Binds when it runs, on the catalog of that moment. IF NOT EXISTS gives a notice (42P07).

    Every index is made while others write: CONCURRENTLY only means that no transaction block may be open (25001).
    """

    def run(parameters: Parameters) -> Result:
        if statement.concurrently:
            session.scope.refuse_block("CREATE INDEX CONCURRENTLY")
        catalog = session.scope.schema.shown(session.database.reads.catalog)
        bound = bind_index(statement, catalog, session.search_path(), session=session.session_values())
        check_indexes(session, bound.relation)
        if bound.definition.unique is not None and isinstance(bound.relation, Table):
            _create_unique(session, statement, bound, parsed.text)
            return Result(CommandTag("CREATE INDEX"))
        index = NewIndex(bound.name, bound.relation, bound.definition, parsed.text)
        created = session.ddl.create_index(
            index,
            if_not_exists=statement.if_not_exists,
            creation=creation_of(session),
            cancelled=session.cancelled,
        )
        without_effect(session, statement.storage_parameters)
        if created and bound.definition.nearest is not None:
            _wait_for_graph(session, bound)
        if not created:
            session.notice(f'relation "{bound.name}" already exists, skipping', sqlstate=DuplicateRelation.sqlstate)
        return Result(CommandTag("CREATE INDEX"))

    return Command(run)


def _wait_for_graph(session: StatementContext, bound: BoundIndex) -> None:
    """Returns when searches use the index, unless `background_ddl` says not to wait."""
    catalog = session.database.reads.catalog
    index = catalog.find(bound.name, bound.relation.schema_name, ())
    if isinstance(index, Index) and session.settings.get("background_ddl") != "true":
        indexes = session.database.vector_indexes
        indexes.until_built(catalog, index.relation_id, session.limits().look)
        status = indexes.status().get(index.relation_id)
        if status is not None and status.error is not None:
            message = f'index "{index.name}" finds no rows yet, and searches compare all of them: {status.error}'
            hint = "It is tried again by itself; rw_catalog.rw_vector_indexes shows its state."
            session.notice(message, severity="WARNING", sqlstate="01000", hint=hint)


def _create_unique(session: StatementContext, statement: CreateIndex, bound: BoundIndex, text: str) -> None:
    """CREATE UNIQUE INDEX. Raises 23505 if rows of the table have equal keys."""
    table, position = bound.relation, statement.table.position
    assert isinstance(table, Table)
    catalog = session.database.reads.catalog
    refuse_special(table, catalog, f'create a unique index on table "{table.name}"', position)
    if catalog.find(bound.name, table.schema_name, ()) is not None:
        if not statement.if_not_exists:
            raise DuplicateRelation(f'relation "{bound.name}" already exists')
        session.notice(f'relation "{bound.name}" already exists, skipping', sqlstate=DuplicateRelation.sqlstate)
        return
    context = make_context(catalog, session.search_path(), (), session.session_values())
    changes = ConstraintChanges(context, catalog, session.search_path(), table)
    changes.add_unique(table, BoundUnique(bound.name, bound.definition, text))
    replace_altered(session, table, BoundAlterTable(table, tuple(changes.checks), (), cascade=False, changes=changes))
    without_effect(session, statement.storage_parameters)
