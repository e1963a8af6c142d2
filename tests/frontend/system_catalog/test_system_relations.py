"""What the system relations say of a table, a view and a materialized view."""

from __future__ import annotations

from typing import Any

import pytest

from risingpy.errors import (
    SqlError,
    SyntaxError_,
    UndefinedColumn,
    UndefinedFunction,
    UndefinedTable,
)
from risingpy.frontend.system_catalog.pg_empty import EMPTY_RELATIONS
from risingpy.frontend.system_catalog.registry import RELATIONS


def test_relations_by_kind(asked: Any) -> None:
    rows = asked.rows("SELECT relname, relkind FROM pg_class WHERE relnamespace IN (2200) ORDER BY relname")
    assert rows == [("events", "r"), ("orders", "r"), ("orders_pkey", "i"), ("totals", "m")]


def test_columns_hide_the_row_id(asked: Any) -> None:
    assert asked.rows("SELECT attname FROM pg_attribute WHERE attrelid = 'events'::regclass") == [("what",)]


def test_column_types_defaults_and_not_null(asked: Any) -> None:
    rows = asked.rows(
        "SELECT attname, format_type(atttypid, atttypmod), attnotnull,"
        " (SELECT pg_get_expr(d.adbin, d.adrelid) FROM pg_attrdef d"
        "  WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum)"
        " FROM pg_attribute a WHERE attrelid = 'public.orders'::regclass ORDER BY attnum"
    )
    assert rows == [
        ("id", "bigint", True, None),
        ("price", "numeric(10,2)", False, None),
        ("Note", "character varying(20)", False, "'none'"),
    ]


def test_primary_key(asked: Any) -> None:
    sql = "SELECT conname, pg_get_constraintdef(oid), conrelid::regclass, conkey FROM pg_constraint"
    assert asked.rows(sql) == [("orders_pkey", "PRIMARY KEY (id)", "orders", [1])]
    definition = "CREATE UNIQUE INDEX orders_pkey ON public.orders USING btree (id)"
    assert asked.value("SELECT pg_get_indexdef(indexrelid, 0, false) FROM pg_index") == definition
    pretty = definition.replace("public.", "")
    assert asked.value("SELECT pg_get_indexdef(indexrelid, 0, true) FROM pg_index") == pretty


def test_view_definitions(asked: Any) -> None:
    assert asked.value("SELECT pg_get_viewdef('totals'::regclass, true)") == " SELECT count(*) AS n FROM orders;"
    assert asked.rows("SELECT viewname FROM pg_views") == [("all_orders",)]
    assert asked.rows("SELECT matviewname, ispopulated FROM pg_matviews") == [("totals", True)]


def test_visibility_and_names(asked: Any) -> None:
    sql = (
        "SELECT c.oid::regclass::text, pg_table_is_visible(c.oid) FROM pg_class c"
        " WHERE relkind IN ('v', 'm') AND c.oid < 20000 ORDER BY 1"
    )
    assert asked.rows(sql) == [("sales.all_orders", False), ("totals", True)]


def test_information_schema(asked: Any) -> None:
    rows = asked.rows("SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = 'public'")
    assert sorted(rows) == [("events", "BASE TABLE"), ("orders", "BASE TABLE"), ("totals", "MATERIALIZED VIEW")]
    rows = asked.rows(
        "SELECT column_name, data_type, is_nullable, numeric_precision, character_maximum_length"
        " FROM information_schema.columns WHERE table_name = 'orders' ORDER BY ordinal_position"
    )
    assert rows == [
        ("id", "bigint", "NO", 64, None),
        ("price", "numeric", "YES", 10, None),
        ("Note", "character varying", "YES", None, 20),
    ]
    assert asked.rows("SELECT column_name FROM information_schema.key_column_usage") == [("id",)]


