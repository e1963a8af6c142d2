"""LIKE and COLLATE in CREATE TABLE, beside a PostgreSQL: the same columns, constraints and errors."""

from __future__ import annotations

import pytest

from risingpy.errors import SqlError
from tests.frontend.session.conftest import Client
from tests.frontend.session.histories import differences
from tests.postgres_oracle import PostgresOracle

COLUMNS = """
=SELECT a.attname, a.attnum, a.atttypid::regtype::text, a.attnotnull, a.attidentity, a.attgenerated, a.atthasdef \
FROM pg_attribute a WHERE a.attrelid = '{0}'::regclass AND a.attnum > 0
=SELECT conname, contype, conkey, CASE WHEN contype <> 'c' THEN pg_get_constraintdef(oid) END FROM pg_constraint \
WHERE conrelid = '{0}'::regclass
=SELECT indexname, replace(indexdef, 'pg_temp_1', 'pg_temp') FROM pg_indexes \
WHERE tablename = '{0}' AND indexname NOT LIKE '%pkey' AND indexname NOT LIKE 'after%'
=SELECT a.attnum, col_description('{0}'::regclass, a.attnum) FROM pg_attribute a \
WHERE attrelid = '{0}'::regclass AND attnum > 0
"""
HISTORY = """
CREATE SEQUENCE numbers
CREATE TABLE other (k int PRIMARY KEY)
CREATE TABLE s (id int GENERATED ALWAYS AS IDENTITY (START 5 INCREMENT 2), a int NOT NULL DEFAULT 7, \
b numeric(8, 2) CHECK (b > 0), c varchar(5) UNIQUE NULLS NOT DISTINCT, g int GENERATED ALWAYS AS (a * 2) STORED, \
n bigint DEFAULT nextval('numbers'), o int REFERENCES other, PRIMARY KEY (a, id), CONSTRAINT sum CHECK (a + n > 1))
CREATE INDEX by_n ON s (n DESC, a)
CREATE UNIQUE INDEX on_g ON s (g)
CREATE INDEX by_sum ON s ((n + 1))
COMMENT ON COLUMN s.a IS 'the a'
COMMENT ON CONSTRAINT sum ON s IS 'a sum'
COMMENT ON INDEX by_n IS 'an index'
COMMENT ON INDEX on_g IS 'a unique index'
COMMENT ON TABLE s IS 'not taken over'
CREATE TABLE plain (LIKE s)
{plain}
CREATE TABLE everything (x int, LIKE s INCLUDING ALL, y int)
{everything}
=SELECT relname, obj_description(oid) FROM pg_class WHERE relname LIKE 'everything%' AND relkind = 'i'
=SELECT obj_description(oid) FROM pg_constraint WHERE conname = 'sum'
INSERT INTO everything (c, b, x, a) VALUES ('one', 1, 1, 1), ('two', 2, 2, 2)
INSERT INTO everything (c, b, x, a) VALUES ('three', 1, 1, 1)
=SELECT * FROM everything
INSERT INTO everything (b, a) VALUES (-1, 3)
INSERT INTO everything (c, a) VALUES ('one', 3)
INSERT INTO everything (c) VALUES ('three')
INSERT INTO everything (a, n) VALUES (-5, 1)
INSERT INTO s (c, b) VALUES ('one', 1)
=SELECT * FROM s
CREATE TABLE some (LIKE s INCLUDING ALL EXCLUDING INDEXES EXCLUDING CONSTRAINTS EXCLUDING COMMENTS)
{some}
CREATE TABLE checked (LIKE s INCLUDING CONSTRAINTS INCLUDING COMMENTS)
{checked}
CREATE TABLE keyed (LIKE s INCLUDING INDEXES)
{keyed}
CREATE TABLE numbered (LIKE s INCLUDING IDENTITY INCLUDING DEFAULTS INCLUDING GENERATED)
{numbered}
INSERT INTO numbered (b) VALUES (1)
=SELECT id, a, b, g FROM numbered
CREATE TABLE stored (LIKE s INCLUDING STORAGE INCLUDING COMPRESSION INCLUDING STATISTICS)
CREATE TABLE none (LIKE s EXCLUDING ALL)
{none}
CREATE TABLE two (LIKE s, LIKE s)
CREATE TABLE two (LIKE other INCLUDING ALL, LIKE s INCLUDING INDEXES)
CREATE TABLE two (LIKE other INCLUDING ALL, z int PRIMARY KEY)
CREATE TABLE two (LIKE other INCLUDING ALL, z int, a text, PRIMARY KEY (z))
CREATE TABLE two (LIKE other INCLUDING ALL, k int)
CREATE TABLE two (LIKE other, z int, PRIMARY KEY (z, k), UNIQUE (k))
{two}
CREATE TABLE more (LIKE missing)
CREATE TABLE more (LIKE numbers)
CREATE TABLE more (LIKE by_n)
CREATE TABLE more (LIKE s INCLUDING)
CREATE TABLE more (LIKE s INCLUDING NOTHING)
CREATE VIEW v AS SELECT a, c, b AS d FROM s
CREATE TABLE of_view (LIKE v INCLUDING ALL)
{of_view}
CREATE TEMP TABLE temporary (LIKE s INCLUDING ALL) ON COMMIT DELETE ROWS
{temporary}
CREATE TEMP TABLE s (LIKE s INCLUDING DEFAULTS, more int)
{s}
CREATE TABLE IF NOT EXISTS plain (LIKE s)
ALTER TABLE public.s RENAME COLUMN a TO renamed
CREATE TABLE after (LIKE public.s INCLUDING ALL)
{after}
DROP TABLE public.s CASCADE
INSERT INTO after (c) VALUES ('x')
=SELECT * FROM after
CREATE TABLE texts (a text COLLATE "C", b varchar(3) COLLATE pg_catalog."default" NOT NULL DEFAULT 'x')
INSERT INTO texts (a) VALUES ('a'), ('B')
=SELECT * FROM texts
CREATE TABLE wrong (a int COLLATE "C")
CREATE TABLE wrong (a text COLLATE nowhere)
ALTER TABLE texts ADD COLUMN c text COLLATE "POSIX"
ALTER TABLE texts ADD COLUMN d text COLLATE nowhere
ALTER TABLE texts ADD COLUMN d int COLLATE "C"
CREATE TABLE wrong (a int,, b int)
CREATE TABLE wrong (,)
"""


