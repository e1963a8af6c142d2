"""COMMENT ON, as functions from one `MetaState` to the next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from risingpy.meta.state import IdAllocator, MetaState
from risingpy.plan.catalog import Catalog, CommentDesc, CommentedKind, Relation
from risingpy.plan.catalog.comments import COMMENTS_AT_FIRST, ids_of_column

_FIRST_MADE_OID = 1 << 27  # above them are the oids that system catalogs give to keys: see `oids.py`


@dataclass(frozen=True, slots=True)
class CommentedObject:
    """What a comment is on: see `CommentDesc`."""

    kind: CommentedKind
    object_id: int
    part: int = 0
    name: str = ""


def with_comment(state: MetaState, on: CommentedObject, text: str | None) -> MetaState:
    """`state` with a comment on an object in place of the one that it had; without one if the text is None or empty.

    What is left of objects that are gone goes, too.
    """
    catalog = state.catalog
    others = {key: each for key, each in catalog.comments.items() if not _is_on(catalog, each, on)}
    comments = {key: each for key, each in others.items() if _is_there(catalog, each)}
    allocate = IdAllocator(state.next_id)
    if text or (on.kind is CommentedKind.SCHEMA and on.name in COMMENTS_AT_FIRST):
        key = allocate()
        comments[key] = CommentDesc(key, on.kind, on.object_id, text or "", on.part, on.name, catalog.database_id)
    catalog = replace(catalog, version=catalog.version + 1, comments=comments)
    return replace(state, catalog=catalog, next_id=allocate.next_id)


def _is_on(catalog: Catalog, comment: CommentDesc, on: CommentedObject) -> bool:
    if (comment.kind, comment.object_id, comment.name) != (on.kind, on.object_id, on.name):
        return False
    if on.kind is CommentedKind.SCHEMA:
        return comment.database_id == catalog.database_id
    if not on.part or not comment.part:
        return on.part == comment.part
    columns = catalog.relations[on.object_id].columns
    return any(column.column_id == on.part and comment.part in ids_of_column(column) for column in columns)


def _is_there(catalog: Catalog, comment: CommentDesc) -> bool:
    match comment.kind:
        case CommentedKind.RELATION:
            return comment.object_id in catalog.relations or comment.object_id >= _FIRST_MADE_OID
        case CommentedKind.FUNCTION:
            return comment.object_id in catalog.functions
        case CommentedKind.TYPE:
            return comment.object_id in catalog.types
        case CommentedKind.ROLE:
            return comment.object_id in catalog.roles
        case CommentedKind.DATABASE:
            return comment.object_id in catalog.databases
        case CommentedKind.SCHEMA:
            database = catalog.databases.get(comment.database_id)
            return database is not None and comment.name in (*database.schemas, "information_schema", "pg_catalog")
        case CommentedKind.CONSTRAINT:
            return True  # its oid is made of a table's id, and nobody finds it once the constraint is gone


def with_comments_of_copy(state: MetaState, before: Relation, after: Relation) -> MetaState:
    """`state` in which the comments on a relation and its columns are on the one that takes its place."""
    now = {key: column.column_id for column in before.columns for key in ids_of_column(column)}
    moved = {
        key: replace(each, object_id=after.relation_id, part=now.get(each.part, each.part))
        for key, each in state.catalog.comments.items()
        if each.kind is CommentedKind.RELATION and each.object_id == before.relation_id
    }
    return _with_comments(state, {**state.catalog.comments, **moved})


def with_comments_of_schema(state: MetaState, name: str, new_name: str | None) -> MetaState:
    """`state` in which the comment on a schema of the database goes with its new name, or goes (None)."""
    here = state.catalog.database_id
    found = {
        key: each
        for key, each in state.catalog.comments.items()
        if each.kind is CommentedKind.SCHEMA and (each.database_id, each.name) == (here, name)
    }
    kept = {key: each for key, each in state.catalog.comments.items() if key not in found}
    if new_name is not None:
        kept |= {key: replace(each, name=new_name) for key, each in found.items()}
    return _with_comments(state, kept)


def _with_comments(state: MetaState, comments: Mapping[int, CommentDesc]) -> MetaState:
    return replace(state, catalog=replace(state.catalog, comments=comments))
