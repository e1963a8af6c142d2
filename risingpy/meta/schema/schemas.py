"""CREATE, ALTER and DROP SCHEMA, as functions from state to state. Names are those of the database that sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from risingpy.errors import DependentObjectsStillExist, FeatureNotSupported, SqlError
from risingpy.meta.durable_state import without_relation
from risingpy.meta.schema.functions import without_function
from risingpy.meta.schema.objects.comments import with_comments_of_schema
from risingpy.meta.schema.objects.dropped_types import drop_types
from risingpy.meta.schema.objects.needed_sequences import without_needing_defaults
from risingpy.meta.schema.objects.user_types import TypeTarget, with_types_moved
from risingpy.meta.schema.relations import goes_along, with_all_readers
from risingpy.meta.schema.renaming import Retold, with_schema_name
from risingpy.meta.schema.secrets import hidden_of_schema, without_schema
from risingpy.meta.state import MetaState
from risingpy.plan.catalog import is_temporary_schema


def check_schema(state: MetaState, name: str) -> None:
    """Raises SqlError (3F000) if the database has no such schema."""
    if name not in state.catalog.schemas:
        raise SqlError(f'schema "{name}" does not exist', sqlstate="3F000")


def add_schema(state: MetaState, name: str, owner: int | None = None) -> MetaState:
    """`state` with a schema; who makes the change owns it, unless `owner` does."""
    _check_new_name(state, name)
    here = state.catalog.own_database
    owners = here.schema_owners if owner is None else {**here.schema_owners, name: owner}
    return _with_schemas(state, (*state.catalog.schemas, name), owners)


def rename_schema(state: MetaState, name: str, new_name: str, retold: Retold) -> MetaState:
    """`state` in which a schema, and with it all that is in it, has another name. `retold` renews texts."""
    check_schema(state, name)
    if is_temporary_schema(name):
        raise FeatureNotSupported(f'schema "{name}" is that of a session and cannot be renamed')
    _check_new_name(state, new_name)
    here = state.catalog.own_database
    schemas = tuple(new_name if each == name else each for each in here.schemas)
    owners = {new_name if each == name else each: owner for each, owner in here.schema_owners.items()}
    acls = {new_name if each == name else each: acl for each, acl in here.schema_acls.items()}
    defaults = tuple(replace(each, schema=new_name) if each.schema == name else each for each in here.default_acls)
    changed = replace(here, schemas=schemas, schema_owners=owners, schema_acls=acls, default_acls=defaults)
    state = with_types_moved(state, name, new_name, retold.types)
    return with_comments_of_schema(with_schema_name(state, changed, name, new_name, retold), name, new_name)


def drop_schema(state: MetaState, name: str, *, if_exists: bool, cascade: bool) -> tuple[MetaState, tuple[str, ...]]:
    """(`state` without the schema, notices)."""
    if if_exists and name not in state.catalog.schemas:
        return state, (f'schema "{name}" does not exist, skipping',)
    check_schema(state, name)
    inside = [r for r in state.catalog.own_relations if r.schema_name == name]
    named = [r for r in inside if not goes_along(r)]  # the others are parts of these
    functions = [f for f in state.catalog.own_functions if f.schema_name == name]
    types = [each for each in state.catalog.own_types if each.schema_name == name]
    hidden = hidden_of_schema(state, name)
    listed = [f"{each.noun} {name}.{each.name}" for each in (*named, *types, *hidden)]
    listed += [f"{each.noun} {name}.{each.shown}" for each in functions]
    if listed and not cascade:
        raise DependentObjectsStillExist(
            f"cannot drop schema {name} because other objects depend on it",
            detail="\n".join(f"{each} depends on schema {name}" for each in listed),
            hint="Use DROP ... CASCADE to drop the dependent objects too.",
        )
    before = state
    everything = with_all_readers(state, inside)
    state, _ = without_needing_defaults(state, (), everything, cascade=True)
    for relation in everything:
        state = without_relation(state, relation)
    for function in functions:
        if function.function_id in state.catalog.functions:
            state = without_function(state, function)
    targets = [TypeTarget(name, each.name, (), f"{name}.{each.name}") for each in types]
    state, _ = drop_types(state, targets, cascade=True)
    state = with_comments_of_schema(without_schema(state, name), name, None)
    listed += _gone_elsewhere(before, state, name)
    owners = {each: owner for each, owner in state.catalog.own_database.schema_owners.items() if each != name}
    state = _with_schemas(state, tuple(s for s in state.catalog.schemas if s != name), owners)
    if len(listed) == 1:
        return state, (f"drop cascades to {listed[0]}",)
    return state, (f"drop cascades to {len(listed)} other objects",) if listed else ()


def _gone_elsewhere(before: MetaState, after: MetaState, name: str) -> list[str]:
    """What went along with a schema's objects, in other schemas."""
    here = before.catalog.database_id
    gone = (r for k, r in before.catalog.relations.items() if k not in after.catalog.relations)
    others = (r for r in gone if (r.database_id, r.schema_name) != (here, name) and not goes_along(r))
    return [f"{r.noun} {r.qualified_name}" for r in others]


def _check_new_name(state: MetaState, name: str) -> None:
    if name in state.catalog.schemas:
        raise SqlError(f'schema "{name}" already exists', sqlstate="42P06")
    if name.startswith("pg_"):
        raise SqlError(
            f'unacceptable schema name "{name}"',
            sqlstate="42939",
            detail='The prefix "pg_" is reserved for system schemas.',
        )
    if name in ("information_schema", "rw_catalog"):
        raise SqlError(f'schema "{name}" already exists', sqlstate="42P06")


def _with_schemas(state: MetaState, schemas: tuple[str, ...], owners: Mapping[str, int]) -> MetaState:
    here = state.catalog.own_database
    changed = replace(
        here,
        schemas=schemas,
        schema_owners=owners,
        schema_acls={name: acl for name, acl in here.schema_acls.items() if name in schemas},
        default_acls=tuple(each for each in here.default_acls if each.schema in (None, *schemas)),
    )
    return replace(state, catalog=state.catalog.with_database(changed))