def test_rw_catalog_is_searched_without_a_schema(asked: Any) -> None:
    assert asked.rows("SELECT name FROM rw_materialized_views") == [("totals",)]
    assert asked.rows("SELECT relation_name, error_count FROM rw_streaming_errors") == [("totals", 3)]
    assert asked.value("SELECT rows_read FROM rw_catalog.rw_ddl_progress") == 1000
    assert asked.rows("SELECT * FROM rw_depend ORDER BY objid") == [(9, 7), (10, 7)]


def test_session_functions(asked: Any) -> None:
    assert asked.rows("SELECT pg_backend_pid(), current_schemas(true)") == [
        (42, ["pg_catalog", "rw_catalog", "public"])
    ]
    assert asked.value("SELECT current_setting('server_version_num')::int / 10000") == 14
    assert asked.value("SELECT current_setting('no.such', true)") is None
    with pytest.raises(SqlError, match='unrecognized configuration parameter "nosuch"'):
        asked.value("SELECT current_setting('nosuch')")


def test_set_config_takes_effect_only_when_run(asked: Any) -> None:
    query = asked.prepare("SELECT set_config('jit', $1, false)", ())
    assert asked.settings["jit"] == "off"
    asked.execute(query, ["on"])
    assert asked.settings["jit"] == "on"


def test_result_columns_have_postgres_names_and_oids(asked: Any) -> None:
    sql = (
        "SELECT c.oid, relname, relkind, 1 + 1, count(*)::int, NULL, current_schemas(false)"
        " FROM pg_class c GROUP BY 1, 2, 3"
    )
    columns = asked.prepare(sql, ()).columns
    assert [column.name for column in columns] == [
        *("oid", "relname", "relkind", "?column?", "count", "?column?", "current_schemas")
    ]
    assert [column.type.oid for column in columns] == [26, 19, 18, 23, 23, 25, 1003]


def test_parameters_take_their_types_from_casts(asked: Any) -> None:
    query = asked.prepare("SELECT typname FROM pg_type WHERE oid = ANY($1::oid[]) AND typname <> $2", ())
    assert [parameter.oid for parameter in query.parameters] == [1028, 25]
    assert asked.rows("SELECT typname FROM pg_type WHERE oid = ANY($1::oid[]) ORDER BY 1", (20, 25)) == [
        ("int8",),
        ("text",),
    ]


@pytest.mark.parametrize(
    ("sql", "error", "message"),
    [
        ("SELECT * FROM pg_nonsense, pg_class", UndefinedTable, 'relation "pg_nonsense" does not exist'),
        ("SELECT nosuch(oid) FROM pg_class", UndefinedFunction, "nosuch"),
        ("SELECT nosuch FROM pg_class", SqlError, "nosuch"),
        ("SELECT 'nosuch'::regclass", SqlError, 'relation "nosuch" does not exist'),
        ("SELECT FROM FROM pg_class", SyntaxError_, "syntax error"),
        ("SELECT * FROM read_csv('/etc/passwd'), pg_class", UndefinedFunction, "read_csv"),
        ("SELECT * FROM '/etc/passwd', pg_class", SqlError, "/etc/passwd"),
        ("SELECT getenv('HOME'), oid FROM pg_class", SqlError, "getenv"),
    ],
)
def test_what_is_refused(asked: Any, sql: str, error: type[SqlError], message: str) -> None:
    with pytest.raises(error, match=message):
        asked.rows(sql)


@pytest.mark.parametrize(
    ("sql", "kind", "message", "position"),
    [
        ("SELECT nope FROM pg_class", UndefinedColumn, 'column "nope" does not exist', 8),
        ("SELECT 'nope', nope FROM pg_class", UndefinedColumn, 'column "nope" does not exist', 16),
        ("SELECT c.oid, c.nope FROM pg_class c", UndefinedColumn, "column c.nope does not exist", 15),
        ("SELECT x.oid FROM pg_class c", UndefinedTable, 'missing FROM-clause entry for table "x"', 8),
    ],
)
def test_unknown_names_are_refused_as_postgresql_does(
    asked: Any, sql: str, kind: type[SqlError], message: str, position: int
) -> None:
    with pytest.raises(kind) as raised:
        asked.rows(sql)
    assert (raised.value.message, raised.value.position) == (message, position)


