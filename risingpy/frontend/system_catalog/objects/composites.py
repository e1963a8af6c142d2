"""Rows' types that users have created: in pg_type, and as relations without rows in pg_class and pg_attribute."""

from __future__ import annotations

from collections.abc import Iterator

from risingpy.frontend.system_catalog.oids import schema_oid
from risingpy.frontend.system_catalog.rights.acls import acl_texts
from risingpy.frontend.system_catalog.system_relation import Row, SystemState
from risingpy.frontend.system_catalog.type_functions import function_oids
from risingpy.plan.catalog import Catalog, ColumnDesc, CompositeDesc


def own_composites(catalog: Catalog) -> Iterator[CompositeDesc]:
    """The rows' types of the database."""
    return (each for each in catalog.own_types if isinstance(each, CompositeDesc))


def pg_type_rows(state: SystemState, found: CompositeDesc) -> Iterator[Row]:
    """The type and its arrays."""
    place = schema_oid(found.schema_name), found.owner
    yield (
        *(found.type_id, found.name, *place, -1, False, "c", "C", False, True, ",", found.relation_id, 0, 0),
        *(found.array_id, *function_oids("record"), 0, 0, 0, "d", "x", False, 0, -1, 0, 0),
        *(None, None, acl_texts(state, found.acl)),
    )
    yield (
        *(found.array_id, found.array_name, *place, -1, False, "b", "A", False, True, ",", 0, 0, found.type_id, 0),
        *(*function_oids("array"), 0, 0, 0, "d", "x", False, 0, -1, 0, 0, None, None, None),
    )


def attributes(found: CompositeDesc) -> list[ColumnDesc]:
    """The attributes as columns of the relation that pg_class has for the type."""
    parts = enumerate(zip(found.names, found.items, found.texts, strict=True), 1)
    return [ColumnDesc(number, name, type_, as_text=is_text) for number, (name, type_, is_text) in parts]
