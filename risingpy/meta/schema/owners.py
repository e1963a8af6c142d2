"""Who owns what: new objects get their owner here, and ALTER … OWNER TO and REASSIGN OWNED another one."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from risingpy.meta.epochs.graph_changes import GraphChange
from risingpy.meta.schema.functions import FunctionTarget, drop_functions
from risingpy.meta.schema.relations import DropTarget, drop_relations
from risingpy.meta.schema.schemas import drop_schema
from risingpy.meta.schema.secrets import HiddenTarget, drop_hidden
from risingpy.meta.state import MetaState
from risingpy.plan.catalog import Catalog, ConnectionDesc, CreatedRelation, FunctionKind, Index, SecretDesc


def owning(change: GraphChange, owner: int) -> GraphChange:
    """The change, after which `owner` owns what it has made. An index has the owner of its relation."""

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
        relations[key] = replace(relation, owner=of)
    made = after.functions.keys() - before.functions.keys()
    functions = {k: replace(f, owner=owner) if k in made else f for k, f in after.functions.items()}
    hidden = after.secrets.keys() - before.secrets.keys(), after.connections.keys() - before.connections.keys()
    secrets = {k: replace(s, owner=owner) if k in hidden[0] else s for k, s in after.secrets.items()}
    connections = {k: replace(c, owner=owner) if k in hidden[1] else c for k, c in after.connections.items()}
    schemas = {name: owner for name in set(after.schemas) - set(before.schemas)}
    catalog = replace(
        after,
        relations=relations,
        functions=functions,
        secrets=secrets,
        connections=connections,
        schema_owners={**after.schema_owners, **schemas},
    )
    return replace(state, catalog=catalog)


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
    catalog, owners = state.catalog, {**state.catalog.schema_owners, name: owner}
    return replace(state, catalog=replace(catalog, version=catalog.version + 1, schema_owners=owners))


def reassign_owned(state: MetaState, old: Collection[int], new: int) -> MetaState:
    """`state` in which the role `new` owns what any of `old` owned: REASSIGN OWNED."""
    catalog = state.catalog
    relations = {k: replace(r, owner=new) if r.owner in old else r for k, r in catalog.relations.items()}
    functions = {k: replace(f, owner=new) if f.owner in old else f for k, f in catalog.functions.items()}
    schemas = {
        name: new if catalog.schema_owner(name) in old else catalog.schema_owner(name) for name in catalog.schemas
    }
    changed = replace(
        catalog,
        version=catalog.version + 1,
        relations=relations,
        functions=functions,
        secrets={k: replace(s, owner=new) if s.owner in old else s for k, s in catalog.secrets.items()},
        connections={k: replace(c, owner=new) if c.owner in old else c for k, c in catalog.connections.items()},
        schema_owners=schemas,
    )
    return replace(state, catalog=changed)


def drop_owned(state: MetaState, owners: Collection[int], *, cascade: bool) -> tuple[MetaState, tuple[str, ...]]:
    """(`state` without what any of `owners` owns, notices): DROP OWNED. Raises 2BP01 if others need it."""
    catalog = state.catalog
    notices: list[str] = []
    targets = [DropTarget(type(r), r.schema_name, r.name, ()) for r in catalog.relations.values() if r.owner in owners]
    if targets:
        state, said = drop_relations(state, targets, if_exists=True, cascade=cascade)
        notices += said
    for function in catalog.functions.values():
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
    """What any of the roles owns, as errors list it."""
    yield from (f"schema {name}" for name in catalog.schemas if catalog.schema_owner(name) in owners)
    yield from (f"{r.noun} {r.name}" for r in catalog.relations.values() if r.owner in owners)
    yield from (f"{h.noun} {h.name}" for h in _hidden(catalog) if h.owner in owners)
    yield from (f"function {f.shown}" for f in catalog.functions.values() if f.owner in owners)


def _hidden(catalog: Catalog) -> list[SecretDesc | ConnectionDesc]:
    """Connections before secrets, which they may use."""
    return [*catalog.connections.values(), *catalog.secrets.values()]