def test_functions_by_name_and_by_signature(asked: Any) -> None:
    assert asked.rows("SELECT 'md5(text)'::regprocedure::oid <> 'md5(bytea)'::regprocedure::oid") == [(True,)]
    assert asked.rows("SELECT 'pi'::regproc, pg_get_functiondef('pi'::regproc::oid) LIKE 'CREATE OR REPLACE%'") == [
        ("pi", True)
    ]
    with pytest.raises(UndefinedFunction, match='function "nosuch" does not exist'):
        asked.rows("SELECT 'nosuch'::regproc::oid")
    with pytest.raises(SqlError, match='more than one function named "abs"') as raised:
        asked.rows("SELECT 'abs'::regproc::oid")
    assert raised.value.sqlstate == "42725"


def test_tableoid_is_the_system_relation(asked: Any) -> None:
    sql = "SELECT DISTINCT c.tableoid = 'pg_class'::regclass, n.tableoid FROM pg_class c JOIN pg_namespace n ON true"
    assert asked.rows(sql) == [(True, 2615)]
    assert asked.rows("SELECT count(*) FROM pg_class c WHERE EXISTS (SELECT 1 WHERE tableoid = 1259)") != [(0,)]


def test_current_setting_of_a_column(asked: Any) -> None:
    assert asked.rows("SELECT name, current_setting(name) FROM pg_settings WHERE name = 'TimeZone'") == [
        ("TimeZone", "UTC")
    ]


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ('SELECT relname AS Foo, relkind Bar, oid "Baz" FROM pg_class', ["foo", "bar", "Baz"]),
        ("SELECT RelName, C.OID FROM pg_class c", ["relname", "oid"]),
        ("WITH X AS (SELECT relname AS N FROM pg_class) SELECT N, x.n AS M FROM X", ["n", "m"]),
        ('SELECT s.* FROM (SELECT relname AS Nm, relkind AS "K" FROM pg_class) AS S', ["nm", "K"]),
        ("SELECT relname AS A FROM pg_class UNION ALL SELECT typname FROM pg_type", ["a"]),
        ("SELECT COUNT(*) FILTER (WHERE true), strpos(relname, 'a') FROM pg_class GROUP BY 2", ["count", "strpos"]),
        ("SELECT '1'::INT::text, 2::BIGINT, oid::text, NOW() FROM pg_class", ["text", "int8", "oid", "now"]),
        ("SELECT char_length(relname), position('a' in relname) FROM pg_class", ["char_length", "position"]),
    ],
)
def test_result_columns_are_called_as_postgresql_calls_them(asked: Any, sql: str, names: list[str]) -> None:
    assert [column.name for column in asked.prepare(sql, ()).columns] == names


# Columns of rw_catalog and pg_catalog that hold the id of a relation; pg_class.oid must have each.
_OF_RELATIONS = """
rw_tables.id rw_views.id rw_materialized_views.id rw_sources.id rw_relations.id rw_columns.relation_id
rw_relation_info.relationid rw_relation_stats.id
rw_indexes.id rw_indexes.primary_table_id rw_depend.objid rw_depend.refobjid
rw_streaming_jobs.id rw_streaming_errors.relation_id rw_ddl_progress.ddl_id rw_set_aside_jobs.id
rw_vector_indexes.id
pg_attribute.attrelid pg_attrdef.adrelid pg_index.indexrelid pg_index.indrelid pg_constraint.conrelid
pg_constraint.conindid pg_depend.refobjid pg_rewrite.ev_class pg_stat_user_tables.relid
"""


