"""ALTER, DROP and TRUNCATE of tables with constraints, in PostgreSQL's words."""

from __future__ import annotations

import pytest

from risingpy.errors import SqlError
from tests.frontend.session.conftest import Client


@pytest.fixture
def family(client: Client) -> Client:
    client.run("CREATE TABLE p (id int PRIMARY KEY, code varchar UNIQUE, n int)")
    client.run("CREATE TABLE c (id int PRIMARY KEY, pid int REFERENCES p, code varchar REFERENCES p (code))")
    client.run("INSERT INTO p VALUES (1, 'a', 1), (2, 'b', 1)")
    client.run("INSERT INTO c VALUES (1, 1, 'b')")
    return client


@pytest.mark.parametrize(
    ("sql", "sqlstate", "message"),
    [
        ("ALTER TABLE p ADD UNIQUE (n)", "23505", 'could not create unique index "p_n_key"'),
        ("CREATE UNIQUE INDEX ON p (n)", "23505", 'could not create unique index "p_n_idx"'),
        ("ALTER TABLE p ADD CHECK (n > 1)", "23514", '"p_n_check" of relation "p" is violated by some row'),
        ("ALTER TABLE p ADD FOREIGN KEY (code) REFERENCES c", "42804", "cannot be implemented"),
        ("ALTER TABLE c ADD FOREIGN KEY (pid) REFERENCES p (n)", "42830", "no unique constraint matching given keys"),
        ("ALTER TABLE c ADD FOREIGN KEY (pid) REFERENCES nobody", "42P01", 'relation "nobody" does not exist'),
        ("ALTER TABLE p DROP CONSTRAINT nobody", "42704", 'constraint "nobody" of relation "p" does not exist'),
        ("ALTER TABLE p DROP CONSTRAINT p_code_key", "2BP01", "other objects depend on it"),
        ("DROP INDEX p_code_key", "2BP01", "constraint p_code_key on table p requires it"),
        ("DROP TABLE p", "2BP01", "cannot drop table p because other objects depend on it"),
        ("TRUNCATE p", "0A000", "cannot truncate a table referenced in a foreign key constraint"),
        ("ALTER TABLE p RENAME CONSTRAINT p_pkey TO p_code_key", "42710", "already exists"),
        ("ALTER TABLE c ADD CONSTRAINT c_pid_fkey CHECK (id > 0)", "42710", "already exists"),
        ("ALTER TABLE c ALTER COLUMN pid TYPE text", "42804", 'constraint "c_pid_fkey" cannot be implemented'),
        ("CREATE TABLE w (a int UNIQUE, b int) APPEND ONLY", "0A000", "APPEND ONLY"),
        ("CREATE TABLE w (a int CHECK (a + 1))", "42804", "argument of CHECK must be type boolean"),
        ("CREATE TABLE w (a int CHECK (a > (SELECT 1)))", "0A000", ""),
    ],
)
def test_refused(family: Client, sql: str, sqlstate: str, message: str) -> None:
    with pytest.raises(SqlError) as raised:
        family.run(sql)
    assert raised.value.sqlstate == sqlstate
    assert message in raised.value.message


def test_what_is_not_valid_is_validated_later(family: Client) -> None:
    family.run("ALTER TABLE p ADD CONSTRAINT big CHECK (n > 1) NOT VALID")
    with pytest.raises(SqlError, match="violates check constraint"):
        family.run("INSERT INTO p VALUES (3, 'c', 1)")
    with pytest.raises(SqlError, match="is violated by some row"):
        family.run("ALTER TABLE p VALIDATE CONSTRAINT big")
    family.run("UPDATE p SET n = id + 1")
    family.run("ALTER TABLE p VALIDATE CONSTRAINT big")
    shown = family.run("SELECT pg_get_constraintdef(oid), convalidated FROM pg_constraint WHERE conname = 'big'")
    assert shown == [("CHECK ((n > 1))", True)]


def test_cascades(family: Client) -> None:
    family.run("ALTER TABLE p DROP CONSTRAINT p_code_key CASCADE")
    assert family.notices == ["drop cascades to constraint c_code_fkey on table c"]
    family.run("TRUNCATE p CASCADE")
    assert family.notices[-1] == 'truncate cascades to table "c"'
    assert family.run("SELECT count(*) FROM c") == [(0,)]
    family.run("DROP TABLE p CASCADE")
    family.run("INSERT INTO c VALUES (5, 99, 'z')")


