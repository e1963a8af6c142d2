"""pg_depend: views need what they read, columns their types, defaults sequences, and sequences the columns that own
them.

What stands in rw_catalog belongs to the extension `rw_catalog`, which is there from the beginning as plpgsql is in
PostgreSQL. So pg_dump takes none of it for a user's.
"""

from __future__ import annotations

from collections.abc import Iterable

from risingpy.frontend.system_catalog.objects.composites import own_composites
from risingpy.frontend.system_catalog.objects.domains import own_domains
from risingpy.frontend.system_catalog.oids import (
    ROOT_USER_OID,
    constraint_oid,
    default_oid,
    relation_oid,
    rule_oid,
    schema_oid,
    system_relation_oid,
)
from risingpy.frontend.system_catalog.pg_views import with_query
from risingpy.frontend.system_catalog.system_relation import Row, SystemState, relation
from risingpy.frontend.system_catalog.visible_columns import declared_key, visible_columns
from risingpy.plan.catalog import MaterializedView, NumberSequence, QueryRelation, Relation, View

_CLASSES = system_relation_oid("pg_catalog", "pg_class")
_REWRITE = system_relation_oid("pg_catalog", "pg_rewrite")
_TYPES = system_relation_oid("pg_catalog", "pg_type")
_CONSTRAINTS = system_relation_oid("pg_catalog", "pg_constraint")
_SCHEMAS = system_relation_oid("pg_catalog", "pg_namespace")
_EXTENSIONS = system_relation_oid("pg_catalog", "pg_extension")
_EXTENSION = "rw_catalog"
_VECTOR_OID = 13901  # pgvector, as clients look for it
_EXTENSION_OID = 13900  # below 16384: pg_dump does not create what was there from the beginning
_DEFAULTS = system_relation_oid("pg_catalog", "pg_attrdef")


def _rows(state: SystemState) -> Iterable[Row]:
    yield _SCHEMAS, schema_oid(_EXTENSION), 0, _EXTENSIONS, _EXTENSION_OID, 0, "e"
    for system in state.system_relations:
        if system.schema == _EXTENSION:
            yield _CLASSES, system_relation_oid(system.schema, system.name), 0, _EXTENSIONS, _EXTENSION_OID, 0, "e"
    for found in with_query(state):
        yield _REWRITE, rule_oid(found), 0, _CLASSES, relation_oid(found), 0, "i"
        for needed in found.depends_on:
            if needed in state.catalog.relations:
                yield _REWRITE, rule_oid(found), 0, _CLASSES, relation_oid(state.catalog.relations[needed]), 0, "n"
    for table in state.relations:
        yield from _defaults(table)
        yield from _types(state, table)
    yield from _domains(state)
    yield from _composites(state)
    yield from _needed_keys(state)
    for sequence in state.sequences:
        yield from _owner(state, sequence)


def _needed_keys(state: SystemState) -> Iterable[Row]:
    """What knows a table's rows by their primary key: its indexes and materialized views. So a dump has the key first,
    and a key is added to a table that nothing reads yet."""
    keys = {each.relation_id: constraint_oid(each) for each in state.relations if declared_key(each)}
    for index, indexed in state.indexes:
        if indexed.relation_id in keys:
            is_constraint = index.index.unique is not None and index.index.unique.is_constraint
            on = (_CONSTRAINTS, constraint_oid(index)) if is_constraint else (_CLASSES, relation_oid(index))
            yield *on, 0, _CONSTRAINTS, keys[indexed.relation_id], 0, "n"
    for view in with_query(state):
        if isinstance(view, MaterializedView):
            for needed in _read_through_views(state, view):
                if needed in keys:
                    yield _REWRITE, rule_oid(view), 0, _CONSTRAINTS, keys[needed], 0, "n"


def _read_through_views(state: SystemState, reader: QueryRelation) -> set[int]:
    """What a view reads, also through plain views, which keep no rows."""
    found: set[int] = set()
    rest = list(reader.depends_on)
    while rest:
        needed = rest.pop()
        if needed not in found:
            found.add(needed)
            relation = state.catalog.relations.get(needed)
            rest += relation.depends_on if isinstance(relation, View) else ()
    return found


def _defaults(found: Relation) -> Iterable[Row]:
    for number, column in visible_columns(found):
        if column.default is not None or column.generated is not None:
            yield _DEFAULTS, default_oid(found, number), 0, _CLASSES, relation_oid(found), number, "a"
        for sequence_id in column.sequences:
            yield _DEFAULTS, default_oid(found, number), 0, _CLASSES, sequence_id, 0, "n"


def _types(state: SystemState, found: Relation) -> Iterable[Row]:
    """Columns need the types that users have created."""
    if isinstance(found, View | MaterializedView):
        return
    for number, column in visible_columns(found):
        made = state.catalog.types.get(column.type.leaf.oid if column.domain is None else column.domain.oid)
        if made is not None:
            yield _CLASSES, relation_oid(found), number, _TYPES, made.type_id, 0, "n"


def _domains(state: SystemState) -> Iterable[Row]:
    """Domains need what they are over, if a user has created it, and their constraints need them."""
    for domain in own_domains(state.catalog):
        needed = domain.base.leaf.oid if domain.parent is None else domain.parent.oid
        if needed in state.catalog.types:
            yield _TYPES, domain.type_id, 0, _TYPES, needed, 0, "n"
        for check in domain.checks:
            yield _CONSTRAINTS, check.constraint_id, 0, _TYPES, domain.type_id, 0, "a"


def _composites(state: SystemState) -> Iterable[Row]:
    """The relation of a row's type is a part of it, and needs the types of its attributes."""
    for found in own_composites(state.catalog):
        yield _CLASSES, found.relation_id, 0, _TYPES, found.type_id, 0, "i"
        for number, type_ in enumerate(found.items, 1):
            if type_.leaf.oid in state.catalog.types:
                yield _CLASSES, found.relation_id, number, _TYPES, type_.leaf.oid, 0, "n"


def _owner(state: SystemState, sequence: NumberSequence) -> Iterable[Row]:
    owner = sequence.owned_by
    if owner is None:
        return
    table = state.catalog.relations[owner.table_id]
    for number, column in visible_columns(table):
        if column.column_id == owner.column_id:
            kind = "i" if owner.is_identity else "a"
            yield _CLASSES, relation_oid(sequence), 0, _CLASSES, relation_oid(table), number, kind


def _extensions(_state: SystemState) -> Iterable[Row]:
    yield _EXTENSION_OID, _EXTENSION, ROOT_USER_OID, schema_oid(_EXTENSION), False, "1.0", None, None
    yield _VECTOR_OID, "vector", ROOT_USER_OID, schema_oid("pg_catalog"), False, "0.8.0", None, None


PG_EXTENSION = relation(
    "pg_catalog",
    "pg_extension",
    "oid oid, extname name, extowner oid, extnamespace oid, extrelocatable bool, extversion text, extconfig _oid,"
    "extcondition _text",
    _extensions,
)
PG_DEPEND = relation(
    "pg_catalog",
    "pg_depend",
    "classid oid, objid oid, objsubid int4, refclassid oid, refobjid oid, refobjsubid int4, deptype char",
    _rows,
)
