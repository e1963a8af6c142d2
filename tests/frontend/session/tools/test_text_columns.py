"""text is another name of varchar; catalogs show the one that was written, or tools would change it at each run."""

from __future__ import annotations

import pytest

from risingpy.errors import FeatureNotSupported
from tests.frontend.session.conftest import Client
from tests.postgres_oracle import PostgresOracle

STATEMENTS = (
    'CREATE TABLE t (a text PRIMARY KEY, b varchar, c varchar(3), d text[], e "text", f pg_catalog.text, g varchar[])',
    "CREATE INDEX i ON t (e, b)",
    "ALTER TABLE t ALTER COLUMN b TYPE text, ALTER COLUMN c TYPE text, ADD COLUMN h text, ALTER COLUMN e TYPE varchar",
    "CREATE TABLE l (LIKE t)",
    "CREATE TABLE s (a integer ARRAY, b double precision ARRAY[3], c text ARRAY, d timestamp with time zone array)",
)
COLUMNS = (
    "SELECT attrelid::regclass::text, attname, atttypid, format_type(atttypid, atttypmod) FROM pg_attribute"
    " WHERE attrelid IN ('t'::regclass, 'i'::regclass, 'l'::regclass, 's'::regclass) AND attnum > 0 ORDER BY 1, attnum",
    "SELECT table_name, column_name, data_type, udt_name FROM information_schema.columns"
    " WHERE table_name IN ('t', 'l', 's') ORDER BY 1, ordinal_position",
)


def test_catalogs_show_the_name_that_was_written(client: Client, postgres_oracle: PostgresOracle) -> None:
    with postgres_oracle.connect() as connection:
        connection.execute("SET search_path = pg_temp")
        for sql in STATEMENTS:
            connection.execute(sql.replace("CREATE TABLE", "CREATE TEMP TABLE").encode())
            client.run(sql)
        for sql in COLUMNS:
            assert client.run(sql) == connection.execute(sql.encode()).fetchall()


def test_a_name_alone_changes_no_rows(client: Client) -> None:
    client.run("CREATE TABLE t (a varchar)")
    client.run("INSERT INTO t VALUES ('x')")
    client.run("ALTER TABLE t ALTER COLUMN a TYPE text")
    client.run("CREATE MATERIALIZED VIEW v AS SELECT a FROM t")
    client.run("INSERT INTO t VALUES ('y')")
    assert client.run("SELECT a FROM v ORDER BY 1") == [("x",), ("y",)]
    with pytest.raises(FeatureNotSupported, match="column used by a view"):  # as PostgreSQL
        client.run("ALTER TABLE t ALTER COLUMN a TYPE varchar")
    assert client.run("SELECT data_type FROM information_schema.columns WHERE table_name = 't'") == [("text",)]


def test_an_array_after_a_type(client: Client) -> None:
    """TypeORM writes `integer array`."""
    assert client.run("SELECT '{1}'::int array, CAST('{2}' AS int ARRAY[3]), 1::int || ARRAY[2]") == [
        ([1], [2], [1, 2])
    ]
    assert client.run("SELECT 1::int UNION SELECT (ARRAY[2])[1] ORDER BY 1") == [(1,), (2,)]
