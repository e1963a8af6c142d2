"""Object ids: numbers that clients use to go from one system relation to another, stable while an object lives.

Built-in objects have PostgreSQL's oids. A relation's oid is its id in our catalog, and its id in rw_catalog; our ids
begin above PostgreSQL's reserved range. Dependent objects (its key's index and constraint, its default expressions)
have oids in their own ranges.
"""

from __future__ import annotations

import zlib

from risingpy.plan.catalog import Relation

_RANGE = 1 << 27  # far more than the number of relations can be
_INDEX_BASE = 1 << 27
_CONSTRAINT_BASE = 2 << 27
_RULE_BASE = 4 << 27
_SCHEMA_BASE = 5 << 27
_SYSTEM_RELATION_BASE = 6 << 27
_CONNECTOR_BASE = 7 << 27
_DEFAULT_BASE = 8 << 27
_PARAMETER_BASE = 12 << 27

LANGUAGE_OIDS = {"internal": 12, "sql": 14, "python": 15}
ROOT_USER_OID = 10
DATABASE_OID = 1
BTREE_OID = 403
HEAP_OID = 2
DEFAULT_COLLATION_OID = 100
DEFAULT_TABLESPACE_OID = 1663
DEFAULT_TABLESPACE = "pg_default"

_SCHEMA_OIDS = {"pg_catalog": 11, "public": 2200, "information_schema": 13000, "rw_catalog": 13001}
_SYSTEM_RELATION_OIDS = {
    "pg_type": 1247,
    "pg_attribute": 1249,
    "pg_proc": 1255,
    "pg_class": 1259,
    "pg_authid": 1260,
    "pg_database": 1262,
    "pg_constraint": 2606,
    "pg_namespace": 2615,
    "pg_description": 2609,
    "pg_attrdef": 2604,
    "pg_index": 2610,
    "pg_rewrite": 2618,
    "pg_trigger": 2620,
    "pg_extension": 3079,
    "pg_am": 2601,
}


def relation_oid(relation: Relation) -> int:
    """pg_class.oid of a table, view, source or index; rw_relations.id."""
    return relation.relation_id


def index_oid(relation: Relation) -> int:
    """pg_class.oid of the primary key's index."""
    return _INDEX_BASE + relation.relation_id


def constraint_oid(relation: Relation) -> int:
    """pg_constraint.oid of the primary key."""
    return _CONSTRAINT_BASE + relation.relation_id


def rule_oid(relation: Relation) -> int:
    """pg_rewrite.oid of a view's `_RETURN` rule."""
    return _RULE_BASE + relation.relation_id


def default_oid(relation: Relation, number: int) -> int:
    """pg_attrdef.oid of the default of column `number` (from 1)."""
    return _DEFAULT_BASE + (relation.relation_id << 12 | number) % (1 << 30)


def schema_oid(name: str) -> int:
    """pg_namespace.oid."""
    return _SCHEMA_OIDS.get(name) or _SCHEMA_BASE + zlib.crc32(name.encode()) % _RANGE


def connector_oid(name: str) -> int:
    """The oid of a connector, as the foreign server of its sources."""
    return _CONNECTOR_BASE + zlib.crc32(name.encode()) % _RANGE


def parameter_oid(name: str) -> int:
    """pg_parameter_acl.oid."""
    return _PARAMETER_BASE + zlib.crc32(name.encode()) % _RANGE


def system_relation_oid(schema: str, name: str) -> int:
    """pg_class.oid of a system relation: PostgreSQL's, for those that clients have as constants."""
    known = _SYSTEM_RELATION_OIDS.get(name) if schema == "pg_catalog" else None
    return known or _SYSTEM_RELATION_BASE + zlib.crc32(f"{schema}.{name}".encode()) % _RANGE
