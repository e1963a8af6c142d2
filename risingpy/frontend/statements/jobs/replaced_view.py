"""CREATE OR REPLACE MATERIALIZED VIEW: which view is replaced, and whether it may be by this query."""

from __future__ import annotations

from risingpy.errors import FeatureNotSupported, InvalidTableDefinition, SqlError, WrongObjectType
from risingpy.frontend.binder import BoundView
from risingpy.frontend.parser.ast import CreateMaterializedView
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.rights.checks import check_owns
from risingpy.meta.schema.jobs.replacing import refuse_readers
from risingpy.plan.catalog import MaterializedView


def replaced_view(
    session: StatementContext, statement: CreateMaterializedView, schema: str, bound: BoundView
) -> MaterializedView | None:
    """The view that OR REPLACE replaces; None if there is none.

    Raises PostgreSQL's errors of CREATE OR REPLACE VIEW: columns stay, under their names and with their types, and new
    ones come after them. Raises DependentObjectsStillExist if something reads the view.
    """
    if not statement.or_replace:
        return None
    catalog, name = session.database.reads.catalog, statement.name
    found = catalog.find(name.name, schema, ())
    if found is None or found.is_being_created:
        return None
    if not isinstance(found, MaterializedView):
        raise WrongObjectType(f'"{name.name}" is not a materialized view', position=name.position)
    check_owns(session, found, name.position)
    if session.settings.get("background_ddl") == "true":
        message = "CREATE OR REPLACE MATERIALIZED VIEW of a view that exists does not run in the background"
        raise FeatureNotSupported(message, hint="SET background_ddl = false.", position=name.position)
    if found.relation_id in bound.query.dependencies:
        message = f'materialized view "{found.name}" cannot be replaced by a query that reads it'
        raise SqlError(message, sqlstate="42P17", position=name.position)
    refuse_readers(session.database.reads.state, found)
    _check_columns(found, bound)
    return found


def _check_columns(found: MaterializedView, bound: BoundView) -> None:
    kept = [column for column in found.columns if not column.hidden]
    columns = [column for column in bound.columns if not column.hidden]
    if len(columns) < len(kept):
        raise InvalidTableDefinition("cannot drop columns from view")
    for before, after in zip(kept, columns, strict=False):
        if before.name != after.name:
            message = f'cannot change name of view column "{before.name}" to "{after.name}"'
            hint = "ALTER MATERIALIZED VIEW ... SWAP WITH exchanges it with a view of other columns."
            raise InvalidTableDefinition(message, hint=hint)
        if before.type != after.type:
            message = f'cannot change data type of view column "{before.name}" from {before.type} to {after.type}'
            raise InvalidTableDefinition(message)
