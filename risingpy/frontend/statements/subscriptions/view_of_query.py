"""The view that SUBSCRIBE TO (query) reads: made for the statement, shown in no list, and dropped with it.

It is a materialized view like every other one, so its changes are those of the query, whatever the query is. A server
that starts again drops what an earlier one left.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from risingpy.frontend.binder import bind_view
from risingpy.frontend.binder.ddl.create import BoundView
from risingpy.frontend.parser.ast import CreateMaterializedView, ObjectName, Query
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.placing import schema_for
from risingpy.meta.schema.relations import NewMaterializedView
from risingpy.optimizer.stream.closing_column import optimize_view
from risingpy.plan.catalog import MaterializedView


def bound_query(session: StatementContext, query: Query) -> BoundView:
    """The query as a view's: parameters cannot stand in it, and its columns need distinct names."""
    statement = CreateMaterializedView(ObjectName("query", None, query.position), (), query)
    catalog = session.database.reads.catalog
    return bind_view(statement, catalog, session.search_path(), session=session.session_values())


@contextmanager
def view_of(session: StatementContext, query: Query) -> Iterator[MaterializedView]:
    """The view, with all rows of the query, as long as the block runs."""
    bound, catalog = bound_query(session, query), session.database.reads.catalog
    name = f"__subscribe_{uuid.uuid4().hex[:12]}"
    schema = schema_for(session, ObjectName(name, None, query.position))
    view = NewMaterializedView(
        schema_name=schema,
        name=name,
        plan=optimize_view(bound.query.plan, catalog, emit_on_window_close=False, check=session.check),
        column_names=bound.column_names,
        definition=f"CREATE MATERIALIZED VIEW {name} AS {query.text}",
        query=query.text,
        depends_on=tuple(catalog.relations[relation_id] for relation_id in bound.query.dependencies),
        functions=bound.query.functions,
        is_temporary=True,
    )
    session.ddl.create_materialized_view(view, cancelled=session.cancelled)
    made = session.database.reads.catalog.find(name, schema, ())
    assert isinstance(made, MaterializedView)
    try:
        yield made
    finally:
        session.ddl.drop_unused(made.relation_id)
