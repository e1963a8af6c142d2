"""Every system relation by (schema, name)."""

from __future__ import annotations

from risingpy.frontend.catalog import (
    information_schema,
    object_names,
    pg_am,
    pg_attribute,
    pg_class,
    pg_cursors,
    pg_database,
    pg_index,
    pg_namespace,
    pg_proc,
    pg_settings,
    pg_stat,
    pg_type,
    pg_views,
    rw_jobs,
    rw_relations,
    rw_state_store,
)
from risingpy.frontend.catalog.pg_empty import EMPTY_RELATIONS
from risingpy.frontend.catalog.system_relation import SystemRelation

_MODULES = (
    object_names,
    pg_class,
    pg_namespace,
    pg_attribute,
    pg_type,
    pg_index,
    pg_proc,
    pg_am,
    pg_database,
    pg_settings,
    pg_stat,
    pg_cursors,
    pg_views,
    information_schema,
    rw_relations,
    rw_jobs,
    rw_state_store,
)
INTERNAL_SCHEMA = "risingpy"  # of relations that functions are rewritten to, which no client can name


def _all_relations() -> dict[tuple[str, str], SystemRelation]:
    defined = [value for module in _MODULES for value in vars(module).values() if isinstance(value, SystemRelation)]
    return {(r.schema, r.name): r for r in (*defined, *EMPTY_RELATIONS)}


_ALL = _all_relations()
RELATIONS: dict[tuple[str, str], SystemRelation] = {k: r for k, r in _ALL.items() if r.schema != INTERNAL_SCHEMA}
INTERNAL_RELATIONS: dict[str, SystemRelation] = {r.name: r for r in _ALL.values() if r.schema == INTERNAL_SCHEMA}

# Without a schema a name is looked for in these, before the search path.
IMPLICIT_SCHEMAS = ("pg_catalog", "rw_catalog")


def find_system_relation(schema: str | None, name: str) -> SystemRelation | None:
    """The system relation that a name in FROM means, or None."""
    for candidate in IMPLICIT_SCHEMAS if schema is None else (schema,):
        found = RELATIONS.get((candidate, name))
        if found is not None:
            return found
    return None
