"""CREATE SCHEMA and DROP SCHEMA, as functions from state to state."""

from __future__ import annotations

from dataclasses import replace

from risingpy.errors import DependentObjectsStillExist, SqlError
from risingpy.meta.durable_state import without_relation
from risingpy.meta.schema.relations import with_all_readers
from risingpy.meta.schema.secrets import hidden_of_schema, without_schema
from risingpy.meta.state import MetaState
from risingpy.plan.catalog import is_temporary


def add_schema(state: MetaState, name: str) -> MetaState:
    """`state` with a schema."""
    if name in state.catalog.schemas:
        raise SqlError(f'schema "{name}" already exists', sqlstate="42P06")
    return _with_schemas(state, (*state.catalog.schemas, name))


def drop_schema(state: MetaState, name: str, *, if_exists: bool, cascade: bool) -> tuple[MetaState, tuple[str, ...]]:
    """(`state` without the schema, notices)."""
    if name not in state.catalog.schemas:
        if if_exists:
            return state, (f'schema "{name}" does not exist, skipping',)
        raise SqlError(f'schema "{name}" does not exist', sqlstate="3F000")
    inside = [r for r in state.catalog.relations.values() if r.schema_name == name]
    needed = [each for each in inside if not is_temporary(each)]
    hidden = hidden_of_schema(state, name)
    if (needed or hidden) and not cascade:
        raise DependentObjectsStillExist(
            f"cannot drop schema {name} because other objects depend on it",
            detail="\n".join(f"{each.noun} {name}.{each.name} depends on schema {name}" for each in (*needed, *hidden)),
            hint="Use DROP ... CASCADE to drop the dependent objects too.",
        )
    for relation in with_all_readers(state, inside):
        state = without_relation(state, relation)
    state = without_schema(state, name)
    count = len(needed) + len(hidden)
    notices = (f"drop cascades to {count} other objects",) if count else ()
    return _with_schemas(state, tuple(s for s in state.catalog.schemas if s != name)), notices


def _with_schemas(state: MetaState, schemas: tuple[str, ...]) -> MetaState:
    catalog = state.catalog
    owners = {name: owner for name, owner in catalog.schema_owners.items() if name in schemas}
    return replace(state, catalog=replace(catalog, version=catalog.version + 1, schemas=schemas, schema_owners=owners))
