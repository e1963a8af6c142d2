"""The temporary schemas of sessions, as functions from one `MetaState` to the next.

What stands in one is read by the session alone, and by nothing that lasts. So it all goes at once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from risingpy.meta.durable_state import without_relations
from risingpy.meta.schema.objects.needed_sequences import without_needing_defaults
from risingpy.meta.state import MetaState
from risingpy.plan.catalog import CreatedRelation, DatabaseDesc, is_temporary_schema


def with_temporary_schema(state: MetaState, name: str) -> MetaState:
    """`state` with a session's schema in the database. As in PostgreSQL, the bootstrap superuser owns it."""
    here = state.catalog.own_database
    if name in here.schemas:
        return state
    return replace(state, catalog=state.catalog.with_database(replace(here, schemas=(*here.schemas, name))))


def without_temporary_schema(state: MetaState, name: str) -> MetaState:
    """`state` without a session's schema, and all that stands in it, in every database."""
    return _without_schemas(state, lambda schema: schema == name)


def without_temporary_schemas(state: MetaState) -> MetaState:
    """`state` as it is while no session is open."""
    return _without_schemas(state, is_temporary_schema)


def without_temporary_relations(state: MetaState, relation_ids: Collection[int]) -> MetaState:
    """`state` without temporary relations, and what reads them; some may be gone already."""
    found = [state.catalog.relations[each] for each in relation_ids if each in state.catalog.relations]
    return _without(state, found)


def _without_schemas(state: MetaState, is_gone: Callable[[str], bool]) -> MetaState:
    catalog = state.catalog
    state = _without(state, [each for each in catalog.relations.values() if is_gone(each.schema_name)])
    for database in catalog.databases.values():
        if any(map(is_gone, database.schemas)):
            state = replace(state, catalog=state.catalog.with_database(_without_names(database, is_gone)))
    return state


def _without_names(database: DatabaseDesc, is_gone: Callable[[str], bool]) -> DatabaseDesc:
    return replace(
        database,
        schemas=tuple(each for each in database.schemas if not is_gone(each)),
        schema_acls={name: acl for name, acl in database.schema_acls.items() if not is_gone(name)},
        schema_owners={name: owner for name, owner in database.schema_owners.items() if not is_gone(name)},
    )


def _without(state: MetaState, dropped: Collection[CreatedRelation]) -> MetaState:
    """`state` without these, what reads them, and the DEFAULTs of other tables that take numbers of them."""
    gone = {each.relation_id: each for each in dropped}
    left = list(gone)
    while left:
        for reader in state.catalog.dependents(left.pop()):
            if reader.relation_id not in gone:
                gone[reader.relation_id] = reader
                left.append(reader.relation_id)
    if not gone:
        return state
    everything = tuple(gone.values())
    state, _ = without_needing_defaults(state, (), everything, cascade=True)
    return without_relations(state, everything)
