"""Every system relation by (schema, name)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import cached_property

import pyarrow as pa

from risingpy.frontend.system_catalog import (
    information_schema,
    lookups,
    pg_attribute,
    pg_class,
    pg_cursors,
    pg_database,
    pg_index,
    pg_namespace,
    pg_proc,
    pg_roles,
    pg_settings,
    pg_stat,
    pg_type,
    pg_views,
    rw_jobs,
    rw_relations,
    rw_sinks,
    rw_sources,
    rw_state_store,
)
from risingpy.frontend.system_catalog.constraints import pg_constraint, usage
from risingpy.frontend.system_catalog.names import ObjectNames
from risingpy.frontend.system_catalog.objects import (
    domains,
    pg_depend,
    pg_description,
    pg_sequence,
    routines,
    rw_definitions,
    rw_locks,
    standard_names,
    user_types,
    zone_names,
)
from risingpy.frontend.system_catalog.objects.absent_objects import ABSENT_OBJECTS
from risingpy.frontend.system_catalog.objects.absent_standard import ABSENT_STANDARD
from risingpy.frontend.system_catalog.objects.absent_statistics import ABSENT_STATISTICS
from risingpy.frontend.system_catalog.objects.operator_classes import OPERATOR_CLASSES
from risingpy.frontend.system_catalog.oids import system_relation_oid
from risingpy.frontend.system_catalog.pg_empty import EMPTY_RELATIONS
from risingpy.frontend.system_catalog.rights import acls, named_objects, privilege_views, role_views
from risingpy.frontend.system_catalog.system_relation import IMPLICIT_SCHEMAS, SystemRelation, SystemState
from risingpy.plan.catalog import Catalog
from risingpy.plan.logical import Field, SystemScan
from risingpy.types.system_types import OID

_MODULES = (
    acls,
    named_objects,
    privilege_views,
    role_views,
    lookups,
    pg_class,
    pg_namespace,
    pg_attribute,
    pg_type,
    pg_index,
    pg_constraint,
    usage,
    pg_proc,
    pg_database,
    pg_roles,
    pg_settings,
    pg_stat,
    pg_cursors,
    pg_views,
    pg_depend,
    pg_description,
    pg_sequence,
    routines,
    standard_names,
    zone_names,
    information_schema,
    rw_definitions,
    rw_locks,
    user_types,
    domains,
    rw_relations,
    rw_jobs,
    rw_sinks,
    rw_sources,
    rw_state_store,
)
INTERNAL_SCHEMA = "risingpy"  # the schema of relations for functions, which no client can name


def _all_relations() -> dict[tuple[str, str], SystemRelation]:
    defined = [value for module in _MODULES for value in vars(module).values() if isinstance(value, SystemRelation)]
    absent = (*EMPTY_RELATIONS, *ABSENT_OBJECTS, *ABSENT_STANDARD, *ABSENT_STATISTICS, *OPERATOR_CLASSES)
    return {(r.schema, r.name): r for r in (*defined, *absent)}


_ALL = _all_relations()
RELATIONS: dict[tuple[str, str], SystemRelation] = {k: r for k, r in _ALL.items() if r.schema != INTERNAL_SCHEMA}
NAMED_RELATIONS = tuple(RELATIONS.values())
INTERNAL_RELATIONS: dict[str, SystemRelation] = {r.name: r for r in _ALL.values() if r.schema == INTERNAL_SCHEMA}


def object_names(catalog: Catalog, search_path: Collection[str]) -> ObjectNames:
    """The names in a catalog for a session with this search path; schemas that do not exist are left out of it."""
    path = tuple(schema for schema in search_path if schema in catalog.schemas)
    return ObjectNames(SystemState(catalog, NAMED_RELATIONS, search_path=path), catalog.database)


def find_system_relation(schema: str | None, name: str) -> SystemRelation | None:
    """The system relation that a name in FROM means, or None."""
    for candidate in IMPLICIT_SCHEMAS if schema is None else (schema,):
        found = RELATIONS.get((candidate, name))
        if found is not None:
            return found
    return None


def system_scan(relation: SystemRelation) -> SystemScan:
    """All columns of a system relation, and its oid as the hidden column `tableoid`."""
    fields = (*(Field(c.name, c.type) for c in relation.columns), Field("tableoid", OID, hidden=True))
    return SystemScan(relation.schema, relation.name, tuple(range(len(fields))), fields)


class StateRows:
    """The system relations for one query (`batch.system_relations.SystemRelations`), all of one state.

    `state` is called at the first read.
    """

    def __init__(self, state: Callable[[], SystemState]) -> None:
        self._make_state = state

    @cached_property
    def _state(self) -> SystemState:
        return self._make_state()

    def rows(self, scan: SystemScan) -> pa.Table:
        relation = RELATIONS[scan.relation_schema, scan.name]
        return relation.selected(scan.columns, system_relation_oid(relation.schema, relation.name), self._state)

    def lookups(self, names: Collection[str]) -> Mapping[str, pa.Table]:
        return {name: INTERNAL_RELATIONS[name].table(self._state) for name in names if name in INTERNAL_RELATIONS}