def test_a_column_takes_its_constraints_along(family: Client) -> None:
    family.run("ALTER TABLE c DROP COLUMN code")
    family.run("ALTER TABLE p DROP COLUMN code")
    names = family.run("SELECT conname FROM pg_constraint ORDER BY conname")
    assert names == [("c_pid_fkey",), ("c_pkey",), ("p_pkey",)]


def test_renamed_columns_and_constraints_are_followed(family: Client) -> None:
    family.run("ALTER TABLE p ADD CONSTRAINT small CHECK (n < 10)")
    family.run("ALTER TABLE p RENAME COLUMN n TO m")
    family.run("ALTER TABLE p RENAME CONSTRAINT small TO tiny")
    family.run("ALTER TABLE p RENAME CONSTRAINT p_code_key TO codes")
    with pytest.raises(SqlError, match='violates check constraint "tiny"'):
        family.run("INSERT INTO p VALUES (3, 'c', 11)")
    with pytest.raises(SqlError, match='violates unique constraint "codes"'):
        family.run("INSERT INTO p VALUES (3, 'a', 1)")
    definition = "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'tiny'"
    assert family.run(definition) == [("CHECK ((m < 10))",)]


def test_copy_and_many_rows_are_looked_at(family: Client) -> None:
    copy = family.copy_in("COPY p FROM STDIN", [3, 4], ["c", "a"], [1, 1])
    with pytest.raises(SqlError, match='violates unique constraint "p_code_key"'):
        copy.sink.finish()
    family.session.fail()
    with pytest.raises(SqlError, match="c_pid_fkey"):
        family.run("INSERT INTO c SELECT i, i, NULL FROM generate_series(10, 200) AS i")
    family.run("INSERT INTO p SELECT i, 'x' || i, 1 FROM generate_series(10, 200) AS i")
    family.run("INSERT INTO c SELECT i, i, 'x' || i FROM generate_series(10, 200) AS i")
    assert family.run("SELECT count(*) FROM c") == [(192,)]


def test_a_transaction_sees_its_own_keys(family: Client) -> None:
    family.run("BEGIN")
    family.run("INSERT INTO p VALUES (7, 'g', 1)")
    family.run("INSERT INTO c VALUES (7, 7, 'g')")
    family.run("UPDATE p SET code = 'h' WHERE id = 1")
    family.run("INSERT INTO p VALUES (8, 'a', 1)")
    family.run("COMMIT")
    with pytest.raises(SqlError, match="p_code_key"):
        family.run("INSERT INTO p VALUES (9, 'h', 1)")
    assert family.run("SELECT id FROM p WHERE code = 'a'") == [(8,)]


def test_show_create_table_has_the_constraints_of_now(family: Client) -> None:
    family.run("ALTER TABLE c DROP CONSTRAINT c_code_fkey, ADD CONSTRAINT low CHECK (id < 9)")
    [(_, shown)] = family.run("SHOW CREATE TABLE c")
    family.run("DROP TABLE c")
    family.run(str(shown))
    names = family.run("SELECT conname FROM pg_constraint WHERE conrelid = 'c'::regclass ORDER BY conname")
    assert names == [("c_pid_fkey",), ("c_pkey",), ("low",)]


@pytest.mark.parametrize(
    ("first", "second", "sqlstate"),
    [
        ("UNIQUE (a)", "UNIQUE (a)", "42P07"),
        ("UNIQUE (a)", "CHECK (a > 0)", "42710"),
        ("CHECK (a > 0)", "UNIQUE (a)", "42710"),
        ("CHECK (a > 0)", "CHECK (a > 0)", "42710"),
    ],
)
def test_the_index_of_a_key_is_a_relation_and_comes_first(
    client: Client, first: str, second: str, sqlstate: str
) -> None:
    client.run("CREATE TABLE t (id int PRIMARY KEY, a int)")
    client.run(f"ALTER TABLE t ADD CONSTRAINT c {first}")
    with pytest.raises(SqlError, match=r'"c".* already exists') as error:
        client.run(f"ALTER TABLE t ADD CONSTRAINT c {second}")
    assert error.value.sqlstate == sqlstate
