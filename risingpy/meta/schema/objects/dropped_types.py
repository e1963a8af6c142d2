"""DROP TYPE and DROP DOMAIN: what needs a type, and a state without it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product

from risingpy.errors import DependentObjectsStillExist
from risingpy.meta.durable_state import without_relation
from risingpy.meta.schema.functions import without_function
from risingpy.meta.schema.objects.user_types import TypeTarget, required
from risingpy.meta.schema.relations import with_all_readers
from risingpy.meta.state import MetaState
from risingpy.plan.catalog import (
    CompositeDesc,
    CreatedRelation,
    DomainDesc,
    ExternalSource,
    FunctionDesc,
    Table,
    UserType,
    View,
)
from risingpy.plan.enum_forms import types_in


def columns_of(state: MetaState, found: UserType) -> Iterator[tuple[Table | ExternalSource, str]]:
    """The tables and sources that have columns of the type, with the columns' names."""
    for relation in state.catalog.relations.values():
        if isinstance(relation, Table | ExternalSource):
            for column in relation.columns:
                if found.type_id in types_in((column.type, column.domain)):
                    yield relation, column.name


def defaults_of(state: MetaState, found: UserType) -> Iterator[tuple[Table, str]]:
    """The tables, and columns of other types, whose DEFAULT names the type: it stands there with its schema."""
    for relation in state.catalog.relations.values():
        if not isinstance(relation, Table):
            continue
        for column in relation.columns:
            if found.type_id not in types_in((column.type, column.domain)) and _is_named(column.default or "", found):
                yield relation, column.name


def tables_with(state: MetaState, found: UserType) -> Iterator[Table | ExternalSource]:
    """What has columns of the type or of a domain over it, or a default that names one."""
    for each in (found, *types_needing(state, found)):
        yield from (table for table, _ in (*columns_of(state, each), *defaults_of(state, each)))


def is_named_by_view(relation: CreatedRelation, found: UserType) -> bool:
    """Whether a view that is bound anew by each who reads it may name the type: it has no plan that says so."""
    return isinstance(relation, View) and relation.plan is None and found.name in relation.query.lower()


def _is_named(text: str, found: UserType) -> bool:
    pairs = ((f'"{name}"', name) for name in (found.schema_name, found.name))
    return any(".".join(parts) in text for parts in product(*pairs))


def dependents(state: MetaState, found: UserType) -> list[CreatedRelation | FunctionDesc]:
    """What has the type in it otherwise than as a table's column."""
    users: list[CreatedRelation | FunctionDesc] = []
    for relation in state.catalog.relations.values():
        types = tuple((column.type, column.domain) for column in relation.columns)
        if isinstance(relation, Table | ExternalSource) and found.type_id in types_in(types):
            continue
        job = state.jobs.get(relation.relation_id) or state.stopped.get(relation.relation_id)
        if found.type_id in types_in((relation, job)) or is_named_by_view(relation, found):
            users.append(relation)
    return [*users, *(f for f in state.catalog.functions.values() if found.type_id in types_in(f))]


def names_type(other: DomainDesc | CompositeDesc, found: UserType) -> bool:
    """Whether a domain is over the type, or names it in a rule or its default; whether a row has an attribute of it."""
    if other.type_id == found.type_id:
        return False
    by_name = isinstance(other, DomainDesc) and _is_named(other.default or "", found)
    return by_name or found.type_id in types_in(other)


def types_needing(state: MetaState, found: UserType) -> list[DomainDesc | CompositeDesc]:
    """The domains over the type, or that name it, and rows that have it, directly or not: who needs comes first."""
    needing: dict[int, DomainDesc | CompositeDesc] = {}
    left = [found]
    while left:
        needed = left.pop(0)
        for each in state.catalog.types.values():
            if isinstance(each, DomainDesc | CompositeDesc) and names_type(each, needed):
                needing.pop(each.type_id, None)
                needing[each.type_id] = each
                left.append(each)
    return [*reversed(needing.values())]


def drop_types(state: MetaState, targets: Sequence[TypeTarget], *, cascade: bool) -> tuple[MetaState, tuple[str, ...]]:
    """(`state` without the types, notices). Raises 2BP01 if something else needs one, unless `cascade`.

    What has columns of one must be without them before: `cascade` does not drop these.
    """
    notices: list[str] = []
    named = {found.type_id: found for found in (required(state, target) for target in targets)}
    for found in named.values():
        domains = types_needing(state, found)
        others = [each for each in domains if each.type_id not in named]
        rows = [each for each in others if isinstance(each, CompositeDesc)]  # would lose an attribute, which they keep
        if rows or (others and not cascade):
            raise _still_needed(found, [*columns_of(state, found)], [*dependents(state, found), *others])
        for each in (*domains, found):
            if each.type_id in state.catalog.types:
                state = _without_type(state, each, notices, cascade=cascade)
                if each.type_id not in named:
                    notices.append(f"drop cascades to type {each.name}")
    return state, tuple(notices)


def _without_type(state: MetaState, found: UserType, notices: list[str], *, cascade: bool) -> MetaState:
    columns, users = [*columns_of(state, found)], dependents(state, found)
    columns += defaults_of(state, found)
    if columns or (users and not cascade):
        raise _still_needed(found, columns, users)
    for user in users:
        if isinstance(user, FunctionDesc):
            if user.function_id in state.catalog.functions:
                state = without_function(state, user)
                notices.append(f"drop cascades to function {user.shown}")
            continue
        for reader in with_all_readers(state, [user] if user.relation_id in state.catalog.relations else []):
            state = without_relation(state, reader)
            notices.append(f"drop cascades to {reader.noun} {reader.name}")
    types = {key: each for key, each in state.catalog.types.items() if key != found.type_id}
    return replace(state, catalog=replace(state.catalog, version=state.catalog.version + 1, types=types))


def _still_needed(
    found: UserType,
    columns: Sequence[tuple[Table | ExternalSource, str]],
    users: Iterable[CreatedRelation | FunctionDesc | DomainDesc | CompositeDesc],
) -> DependentObjectsStillExist:
    lines = [f"column {column} of {each.noun} {each.name} depends on type {found.name}" for each, column in columns]
    for user in users:
        shown = f"function {user.shown}" if isinstance(user, FunctionDesc) else f"{user.noun} {user.name}"
        lines.append(f"{shown} depends on type {found.name}")
    return DependentObjectsStillExist(
        f"cannot drop type {found.name} because other objects depend on it",
        detail="\n".join(lines),
        hint="Use DROP ... CASCADE to drop the dependent objects too.",
    )
