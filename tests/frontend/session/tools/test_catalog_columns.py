"""pg_catalog and information_schema beside PostgreSQL 15's: every relation, with its columns in their order."""

from __future__ import annotations

from tests.frontend.session.conftest import Client
from tests.postgres_oracle import PostgresOracle

COLUMNS = """
SELECT n.nspname || '.' || c.relname, string_agg(a.attname, ' ' ORDER BY a.attnum)
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
WHERE n.nspname IN ('pg_catalog', 'information_schema') AND c.relkind IN ('r', 'v')
GROUP BY 1"""
# What ours have besides: of PostgreSQL 14, whose number the server has, or of a later one.
MORE = {
    "pg_catalog.pg_auth_members": {"oid", "inherit_option", "set_option"},
    "pg_catalog.pg_database": {"datlastsysoid"},
    "pg_catalog.pg_prepared_statements": {"result_types"},
}


def test_every_relation_has_its_columns(client: Client, postgres_oracle: PostgresOracle) -> None:
    with postgres_oracle.connect() as connection:
        theirs = {str(name): str(columns).split() for name, columns in connection.execute(COLUMNS)}
    ours = {str(name): str(columns).split() for name, columns in client.run(COLUMNS)}
    assert theirs.keys() - ours.keys() == set()
    differing = {}
    for name, columns in theirs.items():
        kept = [column for column in ours[name] if column in columns or column not in MORE.get(name, ())]
        if kept != columns:
            differing[name] = (columns, kept)
    assert differing == {}


def test_every_relation_is_read(client: Client, postgres_oracle: PostgresOracle) -> None:
    client.run("CREATE TABLE t (id int PRIMARY KEY, a int UNIQUE NULLS NOT DISTINCT, b varchar(3), c text)")
    client.run("CREATE INDEX i ON t (b)")
    client.run("CREATE VIEW v AS SELECT a FROM t")
    for name, _ in client.run(COLUMNS):
        client.run(f"SELECT * FROM {name}")
    assert client.run("SELECT table_name FROM information_schema.view_table_usage WHERE view_name = 'v'") == [("t",)]
    assert client.run(
        "SELECT nulls_distinct FROM information_schema.table_constraints WHERE constraint_type = 'UNIQUE'"
    ) == [("NO",)]
    indexes = client.run("SELECT relname, indexrelname FROM pg_stat_user_indexes ORDER BY 2")
    assert indexes == [("t", "i"), ("t", "t_a_key"), ("t", "t_pkey")]
    client.run("CREATE TABLE arrays (a int[], b int[][], c text)")
    depths = "SELECT attndims FROM pg_attribute WHERE attrelid = 'arrays'::regclass AND attnum > 0 ORDER BY attnum"
    assert client.run(depths) == [(1,), (2,), (0,)]
    octets = (
        "SELECT character_octet_length FROM information_schema.columns WHERE table_name = 't' ORDER BY ordinal_position"
    )
    assert client.run(octets) == [(None,), (None,), (12,), (1 << 30,)]
    client.run("INSERT INTO t VALUES (1)")
    assert client.run("SELECT numbackends FROM pg_stat_database WHERE datname = 'dev'") == [(1,)]
    assert client.run(
        "SELECT attname, attstorage, attalign FROM pg_attribute WHERE attrelid = 't'::regclass AND attnum IN (1, 3)"
    ) == [("id", "p", "i"), ("b", "x", "i")]
