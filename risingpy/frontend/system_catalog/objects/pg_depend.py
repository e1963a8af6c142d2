"""pg_depend: views need what they read, defaults need sequences, and sequences need the columns that own them."""

from __future__ import annotations

from collections.abc import Iterable

from risingpy.frontend.system_catalog.oids import default_oid, relation_oid, rule_oid, system_relation_oid
from risingpy.frontend.system_catalog.pg_views import with_query
from risingpy.frontend.system_catalog.system_relation import Row, SystemState, relation
from risingpy.frontend.system_catalog.visible_columns import visible_columns
from risingpy.plan.catalog import NumberSequence, Relation

_CLASSES = system_relation_oid("pg_catalog", "pg_class")
_REWRITE = system_relation_oid("pg_catalog", "pg_rewrite")
_DEFAULTS = system_relation_oid("pg_catalog", "pg_attrdef")


def _rows(state: SystemState) -> Iterable[Row]:
    for found in with_query(state):
        yield _REWRITE, rule_oid(found), 0, _CLASSES, relation_oid(found), 0, "i"
        for needed in found.depends_on:
            if needed in state.catalog.relations:
                yield _REWRITE, rule_oid(found), 0, _CLASSES, relation_oid(state.catalog.relations[needed]), 0, "n"
    for table in state.relations:
        yield from _defaults(table)
    for sequence in state.sequences:
        yield from _owner(state, sequence)


def _defaults(found: Relation) -> Iterable[Row]:
    for number, column in visible_columns(found):
        if column.default is not None or column.generated is not None:
            yield _DEFAULTS, default_oid(found, number), 0, _CLASSES, relation_oid(found), number, "a"
        for sequence_id in column.sequences:
            yield _DEFAULTS, default_oid(found, number), 0, _CLASSES, sequence_id, 0, "n"


def _owner(state: SystemState, sequence: NumberSequence) -> Iterable[Row]:
    owner = sequence.owned_by
    if owner is None:
        return
    table = state.catalog.relations[owner.table_id]
    for number, column in visible_columns(table):
        if column.column_id == owner.column_id:
            kind = "i" if owner.is_identity else "a"
            yield _CLASSES, relation_oid(sequence), 0, _CLASSES, relation_oid(table), number, kind


PG_DEPEND = relation(
    "pg_catalog",
    "pg_depend",
    "classid oid, objid oid, objsubid int4, refclassid oid, refobjid oid, refobjsubid int4, deptype char",
    _rows,
)
