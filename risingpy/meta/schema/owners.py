"""Who owns what: new objects get their owner here, and ALTER … OWNER TO and REASSIGN OWNED another one."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import TypeVar, assert_never

from risingpy.meta.epochs.graph_changes import GraphChange
from risingpy.meta.schema.functions import FunctionTarget, drop_functions
from risingpy.meta.schema.objects.dropped_types import drop_types
from risingpy.meta.schema.objects.user_types import TypeTarget
from risingpy.meta.schema.privileges import acl_of_new, without_grants_of
from risingpy.meta.schema.relations import DropTarget, drop_relations
from risingpy.meta.schema.schemas import drop_schema
from risingpy.meta.schema.secrets import HiddenTarget, drop_hidden
from risingpy.meta.state import MetaState
from risingpy.plan.catalog import (
    DEFAULT_DATABASE_ID,
    Catalog,
    CompositeDesc,
    ConnectionDesc,
    CreatedRelation,
    DomainDesc,
    EnumDesc,
    FunctionDesc,
    Index,
    NumberSequence,
    SecretDesc,
    UserType,
)
from risingpy.plan.catalog.acl import ObjectKind, with_new_owner

Owned = TypeVar("Owned", bound=CreatedRelation | FunctionDesc | UserType | SecretDesc | ConnectionDesc)


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

    def owned(known: Mapping[int, Owned], everything: Mapping[int, Owned], kind: ObjectKind) -> dict[int, Owned]:
        found = dict(everything)
        for key in everything.keys() - known.keys():
            acl = acl_of_new(before, owner, kind, found[key].schema_name)
            found[key] = replace(found[key], owner=owner, database_id=after.database_id, acl=acl)
        return found

    relations = owned(before.relations, after.relations, ObjectKind.RELATION)
    for key, relation in relations.items():
        if isinstance(relation, Index) and key not in before.relations:
            relations[key] = replace(relation, owner=relations[relation.index.relation_id].owner, acl=None)
        if isinstance(relation, NumberSequence) and key not in before.relations:
            table = relation.owned_by
            of = relation.owner if table is None else relations[table.table_id].owner
            acl = acl_of_new(before, of, ObjectKind.SEQUENCE, relation.schema_name)
            relations[key] = replace(relation, owner=of, acl=acl)
    functions = owned(before.functions, after.functions, ObjectKind.FUNCTION)
    types = owned(before.types, after.types, ObjectKind.TYPE)
    secrets = owned(before.secrets, after.secrets, ObjectKind.SECRET)
    connections = owned(before.connections, after.connections, ObjectKind.CONNECTION)
    here, added = after.own_database, set(after.schemas) - set(before.schemas)
    schemas = {name: owner for name in added if name not in here.schema_owners}
    if schemas:
        here = replace(here, schema_owners={**here.schema_owners, **schemas})
    acls = (
        {}
        if before.database_id != after.database_id
        else {name: acl_of_new(before, here.schema_owners[name], ObjectKind.SCHEMA, None) for name in added}
    )
    given = {name: acl for name, acl in acls.items() if acl is not None and name not in here.schema_acls}
    if given:
        here = replace(here, schema_acls={**here.schema_acls, **given})
    catalog = replace(
        after,
        relations=relations,
        functions=functions,
        types=types,
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
    for sequence in state.catalog.sequences_of(relation_id):
        changed[sequence.relation_id] = _given_relation(sequence, owner)
    relation = catalog.relations.get(relation_id)
    if relation is not None:
        changed[relation_id] = _given_relation(relation, owner)
    relations = {**catalog.relations, **changed}
    return replace(state, catalog=replace(catalog, version=catalog.version + 1, relations=relations))


def with_schema_owner(state: MetaState, name: str, owner: int) -> MetaState:
    """`state` in which a schema, and not what is in it, belongs to a role."""
    here = state.catalog.own_database
    acls = dict(here.schema_acls)
    if name in acls:
        acls[name] = with_new_owner(acls[name], state.catalog.schema_owner(name), owner)
    changed = replace(here, schema_owners={**here.schema_owners, name: owner}, schema_acls=acls)
    return replace(state, catalog=state.catalog.with_database(changed))


def with_object_owner(
    state: MetaState, found: FunctionDesc | UserType | SecretDesc | ConnectionDesc, owner: int
) -> MetaState:
    """`state` in which a function, a type, a secret or a connection belongs to a role."""
    catalog = state.catalog
    match found:
        case FunctionDesc():
            catalog = replace(catalog, functions={**catalog.functions, found.function_id: _given(found, owner)})
        case EnumDesc() | DomainDesc() | CompositeDesc():
            catalog = replace(catalog, types={**catalog.types, found.type_id: _given(found, owner)})
        case SecretDesc():
            catalog = replace(catalog, secrets={**catalog.secrets, found.secret_id: _given(found, owner)})
        case ConnectionDesc():
            catalog = replace(catalog, connections={**catalog.connections, found.connection_id: _given(found, owner)})
        case _:
            assert_never(found)
    return replace(state, catalog=replace(catalog, version=catalog.version + 1))


def _given_relation(relation: CreatedRelation, owner: int) -> CreatedRelation:
    acls = tuple((key, with_new_owner(acl, relation.owner, owner)) for key, acl in relation.column_acls)
    return replace(_given(relation, owner), column_acls=acls)


def _given(found: Owned, owner: int) -> Owned:
    """The object with another owner, who takes the former one's place in its list of rights, too."""
    acl = None if found.acl is None else with_new_owner(found.acl, found.owner, owner)
    return replace(found, owner=owner, acl=acl)


