"""pg_class: every table, view, materialized view and source, the primary keys' indexes, and the system relations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from risingpy.frontend.system_catalog.index_text import named_included_numbers
from risingpy.frontend.system_catalog.objects.composites import own_composites
from risingpy.frontend.system_catalog.oids import (
    BTREE_OID,
    HEAP_OID,
    ROOT_USER_OID,
    index_oid,
    relation_oid,
    schema_oid,
    system_relation_oid,
)
from risingpy.frontend.system_catalog.rights.acls import acl_texts
from risingpy.frontend.system_catalog.system_relation import Row, SystemState, relation
from risingpy.frontend.system_catalog.visible_columns import declared_key, visible_columns
from risingpy.plan.catalog import (
    CheckConstraint,
    ExternalSource,
    ForeignKey,
    MaterializedView,
    Relation,
    Table,
    View,
    is_temporary_schema,
)

# What is a view in PostgreSQL's pg_catalog, as is all whose name begins with pg_stat but for two tables.
_VIEWS = frozenset(
    """
    pg_available_extension_versions pg_available_extensions pg_backend_memory_contexts pg_config pg_cursors
    pg_file_settings pg_group pg_hba_file_rules pg_ident_file_mappings pg_indexes pg_locks pg_matviews pg_policies
    pg_prepared_statements pg_prepared_xacts pg_publication_tables pg_replication_origin_status pg_replication_slots
    pg_roles pg_rules pg_seclabels pg_sequences pg_settings pg_shadow pg_shmem_allocations pg_tables
    pg_timezone_abbrevs pg_timezone_names pg_user pg_user_mappings pg_views
    """.split()  # noqa: SIM905 - a page of words reads better than a page of quotes
)
_TABLES = frozenset({"pg_statistic", "pg_statistic_ext", "pg_statistic_ext_data"})


def relation_kind(of: Table | MaterializedView | View | ExternalSource) -> str:
    """pg_class.relkind."""
    match of:
        case Table():
            return "r"
        case MaterializedView():
            return "m"
        case View():
            return "v"
        case ExternalSource():
            return "f"  # as a foreign table: it is read, and kept elsewhere
        case _:
            assert_never(of)


def index_name(of: Relation) -> str:
    """The name of the primary key's index and constraint."""
    return of.key_constraint if isinstance(of, Table) else f"{of.name}_pkey"


def _row(
    oid: int,
    name: str,
    schema: str,
    kind: str,
    columns: int,
    *,
    owner: int = ROOT_USER_OID,
    access_method: int = 0,
    has_index: bool = False,
    checks: int = 0,
    has_keys: bool = False,
    acl: list[str] | None = None,
    of: int = 0,
) -> Row:
    has_rules = kind in ("v", "m")
    return (
        *(oid, name, schema_oid(schema), of, 0, owner, access_method, oid, 0, 0, -1.0, 0, 0, has_index, False),
        *(
            "t" if is_temporary_schema(schema) else "p",
            kind,
            columns,
            checks,
            has_rules,
            has_keys,
            False,
            False,
            False,
            True,
            "d",
            False,
            0,
            0,
            0,
            acl,
            None,
            None,
        ),
    )


def _checks(of: Relation) -> int:
    """How many CHECK constraints it has."""
    return sum(isinstance(each, CheckConstraint) for each in of.constraints) if isinstance(of, Table) else 0


def _foreign_keys(of: Relation) -> int:
    return sum(isinstance(each, ForeignKey) for each in of.constraints) if isinstance(of, Table) else 0


def _rows(state: SystemState) -> Iterable[Row]:
    indexed = {of.relation_id for _, of in state.indexes}
    for found in state.relations:
        kind, key = relation_kind(found), declared_key(found)
        yield _row(
            relation_oid(found),
            found.name,
            found.schema_name,
            kind,
            len(visible_columns(found)),
            owner=found.owner,
            access_method=HEAP_OID if kind in ("r", "m") else 0,
            has_index=bool(key) or found.relation_id in indexed,
            checks=_checks(found),
            acl=acl_texts(state, found.acl),
            has_keys=bool(_foreign_keys(found) or state.catalog.foreign_keys_to(found.relation_id)),
        )
        if key:
            head = index_oid(found), index_name(found), found.schema_name
            yield _row(*head, "i", len(key), owner=found.owner, access_method=BTREE_OID)
    for index, of in state.indexes:
        keys = len(index.index.keys) + len(named_included_numbers(index, of))
        head = relation_oid(index), index.name, index.schema_name
        yield _row(*head, "i", keys, owner=index.owner, access_method=BTREE_OID)
    for sequence in state.sequences:
        head = relation_oid(sequence), sequence.name, sequence.schema_name
        acl = acl_texts(state, sequence.acl)
        yield _row(*head, "S", len(sequence.columns), owner=sequence.owner, acl=acl)
    for made in own_composites(state.catalog):
        yield _row(
            made.relation_id, made.name, made.schema_name, "c", len(made.names), owner=made.owner, of=made.type_id
        )
    for system in state.system_relations:
        is_view = system.schema != "pg_catalog" or system.name in _VIEWS or system.name.startswith("pg_stat")
        head = system_relation_oid(system.schema, system.name), system.name, system.schema
        yield _row(*head, "v" if is_view and system.name not in _TABLES else "r", len(system.columns))


PG_CLASS = relation(
    "pg_catalog",
    "pg_class",
    "oid oid, relname name, relnamespace oid, reltype oid, reloftype oid, relowner oid, relam oid, relfilenode oid,"
    "reltablespace oid, relpages int4, reltuples float4, relallvisible int4, reltoastrelid oid, relhasindex bool,"
    "relisshared bool, relpersistence char, relkind char, relnatts int2, relchecks int2, relhasrules bool,"
    "relhastriggers bool, relhassubclass bool, relrowsecurity bool, relforcerowsecurity bool, relispopulated bool,"
    "relreplident char, relispartition bool, relrewrite oid, relfrozenxid oid, relminmxid oid, relacl _aclitem,"
    "reloptions _text, relpartbound text",
    _rows,
)
