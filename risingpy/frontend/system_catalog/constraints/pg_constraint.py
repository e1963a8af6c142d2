"""pg_constraint: primary and unique keys, checks and foreign keys."""

from __future__ import annotations

from collections.abc import Iterable

from risingpy.frontend.system_catalog.constraints.expression_texts import check_text
from risingpy.frontend.system_catalog.constraints.listed import ListedConstraint, constraints_of
from risingpy.frontend.system_catalog.objects import domains
from risingpy.frontend.system_catalog.oids import relation_oid, schema_oid
from risingpy.frontend.system_catalog.system_relation import Row, SystemState, relation
from risingpy.plan.catalog import CheckConstraint, Table


def _constraints(state: SystemState) -> Iterable[Row]:
    for found in state.relations:
        if isinstance(found, Table):
            for each in constraints_of(state.catalog, found):
                yield _row(state, each)
    yield from domains.pg_constraint_rows(state)


def _row(state: SystemState, each: ListedConstraint) -> Row:
    table, key = each.table, each.key
    update, delete, match = (" ", " ", " ")
    if key is not None:
        update, delete, match = key.on_update.value, key.on_delete.value, "f" if key.matches_full else "s"
    target = 0 if each.target is None else relation_oid(each.target)
    expression = next(
        (
            check_text(state, table, check)
            for check in table.constraints
            if isinstance(check, CheckConstraint) and check.name == each.name
        ),
        None,
    )
    return (
        *(each.oid, each.name, schema_oid(table.schema_name), each.kind, *each.deferral, each.validated),
        *(relation_oid(table), 0, each.index_oid, 0, target, update, delete, match, True, 0, each.kind != "c"),
        *(list(each.numbers), list(each.target_numbers) if key is not None else None),
        *(None, None, None, _set_columns(each), None, expression),
    )


def _set_columns(each: ListedConstraint) -> list[int] | None:
    """The numbers of the columns that ON DELETE SET NULL (…) names."""
    if each.key is None or not each.key.set_columns:
        return None
    numbers = {column.column_id: number for number, column in enumerate(each.table.columns, 1)}
    return [numbers[column_id] for column_id in each.key.set_columns]


PG_CONSTRAINT = relation(
    "pg_catalog",
    "pg_constraint",
    "oid oid, conname name, connamespace oid, contype char, condeferrable bool, condeferred bool, convalidated bool,"
    "conrelid oid, contypid oid, conindid oid, conparentid oid, confrelid oid, confupdtype char, confdeltype char,"
    "confmatchtype char, conislocal bool, coninhcount int4, connoinherit bool, conkey _int2, confkey _int2,"
    "conpfeqop _oid, conppeqop _oid, conffeqop _oid, confdelsetcols _int2, conexclop _oid, conbin pg_node_tree",
    _constraints,
)
