"""What each session knows of sequences, who may do what with them, and what restarts and earlier versions leave."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from risingpy.errors import SqlError
from risingpy.frontend.results import StartupParameters
from risingpy.frontend.session import open_session
from risingpy.meta.database import Database
from risingpy.meta.epochs.in_process_runner import InProcessRunner
from risingpy.plan.catalog import Identity, NumberSequence, Table
from risingpy.plan.codec import decode, encode
from risingpy.storage.engine.meta_store import MetaStore
from tests.frontend.session.conftest import Client


def refused(client: Client, sql: str) -> str:
    with pytest.raises(SqlError) as error:
        client.run(sql)
    assert error.value.sqlstate is not None
    return error.value.sqlstate


def test_each_session_remembers_its_own_numbers(connect: Callable[[], Client]) -> None:
    one, other = connect(), connect()
    one.run("CREATE SEQUENCE s")
    assert one.run("SELECT nextval('s')") == [(1,)]
    assert refused(other, "SELECT currval('s')") == "55000"
    assert other.run("SELECT nextval('s')") == [(2,)]
    assert (one.run("SELECT currval('s')"), other.run("SELECT lastval()")) == ([(1,)], [(2,)])
    one.run("DISCARD SEQUENCES")
    assert refused(one, "SELECT lastval()") == "55000"
    other.run("DISCARD ALL")
    assert refused(other, "SELECT currval('s')") == "55000"


def test_a_rollback_gives_no_number_back(client: Client) -> None:
    client.run("CREATE SEQUENCE s")
    client.run("BEGIN")
    client.run("SELECT nextval('s')")
    client.run("ROLLBACK")
    assert client.run("SELECT nextval('s')") == [(2,)]
    client.run("BEGIN READ ONLY")
    assert refused(client, "SELECT nextval('s')") == "25006"
    client.run("ROLLBACK")


def test_a_restart_is_its_transactions_until_it_commits(tmp_path: Path) -> None:
    """Others go on where it stood. After the server has stopped it is restarted, or as before."""

    def opened() -> tuple[Database, Client, Client]:
        database = Database(tmp_path / "data", parallelism=1)
        database.start(InProcessRunner(database.data_dir))
        one, other = (Client(open_session(database, StartupParameters("root", "dev", {}, i))) for i in (1, 2))
        return database, one, other

    database, one, other = opened()
    one.run("CREATE SEQUENCE s; SELECT setval('s', 500)")
    one.run("BEGIN")
    one.run("ALTER SEQUENCE s RESTART WITH 7")
    assert (one.run("SELECT nextval('s')"), other.run("SELECT nextval('s')")) == ([(7,)], [(501,)])
    one.run("ROLLBACK")
    assert one.run("SELECT nextval('s')") == [(502,)]
    one.run("BEGIN")
    one.run("ALTER SEQUENCE s RESTART WITH 70")
    assert one.run("SELECT nextval('s')") == [(70,)]
    one.run("COMMIT")
    assert other.run("SELECT nextval('s')") == [(71,)]
    other.run("BEGIN")
    other.run("ALTER SEQUENCE s RESTART WITH 1")
    other.run("SELECT nextval('s')")
    database.close()
    database, one, other = opened()
    assert other.run("SELECT nextval('s')") == [(72,)]
    database.close()


def test_sessions_never_share_a_number(connect: Callable[[], Client]) -> None:
    one, other = connect(), connect()
    one.run("CREATE TABLE t (id bigserial PRIMARY KEY, who int)")
    statement = "INSERT INTO t (who) SELECT {} FROM generate_series(1, 50)"
    for _ in range(10):
        for number, client in enumerate((one, other)):
            client.run(statement.format(number))
    assert one.run("SELECT count(*), count(DISTINCT id), max(id) FROM t") == [(1000, 1000, 1000)]


def test_rights(client: Client, database: Database) -> None:
    for sql in ("CREATE USER bob", "CREATE SEQUENCE s", "CREATE TABLE t (id serial, a int)"):
        client.run(sql)
    client.run("GRANT SELECT, INSERT ON t TO bob")
    bob = Client(open_session(database, StartupParameters("bob", "dev", {}, process_id=99)))
    try:
        for sql in ("SELECT nextval('s')", "SELECT setval('s', 3)", "SELECT * FROM s", "DROP SEQUENCE s"):
            assert refused(bob, sql) == "42501", sql
        assert refused(bob, "INSERT INTO t (a) VALUES (1)") == "42501"  # as in PostgreSQL
        client.run("GRANT USAGE ON SEQUENCE s, t_id_seq TO bob")
        assert bob.run("SELECT nextval('s')") == [(1,)]
        assert bob.run("INSERT INTO t (a) VALUES (1) RETURNING id") == [(1,)]
        assert refused(bob, "SELECT setval('s', 3)") == "42501"
        client.run("GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO bob")
        assert bob.run("SELECT setval('s', 3)") == [(3,)]
        assert bob.run("SELECT has_sequence_privilege('s', 'UPDATE'), last_value FROM s") == [(True, 3)]
        client.run("REVOKE UPDATE, USAGE, SELECT ON SEQUENCE s FROM bob")
        assert refused(bob, "SELECT currval('s')") == "42501"
        client.run("ALTER DEFAULT PRIVILEGES GRANT USAGE ON SEQUENCES TO bob")
        client.run("CREATE SEQUENCE later")
        assert bob.run("SELECT nextval('later')") == [(1,)]
        client.run("CREATE TABLE of_bob (id int GENERATED ALWAYS AS IDENTITY, a int)")
        client.run("ALTER TABLE of_bob OWNER TO bob")
        owners = "SELECT relname FROM pg_class c JOIN pg_roles r ON r.oid = relowner WHERE rolname = 'bob' ORDER BY 1"
        assert client.run(owners) == [("of_bob",), ("of_bob_id_seq",)]
    finally:
        bob.session.close()


def test_identities_of_earlier_versions_get_sequences(tmp_path: Path) -> None:
    """They had counters, which go on: a store is made to look as an earlier version left it."""
    directory = tmp_path / "data"
    opened = open_database(directory)
    client = Client(open_session(opened, StartupParameters("root", "dev", {})))
    client.run("CREATE TABLE t (id int GENERATED BY DEFAULT AS IDENTITY (START 10 INCREMENT 5) PRIMARY KEY, a int)")
    client.run("INSERT INTO t (a) VALUES (1), (2)")
    client.session.close()
    opened.close()
    store = MetaStore(directory)
    with store.transaction() as txn:
        for key, value in txn.scan("relation/"):
            relation = decode(value)
            if isinstance(relation, NumberSequence):
                txn.delete(key)
                txn.delete(f"sequence/{relation.relation_id}")
            if isinstance(relation, Table):
                columns = tuple(
                    each if each.identity is None else replace(each, identity=Identity(77, False, 10, 5))
                    for each in relation.columns
                )
                txn.put(key, encode(replace(relation, columns=columns)))
        txn.put("identity/77", b"3")
        assert json.loads(txn.get("counters") or b"{}")["next_id"] > 16384
    store.close()
    for expected in (20, 25):
        opened = open_database(directory)
        client = Client(open_session(opened, StartupParameters("root", "dev", {})))
        assert client.run("INSERT INTO t (a) VALUES (3) RETURNING id") == [(expected,)]
        assert client.run("SELECT pg_get_serial_sequence('t', 'id')") == [("public.t_id_seq",)]
        client.session.close()
        opened.close()


def open_database(directory: Path) -> Database:
    opened = Database(directory, parallelism=1)
    opened.start(InProcessRunner(opened.data_dir))
    return opened


def test_a_primary_key_that_is_added_keeps_the_numbers(client: Client) -> None:
    client.run("CREATE TABLE t (id serial, a int)")
    client.run("INSERT INTO t (a) VALUES (1), (2)")
    client.run("ALTER TABLE t ADD PRIMARY KEY (id)")
    assert client.run("INSERT INTO t (a) VALUES (3) RETURNING id") == [(3,)]
    assert client.run("SELECT pg_get_serial_sequence('t', 'id')") == [("public.t_id_seq",)]
    client.run("DROP TABLE t")
    assert client.run("SELECT count(*) FROM pg_sequences") == [(0,)]


def test_what_the_statement_of_a_table_says(client: Client) -> None:
    client.run("CREATE SEQUENCE s")
    client.run("CREATE TABLE t (id serial PRIMARY KEY, a int DEFAULT nextval('s'), b int GENERATED ALWAYS AS IDENTITY)")
    client.run("ALTER SEQUENCE s RENAME TO renamed")
    [(_, made)] = client.run("SHOW CREATE TABLE t")
    assert made == (
        "CREATE TABLE t (id serial NOT NULL, a integer DEFAULT nextval('public.renamed'::regclass), "
        "b integer GENERATED ALWAYS AS IDENTITY NOT NULL, PRIMARY KEY (id))"
    )
    client.run("DROP TABLE t")
    client.run(str(made))
    assert client.run("INSERT INTO t DEFAULT VALUES RETURNING *") == [(1, 1, 1)]
