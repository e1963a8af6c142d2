"""Who owns what: new objects get their owner here, and ALTER … OWNER TO and REASSIGN OWNED another one."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import TypeVar

from risingpy.meta.epochs.graph_changes import GraphChange
from risingpy.meta.schema.functions import FunctionTarget, drop_functions
from risingpy.meta.schema.relations import DropTarget, drop_relations
from risingpy.meta.schema.schemas import drop_schema
from risingpy.meta.schema.secrets import HiddenTarget, drop_hidden
from risingpy.meta.state import MetaState
from risingpy.plan.catalog import (
    BOOTSTRAP_ROLE_ID,
    DEFAULT_DATABASE_ID,
    Catalog,
    ConnectionDesc,
    CreatedRelation,
    DatabaseDesc,
    FunctionDesc,
    FunctionKind,
    Index,
    SecretDesc,
)

Owned = TypeVar("Owned", CreatedRelation, FunctionDesc, SecretDesc, ConnectionDesc)


def owning(change: GraphChange, owner: int) -> GraphChange:
    """The change, after which `owner` owns what it has made, in the database that the change sees.

    An index has the owner of its relation.
    """

    def changed(state: MetaState) -> MetaState:
        after = change(state)
        return after if after is state else _with_owner_of_new(state.catalog, after, owner)

    return changed


def _with_owner_of_new(before: Catalog, state: MetaState, owner: int) -> MetaState:
    after = state.catalog
    new = after.relations.keys() - before.relations.keys()
    relations = dict(after.relations)
    for key in new:
        relation = relations[key]
        of = relations[relation.index.relation_id].owner if isinstance(relation, Index) else owner
        relations[key] = replace(relation, owner=of, database_id=after.database_id)
    made = after.functions.keys() - before.functions.keys()
    own, here = after.database_id, after.own_database
    functions = {k: replace(f, owner=owner, database_id=own) if k in made else f for k, f in after.functions.items()}
    hidden = after.secrets.keys() - before.secrets.keys(), after.connections.keys() - before.connections.keys()
    secrets = {k: replace(s, owner=owner, database_id=own) if k in hidden[0] else s for k, s in after.secrets.items()}
    connections = {
        k: replace(c, owner=owner, database_id=own) if k in hidden[1] else c for k, c in after.connections.items()
    }
    added = set(after.schemas) - set(before.schemas)
    schemas = {name: owner for name in added if name not in here.schema_owners}
    if schemas:
        here = replace(here, schema_owners={**here.schema_owners, **schemas})
    catalog = replace(
        after,
        relations=relations,
        functions=functions,
        secrets=secrets,
        connections=connections,
        databases={**after.databases, here.database_id: here},
    )
    return replace(state, catalog=catalog)


def seen_by(change: GraphChange, database_id: int) -> GraphChange:
    """The change, which finds the names of a database. Raises 3D000 if the database was dropped meanwhile."""
    if database_id == DEFAULT_DATABASE_ID:  # as which the state has its catalog
        return change

    def changed(state: MetaState) -> MetaState:
        seen = replace(state, catalog=state.catalog.seen_from(database_id))
        after = change(seen)
        return state if after is seen else replace(after, catalog=after.catalog.seen_from(DEFAULT_DATABASE_ID))

    return changed


def with_relation_owner(state: MetaState, relation_id: int, owner: int) -> MetaState:
    """`state` in which a relation, with its indexes, belongs to a role."""
    catalog = state.catalog
    changed: dict[int, CreatedRelation] = {
        each.relation_id: replace(each, owner=owner) for each in catalog.indexes_of(relation_id)
    }
    relation = catalog.relations.get(relation_id)
    if relation is not None:
        changed[relation_id] = replace(relation, owner=owner)
    relations = {**catalog.relations, **changed}
    return replace(state, catalog=replace(catalog, version=catalog.version + 1, relations=relations))


def with_schema_owner(state: MetaState, name: str, owner: int) -> MetaState:
    """`state` in which a schema, and not what is in it, belongs to a role."""
    here = state.catalog.own_database
    changed = replace(here, schema_owners={**here.schema_owners, name: owner})
    return replace(state, catalog=state.catalog.with_database(changed))


def reassign_owned(state: MetaState, old: Collection[int], new: int) -> MetaState:
    """`state` in which the role `new` owns what any of `old` owned in the database, and their databases."""
    catalog, own = state.catalog, state.catalog.database_id

    def given(everything: Mapping[int, Owned]) -> dict[int, Owned]:
        return {
            k: replace(v, owner=new) if v.owner in old and v.database_id == own else v for k, v in everything.items()
        }

    changed = replace(
        catalog,
        version=catalog.version + 1,
        relations=given(catalog.relations),
        functions=given(catalog.functions),
        secrets=given(catalog.secrets),
        connections=given(catalog.connections),
        databases={k: _reassigned(each, old, new, schemas=k == own) for k, each in catalog.databases.items()},
    )
    return replace(state, catalog=changed)


def _reassigned(database: DatabaseDesc, old: Collection[int], new: int, *, schemas: bool) -> DatabaseDesc:
    """The database, which the role `new` owns if any of `old` did, and with `schemas` also its schemas."""
    owner = new if database.owner in old else database.owner
    owners = {name: database.schema_owners.get(name, BOOTSTRAP_ROLE_ID) for name in database.schemas}
    given = {name: new if schemas and before in old else before for name, before in owners.items()}
    if given == owners and owner == database.owner:
        return database
    return replace(database, schema_owners=given, owner=owner)


def drop_owned(state: MetaState, owners: Collection[int], *, cascade: bool) -> tuple[MetaState, tuple[str, ...]]:
    """(`state` without what any of `owners` owns, notices): DROP OWNED. Raises 2BP01 if others need it."""
    catalog = state.catalog
    notices: list[str] = []
    targets = [DropTarget(type(r), r.schema_name, r.name, ()) for r in catalog.own_relations if r.owner in owners]
    if targets:
        state, said = drop_relations(state, targets, if_exists=True, cascade=cascade)
        notices += said
    for function in catalog.own_functions:
        if function.owner in owners:
            types, is_aggregate = function.argument_types, function.kind is FunctionKind.AGGREGATE
            target = FunctionTarget(function.schema_name, function.name, types, (), is_aggregate)
            state, said = drop_functions(state, [target], if_exists=True, cascade=cascade)
            notices += said
    for hidden in _hidden(catalog):
        if hidden.owner in owners:
            gone = HiddenTarget(type(hidden), hidden.schema_name, hidden.name, ())
            state, said = drop_hidden(state, [gone], if_exists=True, cascade=cascade)
            notices += said
    for name in catalog.schemas:
        if catalog.schema_owner(name) in owners:
            state, said = drop_schema(state, name, if_exists=True, cascade=cascade)
            notices += said
    return state, tuple(notices)


def owned_by(catalog: Catalog, owners: Collection[int]) -> Iterator[str]:
    """What any of the roles owns, as errors list it: the objects of the database, and how many others have."""
    yield from (f"owner of schema {name}" for name in catalog.schemas if catalog.schema_owner(name) in owners)
    yield from (f"owner of {r.noun} {r.name}" for r in catalog.own_relations if r.owner in owners)
    yield from (f"owner of {h.noun} {h.name}" for h in _hidden(catalog) if h.owner in owners)
    yield from (f"owner of function {f.shown}" for f in catalog.own_functions if f.owner in owners)
    yield from (f"owner of database {each.name}" for each in catalog.databases.values() if each.owner in owners)
    for database_id, database in catalog.databases.items():
        if database_id != catalog.database_id:
            seen = catalog.seen_from(database_id)
            own = (*seen.own_relations, *seen.own_functions, *_hidden(seen))
            count = sum(each.owner in owners for each in own)
            count += sum(seen.schema_owner(name) in owners for name in seen.schemas)
            if count:
                yield f"{count} object{'s' if count > 1 else ''} in database {database.name}"


def _hidden(catalog: Catalog) -> list[SecretDesc | ConnectionDesc]:
    """Those of the database; connections before secrets, which they may use."""
    return [*catalog.own_connections, *catalog.own_secrets]