@pytest.mark.parametrize("column", _OF_RELATIONS.split())
def test_a_relation_has_one_id_everywhere(asked: Any, column: str) -> None:
    relation, name = column.split(".")
    others = " AND r.refclassid = 'pg_class'::regclass" if relation == "pg_depend" else ""
    found = asked.value(
        f"SELECT count(*) FROM {relation} r LEFT JOIN pg_class c ON c.oid = r.{name} WHERE c.oid IS NULL{others}"
    )
    assert found == 0


def test_ids_join_rw_catalog_with_pg_catalog(asked: Any) -> None:
    sql = "SELECT r.name FROM rw_relations r JOIN pg_class c ON c.oid = r.id WHERE c.relname = '{}'"
    for name in ("orders", "totals", "all_orders"):
        assert asked.rows(sql.format(name)) == [(name,)]
    assert asked.value("SELECT 'orders'::regclass::oid = id FROM rw_tables WHERE name = 'orders'") is True
    joined = "SELECT u.name, a.rolname, s.name FROM rw_relations r JOIN rw_users u ON u.id = r.owner"
    joined += " JOIN pg_roles a ON a.oid = r.owner JOIN pg_namespace n ON n.oid = r.schema_id"
    joined += " JOIN rw_schemas s ON s.id = n.oid WHERE r.name = 'all_orders'"
    assert asked.rows(joined) == [("root", "root", "sales")]


def test_system_ids_of_rw_catalog_are_all_listed() -> None:
    """A new column of a relation's id must be among those that are looked up."""
    ids = {"id", "relation_id", "relationid", "primary_table_id", "objid", "refobjid", "ddl_id", "table_id"}
    others = {  # of databases, schemas, users, types, secrets, and of the state's tables, which have no row in pg_class
        *("rw_databases.id", "rw_schemas.id", "rw_users.id", "rw_types.id", "rw_table_stats.id"),
        *("rw_internal_tables.id", "rw_compactions.id", "rw_functions.id", "rw_secrets.id", "rw_connections.id"),
        # pg_class has none of RisingWave's sinks and subscriptions, which have fragments too.
        *("rw_sinks.id", "rw_subscriptions.id", "rw_fragments.table_id"),
        "rw_locks.relation_id",  # has rows only while somebody has a lock
    }
    empty = {relation.name for relation in EMPTY_RELATIONS}
    found = {
        f"{relation.name}.{column.name}"
        for (schema, name), relation in RELATIONS.items()
        for column in relation.columns
        if schema == "rw_catalog" and column.name in ids and name not in empty
    }
    assert found - others == {column for column in _OF_RELATIONS.split() if column.startswith("rw_")}


@pytest.mark.parametrize(
    ("sql", "oids"),
    [
        ("SELECT 1 FROM pg_class WHERE relkind = ANY($1) AND oid = ANY ($2)", [1009, 1028]),
        ("SELECT 1 FROM pg_attribute WHERE attnum >= $1 AND $2 = attrelid AND attnum = ANY($3)", [21, 26, 1005]),
        ("SELECT 1 FROM pg_class WHERE oid IN ($1, $2) AND relname = $3", [26, 26, 25]),
        ("SELECT 1 FROM pg_class WHERE relname LIKE ANY ($1) OR relname !~ ALL($2)", [1009, 1009]),
    ],
)
def test_parameters_take_their_types_from_the_columns_beside_them(asked: Any, sql: str, oids: list[int]) -> None:
    parameters = asked.prepare(sql, ()).parameters
    assert [parameter.oid for parameter in parameters] == oids


@pytest.mark.parametrize(
    ("pattern", "found"),
    [("all\\_orders", ["all_orders"]), ("all\\_%", ["all_orders"]), ("all_orders", ["all_orders"]), ("all\\%", [])],
)
def test_like_takes_a_bound_pattern_with_escapes(asked: Any, pattern: str, found: list[str]) -> None:
    rows = asked.rows("SELECT relname FROM pg_class WHERE relname LIKE $1 AND relkind = 'v'", pattern)
    assert [name for (name,) in rows] == found
