"""The relations in which functions look up oids and texts (see `functions/evaluation/sql/catalog.py`).

Their columns begin with `rp_`, so that no client's column in a function's argument can be mistaken for one.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from risingpy.frontend.system_catalog.constraints.expression_texts import check_text, part_of_index
from risingpy.frontend.system_catalog.constraints.listed import constraints_of
from risingpy.frontend.system_catalog.index_text import index_definition_text, named_included_numbers, shown_key
from risingpy.frontend.system_catalog.objects import domains
from risingpy.frontend.system_catalog.objects.composites import own_composites
from risingpy.frontend.system_catalog.objects.user_types import display_name, is_visible, type_spellings, type_texts
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
        yield relation_oid(found), state.display_name(found), visible, False, None, None
        if isinstance(found, Table) and found.primary_key:
            name = quote_name(index_name(found))
            shown = name if visible else f"{quote_name(found.schema_name)}.{name}"
            pretty = index_definition(found, state.display_name(found))
            yield index_oid(found), shown, visible, False, index_definition(found), pretty
        if isinstance(found, Table):
            yield from _constraints(state, found, visible=visible)
    yield from domains.constraint_objects(state)
    for made in own_composites(state.catalog):
        yield made.relation_id, display_name(state, made), is_visible(state, made), False, None, None
    for sequence in state.sequences:
        yield relation_oid(sequence), state.display_name(sequence), state.is_visible(sequence), False, None, None
    for index, indexed in state.indexes:
        text = index_definition_text(index, indexed, printed=partial(part_of_index, state, indexed))
        printed = partial(part_of_index, state, indexed, pretty=True)
        pretty = index_definition_text(index, indexed, state.display_name(indexed), printed)
        yield relation_oid(index), state.display_name(index), state.is_visible(index), False, text, pretty
    for system in state.system_relations:
        found_by_name = system.schema in IMPLICIT_SCHEMAS
        shown = system.name if found_by_name else f"{system.schema}.{system.name}"
        # rw_catalog is searched, too, but psql's lists should show only the user's relations.
        visible = system.schema == "pg_catalog"
        yield system_relation_oid(system.schema, system.name), shown, visible, False, None, None


def _constraints(state: SystemState, table: Table, *, visible: bool) -> Iterable[Row]:
    """Each with its definition, also as it is with few parentheses."""
    plain, pretty = (
        list(constraints_of(state.catalog, table, state.search_path, partial(check_text, state, pretty=is_pretty)))
        for is_pretty in (False, True)
    )
    for each, other in zip(plain, pretty, strict=True):
        yield each.oid, quote_name(each.name), visible, True, each.definition, other.definition


def _spellings(state: SystemState) -> Iterable[Row]:
    for found in state.relations:
        yield from ((text, relation_oid(found)) for text in state.keys(found))
        if declared_key(found):
            yield from ((text, index_oid(found)) for text in state.keys(found, index_name(found)))
    for sequence in state.sequences:
        yield from ((text, relation_oid(sequence)) for text in state.keys(sequence))
    for index, _ in state.indexes:
        yield from ((text, relation_oid(index)) for text in state.keys(index))
    for made in own_composites(state.catalog):
        yield relation_key([made.schema_name, made.name]), made.relation_id
        if is_visible(state, made):
            yield relation_key([made.name]), made.relation_id
    for system in state.system_relations:
        oid = system_relation_oid(system.schema, system.name)
        yield relation_key([system.schema, system.name]), oid
        if system.schema in IMPLICIT_SCHEMAS:
            yield relation_key([system.name]), oid


def _types(state: SystemState) -> Iterable[Row]:
    for entry in TYPES:
        yield entry.oid, entry.display
    yield from type_texts(state)


def _type_spellings(state: SystemState) -> Iterable[Row]:
    yield from ((entry.name, entry.oid) for entry in TYPES)
    yield from type_spellings(state)


def _columns(state: SystemState) -> Iterable[Row]:
    for found in state.relations:
        for number, column in visible_columns(found):
            yield relation_oid(found), number, *(quote_name(column.name),) * 2
        for number, position in enumerate(declared_key(found), start=1):
            yield index_oid(found), number, *(quote_name(found.columns[position].name),) * 2
    for index, indexed in state.indexes:
        for number, key in enumerate(index.index.keys, start=1):
            texts = (partial(part_of_index, state, indexed, pretty=each) for each in (False, True))
            yield relation_oid(index), number, *(shown_key(key, indexed, printed) for printed in texts)
        for number, included in enumerate(named_included_numbers(index, indexed), start=len(index.index.keys) + 1):
            yield relation_oid(index), number, *(quote_name(indexed.columns[included - 1].name),) * 2


def _schemas(state: SystemState) -> Iterable[Row]:
    return ((schema_oid(name), quote_name(name)) for name in all_schemas(state))


OBJECTS = relation(
    "risingpy",
    "rp_objects",
    "rp_oid oid, rp_name text, rp_visible bool, rp_is_constraint bool, rp_definition text, rp_pretty text",
    _objects,
)
SPELLINGS = relation("risingpy", "rp_spellings", "rp_text text, rp_named oid", _spellings)
TYPE_TEXTS = relation("risingpy", "rp_types", "rp_oid oid, rp_display text", _types)
TYPE_SPELLINGS = relation("risingpy", "rp_type_spellings", "rp_text text, rp_named oid", _type_spellings)
COLUMN_NAMES = relation(
    "risingpy", "rp_columns", "rp_owner oid, rp_number int2, rp_column text, rp_pretty_column text", _columns
)
SCHEMA_NAMES = relation("risingpy", "rp_schemas", "rp_oid oid, rp_name text", _schemas)
