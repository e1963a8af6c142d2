"""A materialized view as it is to be created: by its statement, or anew when what it reads is copied."""

from __future__ import annotations

from risingpy.errors import Check, FeatureNotSupported
from risingpy.frontend.binder import BoundView, SessionValues, bind_view
from risingpy.frontend.binder.ddl.end_of_rows import ttl_of_view
from risingpy.frontend.deparse.sight import sight_of
from risingpy.frontend.parser import parse
from risingpy.frontend.parser.ast import CreateMaterializedView
from risingpy.meta.schema.jobs.views_of_copy import Anew
from risingpy.meta.schema.relations import NewMaterializedView
from risingpy.optimizer.stream.closing_column import optimize_view
from risingpy.plan.catalog import Catalog, MaterializedView


def new_materialized_view(
    statement: CreateMaterializedView, text: str, schema: str, bound: BoundView, catalog: Catalog, check: Check
) -> NewMaterializedView:
    """The view of a statement with this text, whose query was bound in the catalog."""
    plan = optimize_view(
        bound.query.plan,
        catalog,
        emit_on_window_close=statement.emit_on_window_close,
        recursion_limit=statement.recursion_limit,
        check=check,
    )
    return NewMaterializedView(
        schema_name=schema,
        name=statement.name.name,
        plan=plan,
        column_names=bound.column_names,
        texts=bound.query.texts,
        domains=bound.query.domains,
        definition=text,
        query=statement.query.text,
        depends_on=tuple(catalog.relations[relation_id] for relation_id in bound.query.dependencies),
        functions=bound.query.functions,
        emit_on_window_close=statement.emit_on_window_close,
        ttl=ttl_of_view(statement),
        refresh_seconds=statement.refresh_seconds,
    )


def anew(check: Check) -> Anew:
    """How views are bound anew; `check` is called meanwhile."""
    mine = SessionValues(check=check)
    another = SessionValues("", "", database="", schema=None, version="", time_zone="Asia/Kathmandu", check=check)

    def bind(view: MaterializedView, catalog: Catalog) -> NewMaterializedView:
        """Raises FeatureNotSupported if the query means something else in another session: which counted is unknown."""
        [parsed] = parse(view.definition)
        statement = parsed.statement
        assert isinstance(statement, CreateMaterializedView)
        seen, path = sight_of(view, catalog)
        bound, its = (bind_view(statement, seen, path, session=session) for session in (mine, another))
        if bound.query.plan != its.query.plan:
            raise FeatureNotSupported(
                f'cannot build materialized view "{view.name}" anew: its query depends on the session that created it',
                hint="Drop the materialized view, and create it again afterwards.",
            )
        return new_materialized_view(statement, view.definition, view.schema_name, bound, seen, check)

    return bind
