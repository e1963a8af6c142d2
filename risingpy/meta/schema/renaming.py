"""The new name of a schema or a database, in everything that has it in its place or in its text.

Relations, functions, secrets and connections are known by their ids, and plans and jobs read by ids: they stay. What
has the old name in its text gets the text anew, so that SHOW CREATE, a dump and a later ALTER find what is meant.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from risingpy.errors import FeatureNotSupported
from risingpy.meta.schema.alter import RelationReader, refuse_unbound_views, repointed_views
from risingpy.meta.schema.objects.user_types import Texts
from risingpy.meta.state import MetaState
from risingpy.plan.catalog import (
    Catalog,
    ConnectionDesc,
    CreatedRelation,
    DatabaseDesc,
    FunctionDesc,
    FunctionLanguage,
    NumberSequence,
    QueryRelation,
    SecretDesc,
    Sink,
    Table,
)

Placed = TypeVar("Placed", CreatedRelation, FunctionDesc, SecretDesc, ConnectionDesc)


@dataclass(frozen=True, slots=True)
class Retold:
    """How texts follow: each makes the text anew of what has a new place; `reader` is that of `NewName`.

    `types` is for types that are in another schema. `body` gives a function that calls by a schema's new name instead
    of its old one, and whether its body is RETURN's.
    """

    relation: Callable[[CreatedRelation], str]
    function: Callable[[FunctionDesc], str]
    reader: Callable[[RelationReader, Catalog, Catalog], RelationReader]
    body: Callable[[FunctionDesc, str, str], tuple[FunctionDesc, bool]]
    types: Texts


def with_schema_name(state: MetaState, changed: DatabaseDesc, old: str, new: str, retold: Retold) -> MetaState:
    """`state` in which all that is in the schema `old` of a database is in its schema `new`; the database is as given.

    Raises FeatureNotSupported if a text cannot follow.
    """
    before = state.catalog
    moved = {r.relation_id: r for r in before.relations.values() if _is_in(r, changed, old)}
    for relation in moved.values():
        refuse_unbound_views(state, relation)
        if any(isinstance(reader, Table) for reader in before.dependents(relation.relation_id)):
            message = f'cannot rename schema "{old}": tables that copy from source "{relation.name}" name it'
            raise FeatureNotSupported(message, hint="Drop the tables first.")

    def placed(everything: Mapping[int, Placed]) -> dict[int, Placed]:
        return {k: replace(v, schema_name=new) if _is_in(v, changed, old) else v for k, v in everything.items()}

    functions = {
        k: replace(f, definition=retold.function(f)) if f is not before.functions[k] else f
        for k, f in placed(before.functions).items()
    }
    relations = placed(before.relations)
    for relation_id in moved:
        relations[relation_id] = _retold(relations[relation_id], new, retold)
    after = replace(
        before.with_database(changed),
        relations=relations,
        functions=functions,
        secrets=placed(before.secrets),
        connections=placed(before.connections),
    )
    readers = {each.relation_id for key in moved for each in before.dependents(key)}
    called = {each.function_id for each in before.functions.values() if _is_in(each, changed, old)}
    readers |= {
        each.relation_id
        for each in before.relations.values()
        if isinstance(each, QueryRelation | Sink) and called.intersection(each.functions)
    }
    state = replace(state, catalog=_with_bodies(before, after, changed, (old, new), readers, retold))
    same = [(r, {i: i for i in range(len(r.columns))}) for key in moved for r in (state.catalog.relations[key],)]
    views = repointed_views(state, same)
    return replace(state, catalog=replace(state.catalog, relations={**state.catalog.relations, **views}))


def _with_bodies(
    before: Catalog, after: Catalog, changed: DatabaseDesc, names: tuple[str, str], readers: set[int], retold: Retold
) -> Catalog:
    """`after` with the texts of functions' bodies, and of the readers, that follow a schema's name.

    As in PostgreSQL, a body in a string is text that stays as it is: it fails when it is called next. RETURN's is an
    expression, and follows. A reader follows if it means the same with all bodies that meant the old name.
    """
    following, kept = dict(after.functions), dict(after.functions)
    for key, function in after.functions.items():
        if function.language is FunctionLanguage.SQL and function.database_id == changed.database_id:
            following[key], is_expression = retold.body(function, *names)
            kept[key] = following[key] if is_expression else function
    catalog = _with_readers(before, replace(after, functions=following), readers, retold)
    return replace(catalog, functions=kept)


def with_database_name(state: MetaState, changed: DatabaseDesc, retold: Retold) -> MetaState:
    """`state` with a database as given: the texts that have its old name have the new one."""
    before, own = state.catalog, changed.database_id
    old = before.databases[own].name
    after = before.with_database(changed)
    texts = [r for r in before.relations.values() if not isinstance(r, NumberSequence)]
    named = [r for r in texts if old in r.definition.lower()]
    relations: dict[int, CreatedRelation] = {
        r.relation_id: replace(r, definition=retold.relation(r)) for r in named if r.database_id == own
    }
    after = replace(after, relations={**after.relations, **relations})
    readers = set()
    for reader in before.relations.values():
        read = [before.relations[each] for each in reader.depends_on if each in before.relations]
        if any(each.database_id == own for each in read) and (reader.database_id != own or reader in named):
            readers.add(reader.relation_id)
    return replace(state, catalog=_with_readers(before, after, readers, retold))


def _with_readers(before: Catalog, after: Catalog, readers: set[int], retold: Retold) -> Catalog:
    relations = dict(after.relations)
    for reader_id in readers:
        reader = relations[reader_id]
        if isinstance(reader, RelationReader):
            views = before.seen_from(reader.database_id), after.seen_from(reader.database_id)
            relations[reader_id] = retold.reader(reader, *views)
    return replace(after, relations=relations)


def _is_in(
    each: CreatedRelation | FunctionDesc | SecretDesc | ConnectionDesc, database: DatabaseDesc, name: str
) -> bool:
    return each.database_id == database.database_id and each.schema_name == name


def _retold(relation: CreatedRelation, schema: str, retold: Retold) -> CreatedRelation:
    if isinstance(relation, Table) and relation.source is not None:
        relation = replace(relation, source=replace(relation.source, schema_name=schema))
    if isinstance(relation, NumberSequence) or not relation.definition:
        return relation
    return replace(relation, definition=retold.relation(relation))