class _Columns(dict[str, str]):
    def __missing__(self, table: str) -> str:
        return COLUMNS.strip().format(table)


def test_like_takes_over_what_postgres_takes_over(client: Client, postgres_oracle: PostgresOracle) -> None:
    found = differences(client, postgres_oracle, HISTORY.format_map(_Columns()))
    assert found == [], "\n".join(map(str, found))


def test_a_comma_may_stand_after_the_last_column(client: Client) -> None:
    """As in RisingWave."""
    client.run("CREATE TABLE t (a INT PRIMARY KEY, b INT AS a + 1,)")
    client.run("INSERT INTO t VALUES (1)")
    assert client.run("SELECT * FROM t") == [(1, 2)]


def test_show_create_table_says_what_the_table_is(client: Client) -> None:
    client.run("CREATE TABLE s (id INT GENERATED BY DEFAULT AS IDENTITY (START 5), a INT DEFAULT 3, PRIMARY KEY (id))")
    client.run("CREATE TABLE t (b INT, LIKE s INCLUDING ALL)")
    client.run("DROP TABLE s")
    shown = client.run("SHOW CREATE TABLE t")[0][1]
    assert shown == (
        "CREATE TABLE t (b integer, id integer GENERATED BY DEFAULT AS IDENTITY (START WITH 5) NOT NULL, "
        "a integer DEFAULT 3, PRIMARY KEY (id))"
    )
    client.run("DROP TABLE t")
    client.run(str(shown))
    client.run("INSERT INTO t (b) VALUES (1)")
    assert client.run("SELECT * FROM t") == [(1, 5, 3)]


def test_like_needs_the_right_to_read_and_leaves_nothing_half_made(client: Client) -> None:
    client.run("CREATE TABLE s (a INT, b INT)")
    client.run("CREATE INDEX i ON s (b)")
    client.run("CREATE ROLE ann; GRANT CREATE ON SCHEMA public TO ann; SET ROLE ann")
    with pytest.raises(SqlError) as raised:
        client.run("CREATE TABLE t (LIKE s)")
    assert (raised.value.sqlstate, raised.value.message) == ("42501", "permission denied for table s")
    client.run("RESET ROLE; GRANT SELECT ON s TO ann; SET ROLE ann")
    client.run("CREATE TABLE t (LIKE s INCLUDING ALL)")
    client.run("RESET ROLE; REVOKE CREATE ON SCHEMA public FROM ann; SET ROLE ann")
    with pytest.raises(SqlError):
        client.run("CREATE TABLE u (LIKE s INCLUDING ALL)")
    assert client.run("SELECT relname FROM pg_class WHERE relname LIKE 't%idx' OR relname = 'u'") == [("t_b_idx",)]
