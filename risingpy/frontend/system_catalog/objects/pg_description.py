"""pg_description and pg_shdescription: what COMMENT ON says, and what obj_description and its like look up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from risingpy.frontend.system_catalog.oids import schema_oid, system_relation_oid
from risingpy.frontend.system_catalog.system_relation import Row, SystemState, relation
from risingpy.frontend.system_catalog.visible_columns import visible_columns
from risingpy.plan.catalog import Catalog, CommentDesc, CommentedKind
from risingpy.plan.catalog.comments import COMMENTS_AT_FIRST, ids_of_column

_SHARED = (CommentedKind.DATABASE, CommentedKind.ROLE)


def _comments(state: SystemState, *, shared: bool) -> Iterator[tuple[int, CommentedKind, int, str]]:
    """(Object, kind, number of the column or 0, text). Those of other databases' schemas are not among them."""
    for each in state.catalog.comments.values():
        if (each.kind in _SHARED) != shared:
            continue
        if each.kind is CommentedKind.SCHEMA:  # they come below
            continue
        number = _number(state, each) if each.part else 0
        if number is not None:
            yield each.object_id, each.kind, number, each.text
    if not shared:
        for name, text in _of_schemas(state.catalog).items():
            if text:
                yield schema_oid(name), CommentedKind.SCHEMA, 0, text


def _of_schemas(catalog: Catalog) -> dict[str, str]:
    """By name, in this database."""
    there = ("pg_catalog", *catalog.schemas)
    at_first = {name: text for name, text in COMMENTS_AT_FIRST.items() if name in there}
    made = (each for each in catalog.comments.values() if each.kind is CommentedKind.SCHEMA)
    return at_first | {each.name: each.text for each in made if each.database_id == catalog.database_id}


def _number(state: SystemState, comment: CommentDesc) -> int | None:
    found = state.catalog.relations.get(comment.object_id)
    for number, column in () if found is None else visible_columns(found):
        if comment.part in ids_of_column(column):
            return number
    return None


def _descriptions(state: SystemState) -> Iterable[Row]:
    for oid, kind, number, text in _comments(state, shared=False):
        yield oid, system_relation_oid("pg_catalog", kind.value), number, text


def _shared_descriptions(state: SystemState) -> Iterable[Row]:
    for oid, kind, _, text in _comments(state, shared=True):
        yield oid, system_relation_oid("pg_catalog", kind.value), text


def _looked_up(state: SystemState) -> Iterable[Row]:
    for shared in (False, True):
        for oid, kind, number, text in _comments(state, shared=shared):
            yield oid, kind.value, number, shared, text


PG_DESCRIPTION = relation(
    "pg_catalog", "pg_description", "objoid oid, classoid oid, objsubid int4, description text", _descriptions
)
PG_SHDESCRIPTION = relation(
    "pg_catalog", "pg_shdescription", "objoid oid, classoid oid, description text", _shared_descriptions
)
RW_DESCRIPTION = relation(
    "rw_catalog", "rw_description", "objoid int4, classoid int4, objsubid int4, description text", _descriptions
)
COMMENTS = relation(
    "risingpy",
    "rp_comments",
    "rp_described oid, rp_catalog text, rp_subid int4, rp_shared bool, rp_comment text",
    _looked_up,
)
