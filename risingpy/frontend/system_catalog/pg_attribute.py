"""pg_attribute and pg_attrdef: the columns of relations and of primary keys' indexes, and their defaults."""

from __future__ import annotations

from collections.abc import Iterable

from risingpy.frontend.system_catalog.constraints.expression_texts import default_text, generated_text, part_of_index
from risingpy.frontend.system_catalog.index_text import column_names, named_included_numbers
from risingpy.frontend.system_catalog.objects.composites import attributes, own_composites
from risingpy.frontend.system_catalog.oids import (
    DEFAULT_COLLATION_OID,
    default_oid,
    index_oid,
    relation_oid,
    system_relation_oid,
)
from risingpy.frontend.system_catalog.rights.acls import acl_texts
from risingpy.frontend.system_catalog.system_relation import Row, SystemState, relation
from risingpy.frontend.system_catalog.visible_columns import declared_key, visible_columns
from risingpy.plan.catalog import ColumnDesc, Index, IndexedRelation
from risingpy.plan.expressions import InputRef
from risingpy.types import NUMERIC, SqlType, TypeKind
from risingpy.types.system_types import as_text

_BY_VALUE_BYTES = (1, 2, 4, 8)


def _row(
    owner: int,
    name: str,
    number: int,
    *,
    type_oid: int,
    length: int,
    typmod: int = -1,
    not_null: bool = False,
    has_default: bool = False,
    generated: bool = False,
    identity: str = "",
    collation: int = 0,
    acl: list[str] | None = None,
    base_oid: int | None = None,
    dimensions: int = 0,
) -> Row:
    """`base_oid` is that of the type below a domain, whose values are stored as the domain's are."""
    by_value = length in _BY_VALUE_BYTES
    storage = "p" if length > 0 else "m" if (base_oid or type_oid) == NUMERIC.oid else "x"
    return (
        *(owner, name, type_oid, -1, length, number, dimensions, -1, typmod, by_value, "i", storage, ""),
        *(not_null, has_default),
        *(False, identity, "s" if generated else "", False, True, 0, collation, acl, None, None, None),
    )


def _column_row(
    owner: int,
    number: int,
    column: ColumnDesc,
    *,
    not_null: bool,
    has_default: bool,
    acl: list[str] | None = None,
) -> Row:
    return _row(
        owner,
        column.name,
        number,
        type_oid=column.type_oid,
        length=column.type.typlen,
        typmod=column.type.typmod,
        not_null=not_null,
        has_default=has_default,
        generated=column.generated is not None,
        identity="" if column.identity is None else "a" if column.identity.always else "d",
        collation=DEFAULT_COLLATION_OID if column.type.kind is TypeKind.VARCHAR else 0,
        acl=acl,
        base_oid=column.shown_type.oid,
        dimensions=column.type.depth,
    )


def _rows(state: SystemState) -> Iterable[Row]:
    for found in state.relations:
        for number, column in visible_columns(found):
            not_null = column.refuses_null(in_key=number - 1 in declared_key(found))
            text = generated_text(state, found, column) or default_text(state, found, column)
            has_default = text is not None
            acl = acl_texts(state, dict(found.column_acls).get(column.column_id))
            yield _column_row(relation_oid(found), number, column, not_null=not_null, has_default=has_default, acl=acl)
        for number, position in enumerate(declared_key(found), start=1):
            column = found.columns[position]
            yield _column_row(index_oid(found), number, column, not_null=False, has_default=False)
    for index, indexed in state.indexes:
        for number, (name, type_) in enumerate(_index_columns(state, index, indexed), start=1):
            yield _row(relation_oid(index), name, number, type_oid=type_.oid, length=type_.typlen, typmod=type_.typmod)
    for sequence in state.sequences:
        for number, column in enumerate(sequence.columns, start=1):
            yield _column_row(relation_oid(sequence), number, column, not_null=True, has_default=False)
    for made in own_composites(state.catalog):
        for number, column in enumerate(attributes(made), start=1):
            yield _column_row(made.relation_id, number, column, not_null=False, has_default=False)
    for system in state.system_relations:
        owner = system_relation_oid(system.schema, system.name)
        for number, described in enumerate(system.columns, start=1):
            length = described.type.typlen
            yield _row(owner, described.name, number, type_oid=described.type.oid, length=length)


def _index_columns(state: SystemState, index: Index, indexed: IndexedRelation) -> Iterable[tuple[str, SqlType]]:
    """The keys and included columns, with PostgreSQL's names for an index's columns."""
    named, keys = {column.column_id: column for column in indexed.columns}, index.index.keys
    is_named = [isinstance(key.expression, InputRef) for key in keys]
    texts = [None if has else part_of_index(state, indexed, key) for key, has in zip(keys, is_named, strict=True)]
    for key, name in zip(keys, column_names(texts), strict=True):
        if isinstance(key.expression, InputRef):
            yield named[key.expression.index].name, named[key.expression.index].shown_type
        else:
            type_ = key.expression.type
            yield name, as_text(type_) if type_.kind is TypeKind.VARCHAR and type_.length is None else type_
    for number in named_included_numbers(index, indexed):
        yield indexed.columns[number - 1].name, indexed.columns[number - 1].shown_type


def _defaults(state: SystemState) -> Iterable[Row]:
    for found in state.relations:
        for number, column in visible_columns(found):
            text = generated_text(state, found, column) or default_text(state, found, column)
            if text is not None:
                yield default_oid(found, number), relation_oid(found), number, text


PG_ATTRIBUTE = relation(
    "pg_catalog",
    "pg_attribute",
    "attrelid oid, attname name, atttypid oid, attstattarget int4, attlen int2, attnum int2, attndims int4,"
    "attcacheoff int4, atttypmod int4, attbyval bool, attalign char, attstorage char, attcompression char,"
    "attnotnull bool, atthasdef bool, atthasmissing bool, attidentity char, attgenerated char, attisdropped bool,"
    "attislocal bool, attinhcount int4, attcollation oid, attacl _aclitem, attoptions _text, attfdwoptions _text,"
    "attmissingval text",
    _rows,
)


def _pretty_texts(state: SystemState) -> Iterable[Row]:
    """Of the conditions of partial indexes, of defaults and of generated columns."""
    for index, indexed in state.indexes:
        condition = index.index.predicate
        if condition is not None:
            plain, pretty = (part_of_index(state, indexed, condition, pretty=each) for each in (False, True))
            yield relation_oid(indexed), plain, pretty
    for found in state.relations:
        for _, column in visible_columns(found):
            default, shown = (
                generated_text(state, found, column, pretty=each) or default_text(state, found, column, pretty=each)
                for each in (False, True)
            )
            if default != shown:
                yield relation_oid(found), default, shown


# What pg_get_expr with true as its last argument gives, where it differs.
PRETTY_TEXTS = relation("risingpy", "rp_pretty_texts", "rp_owner oid, rp_plain text, rp_pretty text", _pretty_texts)
PG_ATTRDEF = relation("pg_catalog", "pg_attrdef", "oid oid, adrelid oid, adnum int2, adbin text", _defaults)
