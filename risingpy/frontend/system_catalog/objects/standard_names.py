"""information_schema's character_sets, collations, and view_table_usage."""

from __future__ import annotations

from collections.abc import Iterable

from risingpy.frontend.system_catalog.rights.sight import is_owner
from risingpy.frontend.system_catalog.system_relation import Row, SystemState, relation
from risingpy.plan.catalog import Index, View


def _character_sets(state: SystemState) -> Iterable[Row]:
    yield None, None, "UTF8", "UCS", "UTF8", state.catalog.database, "pg_catalog", "default"


def _collations(state: SystemState) -> Iterable[Row]:
    yield state.catalog.database, "pg_catalog", "default", "NO PAD"


def _view_tables(state: SystemState) -> Iterable[Row]:
    """What each plain view reads, if both are the session's role's, as in PostgreSQL."""
    database = state.catalog.database
    for view in state.relations:
        if isinstance(view, View) and is_owner(state, view):
            for read in map(state.catalog.relations.get, view.depends_on):
                if read is not None and not isinstance(read, Index) and is_owner(state, read):
                    yield database, view.schema_name, view.name, database, read.schema_name, read.name


CHARACTER_SETS = relation(
    "information_schema",
    "character_sets",
    "character_set_catalog name, character_set_schema name, character_set_name name, character_repertoire name,"
    "form_of_use name, default_collate_catalog name, default_collate_schema name, default_collate_name name",
    _character_sets,
)
COLLATIONS = relation(
    "information_schema",
    "collations",
    "collation_catalog name, collation_schema name, collation_name name, pad_attribute text",
    _collations,
)
VIEW_TABLE_USAGE = relation(
    "information_schema",
    "view_table_usage",
    "view_catalog name, view_schema name, view_name name, table_catalog name, table_schema name, table_name name",
    _view_tables,
)
