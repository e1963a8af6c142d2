"""pg_constraint: primary and unique keys, checks and foreign keys."""

from __future__ import annotations

from collections.abc import Iterable

from risingpy.frontend.system_catalog.constraints.listed import ListedConstraint, constraints_of
from risingpy.frontend.system_catalog.oids import relation_oid, schema_oid
from risingpy.frontend.system_catalog.system_relation import Row, SystemState, relation
from risingpy.plan.catalog import CheckConstraint, Table


def _constraints(state: SystemState) -> Iterable[Row]:
    for found in state.relations:
        if isinstance(found, Table):
            for each in constraints_of(state.catalog, found):
                yield _row(each)


def _row(each: ListedConstraint) -> Row:
    table, key = each.table, each.key
    update, delete, match = (" ", " ", " ")
    if key is not None:
        update, delete, match = key.on_update.value, key.on_delete.value, "f" if key.matches_full else "s"
    target = 0 if each.target is None else relation_oid(each.target)
    expression = next(
        (c.text for c in table.constraints if isinstance(c, CheckConstraint) and c.name == each.name), None
    )
    return (
        *(each.oid, each.name, schema_oid(table.schema_name), each.kind, *each.deferral, each.validated),
        *(relation_oid(table), 0, each.index_oid, 0, target, update, delete, match, True, 0, each.kind != "c"),
        *(list(each.numbers), list(each.target_numbers) if key is not None else None),
        *(None, None, None, None, expression),
    )


PG_CONSTRAINT = relation(
    "pg_catalog",
    "pg_constraint",
    "oid oid, conname name, connamespace oid, contype char, condeferrable bool, condeferred bool, convalidated bool,"
    "conrelid oid, contypid oid, conindid oid, conparentid oid, confrelid oid, confupdtype char, confdeltype char,"
    "confmatchtype char, conislocal bool, coninhcount int4, connoinherit bool, conkey _int2, confkey _int2,"
    "conpfeqop _oid, conppeqop _oid, conffeqop _oid, conexclop _oid, conbin text",
    _constraints,
)
