"""CREATE TABLE … AS and SELECT … INTO, which dbt and people at a prompt make tables with."""

from __future__ import annotations

import pytest

from risingpy.errors import SqlError
from tests.frontend.session.conftest import Client


@pytest.fixture
def source(client: Client) -> Client:
    client.run("CREATE TABLE s (id int PRIMARY KEY, n numeric(8, 2) NOT NULL, t varchar(5))")
    client.run("INSERT INTO s SELECT i, i * 1.5, 'v' || i FROM generate_series(1, 1000) AS g (i)")
    client.run("UPDATE s SET t = 'up' WHERE id = 7")
    client.run("DELETE FROM s WHERE id = 8")
    return client


def test_rows_and_columns_are_the_querys(source: Client) -> None:
    source.run("CREATE TABLE copied AS SELECT * FROM s")
    assert source.tag == "SELECT 999"
    assert source.run("SELECT * FROM copied ORDER BY id") == source.run("SELECT * FROM s ORDER BY id")
    shown = source.run("SELECT attname, format_type(atttypid, atttypmod), attnotnull FROM pg_attribute"
                       " WHERE attrelid = 'copied'::regclass AND attnum > 0 ORDER BY attnum")  # fmt: skip
    assert shown == [
        ("id", "integer", False),
        ("n", "numeric(8,2)", False),
        ("t", "character varying(5)", False),
    ]
    source.run("INSERT INTO copied VALUES (1, 1, 'again'), (1, 1, 'again')")
    assert source.run("SELECT count(*) FROM copied WHERE id = 1") == [(3,)]
    source.run("CREATE MATERIALIZED VIEW of_it AS SELECT count(*) AS n FROM copied")
    source.run("DELETE FROM copied WHERE id = 1")
    assert source.run("SELECT n FROM of_it") == [(998,)]


def test_names_types_and_with_no_data(source: Client) -> None:
    source.run(
        "CREATE TABLE named (a, b) WITH (fillfactor = 70) AS SELECT id, count(*), 'x' AS c FROM s GROUP BY id WITH DATA"
    )
    assert source.run("SELECT a, b, c FROM named WHERE a = 7") == [(7, 1, "x")]
    source.run("CREATE TABLE hollow AS SELECT 1 / 0 AS x, NULL AS y FROM s WITH NO DATA")
    assert source.tag == "CREATE TABLE AS"
    assert source.run("SELECT * FROM hollow") == []
    source.run("CREATE TABLE odd AS SELECT 1, relname, oid::regclass AS r FROM pg_class WHERE relname = 's'")
    assert source.run('SELECT "?column?", relname, r FROM odd') == [(1, "s", "s")]
    assert source.run("SHOW CREATE TABLE hollow")[0][1] == "CREATE TABLE hollow (x integer, y text)"


def test_parameters(source: Client) -> None:
    source.run("CREATE TABLE few AS SELECT * FROM s WHERE id < $1", 3)
    assert source.run("SELECT id FROM few ORDER BY id") == [(1,), (2,)]


def test_if_not_exists_leaves_the_table(source: Client) -> None:
    source.run("CREATE TABLE IF NOT EXISTS s AS SELECT 1 AS other")
    assert (source.tag, source.notices) == ("CREATE TABLE AS", ['relation "s" already exists, skipping'])
    with pytest.raises(SqlError, match='relation "s" already exists'):
        source.run("CREATE TABLE s AS SELECT 1 AS other")
    assert source.run("SELECT count(*) FROM s") == [(999,)]


@pytest.mark.parametrize(
    ("statement", "sqlstate"),
    [
        ("CREATE TABLE made AS SELECT 1 / (id - 500) AS x FROM s", "22012"),
        ("CREATE TABLE made AS SELECT * FROM nosuch", "42P01"),
        ("CREATE TABLE made (a, b) AS SELECT 1", "42601"),
        ("CREATE TABLE made AS SELECT 1 AS a, 2 AS a", "42701"),
        ("CREATE TABLE made AS SELECT 1 AS ctid", "42701"),
        ("CREATE TABLE nosuch.made AS SELECT 1 AS a", "3F000"),
        ("SELECT 1 AS a INTO s", "42P07"),
    ],
)
def test_a_failure_leaves_nothing(source: Client, statement: str, sqlstate: str) -> None:
    with pytest.raises(SqlError) as raised:
        source.run(statement)
    assert raised.value.sqlstate == sqlstate
    source.run("CREATE TABLE made AS SELECT 1 AS a")
    assert source.run("SELECT * FROM made") == [(1,)]


def test_select_into(source: Client) -> None:
    source.run("SELECT id, t INTO late FROM s WHERE id > 998 ORDER BY id")
    assert source.tag == "SELECT 2"
    source.run('SELECT id INTO TABLE public."Two" FROM late UNION ALL SELECT 0')
    assert source.run('SELECT * FROM "Two" ORDER BY 1') == [(0,), (999,), (1000,)]
    with pytest.raises(SqlError, match="SELECT INTO"):
        source.run("SELECT * FROM (SELECT 1 AS a INTO x) AS y")


def test_what_a_transaction_has_written_is_copied(source: Client) -> None:
    source.run("BEGIN")
    source.run("CREATE TABLE before AS SELECT * FROM s")
    source.run("INSERT INTO s VALUES (5000, 1, 'own')")
    source.run("CREATE TABLE after AS SELECT * FROM s")
    assert source.run("SELECT t FROM after EXCEPT SELECT t FROM before") == [("own",)]
    source.run("SAVEPOINT p; CREATE TABLE gone AS SELECT 1 AS a; ROLLBACK TO p; COMMIT")
    assert source.run("SELECT t FROM after EXCEPT SELECT t FROM before") == [("own",)]
    with pytest.raises(SqlError, match='relation "gone" does not exist'):
        source.run("SELECT * FROM gone")