def reassign_owned(state: MetaState, old: Collection[int], new: int) -> MetaState:
    """`state` in which the role `new` owns what any of `old` owned in the database, and their databases.

    What `old` were granted stays theirs.
    """
    catalog = state.catalog
    for relation in catalog.own_relations:
        if relation.owner in old:
            state = with_relation_owner(state, relation.relation_id, new)
    for found in (*catalog.own_functions, *catalog.own_types, *_hidden(catalog)):
        if found.owner in old:
            state = with_object_owner(state, found, new)
    for name in catalog.schemas:
        if catalog.schema_owner(name) in old:
            state = with_schema_owner(state, name, new)
    for database in catalog.databases.values():
        if database.owner in old:
            now = state.catalog.databases[database.database_id]
            acl = None if now.acl is None else with_new_owner(now.acl, now.owner, new)
            state = replace(state, catalog=state.catalog.with_database(replace(now, owner=new, acl=acl)))
    return state


def drop_owned(state: MetaState, owners: Collection[int], *, cascade: bool) -> tuple[MetaState, tuple[str, ...]]:
    """(`state` without what any of `owners` owns or was granted, notices). Raises 2BP01 if others need it."""
    catalog = state.catalog
    notices: list[str] = []
    targets = [DropTarget(type(r), r.schema_name, r.name, ()) for r in catalog.own_relations if r.owner in owners]
    if targets:
        state, said = drop_relations(state, targets, if_exists=True, cascade=cascade)
        notices += said
    for function in catalog.own_functions:
        if function.owner in owners:
            types, noun = function.argument_types, function.noun
            target = FunctionTarget(function.schema_name, function.name, types, (), noun)
            state, said = drop_functions(state, [target], if_exists=True, cascade=cascade)
            notices += said
    for found in catalog.own_types:
        if found.owner in owners:
            type_target = TypeTarget(found.schema_name, found.name, (), found.name)
            state, said = drop_types(state, [type_target], cascade=cascade)
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
    return replace(state, catalog=without_grants_of(state.catalog, owners)), tuple(notices)


def owned_by(catalog: Catalog, owners: Collection[int]) -> Iterator[str]:
    """What any of the roles owns, as errors list it: the objects of the database, and how many others have."""
    yield from (f"owner of schema {name}" for name in catalog.schemas if catalog.schema_owner(name) in owners)
    yield from (f"owner of {r.noun} {r.name}" for r in catalog.own_relations if r.owner in owners)
    yield from (f"owner of {h.noun} {h.name}" for h in _hidden(catalog) if h.owner in owners)
    yield from (f"owner of function {f.shown}" for f in catalog.own_functions if f.owner in owners)
    yield from (f"owner of type {t.name}" for t in catalog.own_types if t.owner in owners)
    yield from (f"owner of database {each.name}" for each in catalog.databases.values() if each.owner in owners)
    for database_id, database in catalog.databases.items():
        if database_id != catalog.database_id:
            seen = catalog.seen_from(database_id)
            own = (*seen.own_relations, *seen.own_functions, *seen.own_types, *_hidden(seen))
            count = sum(each.owner in owners for each in own)
            count += sum(seen.schema_owner(name) in owners for name in seen.schemas)
            if count:
                yield f"{count} object{'s' if count > 1 else ''} in database {database.name}"


def _hidden(catalog: Catalog) -> list[SecretDesc | ConnectionDesc]:
    """Those of the database; connections before secrets, which they may use."""
    return [*catalog.own_connections, *catalog.own_secrets]
