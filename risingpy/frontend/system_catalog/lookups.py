"""The relations in which functions look up oids and texts (see `functions/evaluation/sql_catalog.py`).

Their columns begin with `rp_`, so that no client's column in a function's argument can be mistaken for one.
"""

from __future__ import annotations

from collections.abc import Iterable

from risingpy.frontend.system_catalog.constraints.listed import constraints_of
from risingpy.frontend.system_catalog.index_text import index_definition_text, key_text, named_included_numbers
from risingpy.frontend.system_catalog.oids import (
    index_oid,
    relation_oid,
    schema_oid,
    system_relation_oid,
)
from risingpy.frontend.system_catalog.pg_class import index_name
from risingpy.frontend.system_catalog.pg_index import index_definition
from risingpy.frontend.system_catalog.pg_namespace import all_schemas
from risingpy.frontend.system_catalog.system_relation import IMPLICIT_SCHEMAS, Row, SystemState, relation
from risingpy.frontend.system_catalog.visible_columns import declared_key, visible_columns
from risingpy.functions.topics.object_names import quote_name, relation_key
from risingpy.plan.catalog import Table
from risingpy.types.type_entries import TYPES


def _objects(state: SystemState) -> Iterable[Row]:
    for found in state.relations:
        visible = state.is_visible(found)
        yield relation_oid(found), state.display_name(found), visible, False, None
        if isinstance(found, Table) and found.primary_key:
            name = quote_name(index_name(found))
            shown = name if visible else f"{quote_name(found.schema_name)}.{name}"
            yield index_oid(found), shown, visible, False, index_definition(found)
        if isinstance(found, Table):
            for each in constraints_of(state.catalog, found):
                yield each.oid, quote_name(each.name), visible, True, each.definition
    for sequence in state.sequences:
        yield relation_oid(sequence), state.display_name(sequence), state.is_visible(sequence), False, None
    for index, indexed in state.indexes:
        text = index_definition_text(index, indexed)
        yield relation_oid(index), state.display_name(index), state.is_visible(index), False, text
    for system in state.system_relations:
        found_by_name = system.schema in IMPLICIT_SCHEMAS
        shown = system.name if found_by_name else f"{system.schema}.{system.name}"
        # rw_catalog is searched, too, but psql's lists should show only the user's relations.
        visible = system.schema == "pg_catalog"
        yield system_relation_oid(system.schema, system.name), shown, visible, False, None


def _spellings(state: SystemState) -> Iterable[Row]:
    for found in state.relations:
        yield from ((text, relation_oid(found)) for text in state.keys(found))
        if declared_key(found):
            yield from ((text, index_oid(found)) for text in state.keys(found, index_name(found)))
    for sequence in state.sequences:
        yield from ((text, relation_oid(sequence)) for text in state.keys(sequence))
    for index, _ in state.indexes:
        yield from ((text, relation_oid(index)) for text in state.keys(index))
    for system in state.system_relations:
        oid = system_relation_oid(system.schema, system.name)
        yield relation_key([system.schema, system.name]), oid
        if system.schema in IMPLICIT_SCHEMAS:
            yield relation_key([system.name]), oid


def _types(_state: SystemState) -> Iterable[Row]:
    for entry in TYPES:
        yield entry.oid, entry.display


def _type_spellings(_state: SystemState) -> Iterable[Row]:
    return ((entry.name, entry.oid) for entry in TYPES)


def _columns(state: SystemState) -> Iterable[Row]:
    for found in state.relations:
        for number, column in visible_columns(found):
            yield relation_oid(found), number, quote_name(column.name)
        for number, position in enumerate(declared_key(found), start=1):
            yield index_oid(found), number, quote_name(found.columns[position].name)
    for index, indexed in state.indexes:
        for number, key in enumerate(index.index.keys, start=1):
            yield relation_oid(index), number, key_text(key, indexed)
        for number, included in enumerate(named_included_numbers(index, indexed), start=len(index.index.keys) + 1):
            yield relation_oid(index), number, quote_name(indexed.columns[included - 1].name)


def _schemas(state: SystemState) -> Iterable[Row]:
    return ((schema_oid(name), quote_name(name)) for name in all_schemas(state))


OBJECTS = relation(
    "risingpy",
    "rp_objects",
    "rp_oid oid, rp_name text, rp_visible bool, rp_is_constraint bool, rp_definition text",
    _objects,
)
SPELLINGS = relation("risingpy", "rp_spellings", "rp_text text, rp_named oid", _spellings)
TYPE_TEXTS = relation("risingpy", "rp_types", "rp_oid oid, rp_display text", _types)
TYPE_SPELLINGS = relation("risingpy", "rp_type_spellings", "rp_text text, rp_named oid", _type_spellings)
COLUMN_NAMES = relation("risingpy", "rp_columns", "rp_owner oid, rp_number int2, rp_column text", _columns)
SCHEMA_NAMES = relation("risingpy", "rp_schemas", "rp_oid oid, rp_name text", _schemas)
