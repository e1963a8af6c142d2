"""pg_index and pg_indexes: indexes, and primary keys, which clients know as an index, too."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from risingpy.frontend.system_catalog.constraints.expression_texts import part_of_index
from risingpy.frontend.system_catalog.index_text import index_definition_text, index_key_numbers, named_included_numbers
from risingpy.frontend.system_catalog.objects.operator_classes import collation, operator_class
from risingpy.frontend.system_catalog.oids import (
    BTREE_OID,
    HEAP_OID,
    index_oid,
    relation_oid,
)
from risingpy.frontend.system_catalog.pg_class import index_name
from risingpy.frontend.system_catalog.system_relation import Row, SystemState, relation
from risingpy.frontend.system_catalog.visible_columns import key_numbers
from risingpy.functions.topics.object_names import quote_name
from risingpy.plan.catalog import Index, IndexedRelation, IndexKey, Table
from risingpy.plan.expressions import InputRef
from risingpy.types import SqlType

_HEAP_HANDLER_OID, _BTREE_HANDLER_OID = 3, 330  # heap_tableam_handler, bthandler


def keyed_tables(state: SystemState) -> Iterable[Table]:
    """Those with a primary key, whose index is no relation of its own here."""
    return (found for found in state.relations if isinstance(found, Table) and found.primary_key)


def index_definition(of: Table, owner: str | None = None) -> str:
    """The index as pg_get_indexdef prints it. `owner` is what the table is called, with its schema by default."""
    if owner is None:
        owner = f"{quote_name(of.schema_name)}.{quote_name(of.name)}"
    return f"CREATE UNIQUE INDEX {quote_name(index_name(of))} ON {owner} USING btree ({_key_columns(of)})"


def _access_methods(_state: SystemState) -> Iterable[Row]:
    yield HEAP_OID, "heap", _HEAP_HANDLER_OID, "t"
    yield BTREE_OID, "btree", _BTREE_HANDLER_OID, "i"


def _key_columns(of: Table) -> str:
    return ", ".join(quote_name(of.columns[position].name) for position in of.primary_key)


def _indexes(state: SystemState) -> Iterable[Row]:
    for found in keyed_tables(state):
        key = key_numbers(found)
        types = [found.columns[place].shown_type for place in found.primary_key]
        yield (
            *(index_oid(found), relation_oid(found), len(key), len(key), True, False, True, False, True, False, True),
            *(False, True, True, False, key, *_orders(types), [0] * len(key), None, None),
        )
    for index, indexed in state.indexes:
        yield _secondary(state, index, indexed)


def _secondary(state: SystemState, index: Index, indexed: IndexedRelation) -> Row:
    keys, rule = index.index.keys, index.index.unique
    attnums = [*index_key_numbers(index, indexed), *named_included_numbers(index, indexed)]
    options = [k.descending + 2 * k.nulls_first for k in keys]
    types = [_key_type(key, indexed) for key in keys]
    expressions = ", ".join(_expressions(state, indexed, keys)) or None
    predicate = None if index.index.predicate is None else part_of_index(state, indexed, index.index.predicate)
    return (
        *(relation_oid(index), relation_oid(indexed), len(attnums), len(keys), rule is not None),
        *(rule is not None and not rule.nulls_distinct, rule is not None and rule.is_primary, False),
        not index.deferrable,
        *(False, _is_valid(state, index), False, True, True, False),
        *(attnums, *_orders(types), options, expressions, predicate),
    )


def _is_valid(state: SystemState, index: Index) -> bool:
    """Whether queries can use the index. psql's \\d shows INVALID of one whose graph could not be built."""
    graph = None if index.index.nearest is None else state.graphs().get(index.relation_id)
    return graph is None or graph.error is None


def _expressions(state: SystemState, indexed: IndexedRelation, keys: Iterable[IndexKey]) -> list[str]:
    return [part_of_index(state, indexed, key) for key in keys if not isinstance(key.expression, InputRef)]


def _key_type(key: IndexKey, indexed: IndexedRelation) -> SqlType:
    if not isinstance(key.expression, InputRef):
        return key.expression.type
    return next(each.shown_type for each in indexed.columns if each.column_id == key.expression.index)


def _orders(types: Iterable[SqlType]) -> tuple[list[int], list[int]]:
    """The collations and the operator classes of keys of these types."""
    known = list(types)
    return [collation(each) for each in known], [operator_class(each) for each in known]


def _pg_indexes(state: SystemState) -> Iterable[Row]:
    for found in keyed_tables(state):
        yield found.schema_name, found.name, index_name(found), None, index_definition(found)
    for index, indexed in state.indexes:
        text = index_definition_text(index, indexed, printed=partial(part_of_index, state, indexed))
        yield index.schema_name, indexed.name, index.name, None, text


PG_INDEX = relation(
    "pg_catalog",
    "pg_index",
    "indexrelid oid, indrelid oid, indnatts int2, indnkeyatts int2, indisunique bool, indnullsnotdistinct bool,"
    "indisprimary bool, indisexclusion bool, indimmediate bool, indisclustered bool, indisvalid bool,"
    "indcheckxmin bool, indisready bool, indislive bool, indisreplident bool, indkey int2vector,"
    "indcollation oidvector, indclass oidvector, indoption int2vector, indexprs text, indpred text",
    _indexes,
)

PG_INDEXES = relation(
    "pg_catalog",
    "pg_indexes",
    "schemaname name, tablename name, indexname name, tablespace name, indexdef text",
    _pg_indexes,
)

PG_AM = relation("pg_catalog", "pg_am", "oid oid, amname name, amhandler regproc, amtype char", _access_methods)
