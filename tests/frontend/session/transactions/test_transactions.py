"""BEGIN, COMMIT, ROLLBACK, and several statements in one text."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from risingpy.errors import InFailedTransaction, SqlError


def test_commit_is_atomic_and_seen_by_the_session_before(table: Any, connect: Callable[[], Any]) -> None:
    other = connect()
    table.run("BEGIN")
    assert table.status == b"T"
    table.run("INSERT INTO t VALUES (3, 3)")
    table.run("UPDATE t SET n = 10 WHERE id = 3")
    table.run("DELETE FROM t WHERE id = 1")
    assert sorted(table.run("SELECT * FROM t")) == [(2, 2), (3, 10)]
    assert table.run("SELECT n FROM t WHERE id = 3") == [(10,)]
    assert sorted(other.run("SELECT * FROM t")) == [(1, 1), (2, 2)]
    table.run("COMMIT")
    assert table.status == b"I"
    assert sorted(table.run("SELECT * FROM t")) == [(2, 2), (3, 10)]


@pytest.mark.parametrize("rule", ["DO UPDATE FULL", "DO NOTHING", "DO UPDATE IF NOT NULL"])
def test_a_row_looked_up_by_its_key_is_as_the_transaction_left_it(client: Any, rule: str) -> None:
    client.run(f"CREATE TABLE c (a int, b int, n int, s varchar, PRIMARY KEY (a, b)) ON CONFLICT {rule}")
    client.run("INSERT INTO c SELECT x % 4, x / 4, x, 's' || x FROM generate_series(0, 15) AS x; FLUSH")
    client.run("BEGIN; INSERT INTO c VALUES (1, 1, NULL, 'new'), (1, 9, 9, NULL), (2, 0, 7, NULL)")
    client.run("DELETE FROM c WHERE a = 1 AND b = 2; DELETE FROM c WHERE a = 3")
    client.run("UPDATE c SET n = -n WHERE a = 1 AND b = 3")
    everything = client.run("SELECT * FROM c")
    for a in range(5):
        assert sorted(client.run(f"SELECT * FROM c WHERE a = {a}")) == sorted(row for row in everything if row[0] == a)
        for b in (0, 1, 2, 3, 9):
            found = client.run(f"SELECT * FROM c WHERE a = {a} AND b = {b}")
            assert found == [row for row in everything if row[:2] == (a, b)]
    client.run("COMMIT")
    assert sorted(client.run("SELECT * FROM c"), key=str) == sorted(everything, key=str)


def test_rollback(table: Any) -> None:
    table.run("BEGIN; DELETE FROM t; ROLLBACK")
    assert table.run("SELECT count(*) FROM t") == [(2,)]


def test_a_failed_transaction_takes_only_its_end(table: Any) -> None:
    table.run("BEGIN")
    table.run("DELETE FROM t")
    with pytest.raises(SqlError, match="division by zero"):
        table.run("SELECT 1 / 0 FROM t UNION ALL SELECT 1 / 0")
    assert table.status == b"E"
    for sql in ("SELECT 1", "SELECT * FROM nosuch", "SELECT * FROM pg_class", "SHOW timezone"):
        with pytest.raises(InFailedTransaction, match="current transaction is aborted"):
            table.run(sql)
    table.run("COMMIT")
    assert table.tag == "ROLLBACK"
    assert table.run("SELECT count(*) FROM t") == [(2,)]


def test_several_statements_in_one_text_are_one_transaction(table: Any) -> None:
    with pytest.raises(SqlError):
        table.run("INSERT INTO t VALUES (3, 3); INSERT INTO t VALUES (4, 1 / 0)")
    assert table.run("SELECT count(*) FROM t") == [(2,)]
    assert table.run("INSERT INTO t VALUES (3, 3); SELECT count(*) FROM t") == [(3,)]


def test_flush_in_the_same_text_flushes_what_was_written(table: Any) -> None:
    table.run("CREATE MATERIALIZED VIEW m AS SELECT count(*) AS c FROM t")
    assert table.run("INSERT INTO t VALUES (3, 3); FLUSH; SELECT c FROM m") == [(3,)]


def test_begin_takes_up_what_came_before_in_the_text(table: Any) -> None:
    table.run("INSERT INTO t VALUES (3, 3); BEGIN; INSERT INTO t VALUES (4, 4); ROLLBACK")
    assert table.run("SELECT count(*) FROM t") == [(2,)]


def test_warnings(table: Any) -> None:
    table.run("COMMIT")
    table.run("BEGIN")
    table.run("BEGIN")
    table.run("ROLLBACK")
    assert table.notices == ["there is no transaction in progress", "there is already a transaction in progress"]
    assert table.notice_states == ["25P01", "25001"]


def test_read_only(table: Any) -> None:
    table.run("BEGIN READ ONLY")
    with pytest.raises(SqlError) as caught:
        table.run("DELETE FROM t")
    assert caught.value.sqlstate == "25006"
    table.run("ROLLBACK")
    for sql, name in {
        "CREATE TABLE x (a INT)": "CREATE TABLE",
        "CREATE MATERIALIZED VIEW x AS SELECT 1": "CREATE MATERIALIZED VIEW",
        "CREATE TEMP TABLE x (a INT)": "CREATE TABLE",
        "ALTER TABLE t ADD COLUMN x INT": "ALTER TABLE",
        "DROP TABLE t": "DROP",
        "COMMENT ON TABLE t IS 'x'": "COMMENT",
        "GRANT SELECT ON t TO PUBLIC": "GRANT",
    }.items():
        table.run("BEGIN READ ONLY")
        with pytest.raises(SqlError, match=f"cannot execute {name} in a read-only transaction") as caught:
            table.run(sql)
        assert caught.value.sqlstate == "25006"
        table.run("ROLLBACK")
    table.run("DELETE FROM t")
    assert table.tag == "DELETE 2"


def test_concurrent_updates_are_not_lost(table: Any, connect: Callable[[], Any]) -> None:
    clients = [connect() for _ in range(3)]

    def count_up(client: Any) -> None:
        for _ in range(10):
            client.run("UPDATE t SET n = n + 1 WHERE id = 1")

    threads = [threading.Thread(target=count_up, args=(client,)) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert connect().run("FLUSH; SELECT n FROM t WHERE id = 1") == [(31,)]


def test_closing_rolls_back_and_frees_the_table(table: Any, connect: Callable[[], Any]) -> None:
    other = connect()
    other.run("BEGIN")
    other.run("UPDATE t SET n = 0")
    other.session.close()
    table.run("UPDATE t SET n = n + 1")
    assert sorted(table.run("SELECT n FROM t")) == [(2,), (3,)]


@pytest.mark.parametrize("statement", ["SELECT * FROM t", "UPDATE t SET n = 0", "COMMIT"])
def test_a_transaction_that_wrote_to_what_was_altered_since_must_run_again(
    table: Any, connect: Callable[[], Any], statement: str
) -> None:
    table.run("BEGIN; INSERT INTO t VALUES (3, 3)")
    connect().run("ALTER TABLE t ADD COLUMN extra int")
    with pytest.raises(SqlError, match="altered") as caught:
        table.run(statement)
    assert caught.value.sqlstate == "40001"


def test_an_update_that_waited_for_an_alter_goes_on_with_the_new_form(table: Any, connect: Callable[[], Any]) -> None:
    """Also in a transaction, where a statement is not planned again from outside."""
    started, done = threading.Event(), threading.Event()
    errors: list[BaseException] = []

    def update() -> None:
        other = connect()
        try:
            other.run("BEGIN")
            started.set()
            other.run("UPDATE t SET n = n + 1 WHERE id = 1")
            other.run("COMMIT")
        except BaseException as error:
            errors.append(error)
        done.set()

    database = table.session.context.database
    relation = database.reads.catalog.find("t", "public", ())
    own = table.session.context.startup.process_id
    with database.writes.table_lock(relation.relation_id, process_id=own):
        threading.Thread(target=update).start()
        assert started.wait(5) and not done.wait(0.3)
        table.run("ALTER TABLE t ADD COLUMN extra int DEFAULT 7")
    assert done.wait(10) and errors == []
    table.run("FLUSH")
    assert sorted(table.run("SELECT * FROM t")) == [(1, 2, 7), (2, 2, 7)]


def test_a_chain_goes_on_in_the_same_mode(table: Any) -> None:
    table.run("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY")
    table.run("START TRANSACTION READ WRITE")
    assert table.tag == "START TRANSACTION"
    with pytest.raises(SqlError):
        table.run("SELECT 1 / 0")
    table.run("COMMIT AND CHAIN")
    assert table.tag == "ROLLBACK"
    table.run("INSERT INTO t VALUES (77, 7)")
    table.run("COMMIT AND CHAIN")
    table.run("INSERT INTO t VALUES (78, 8)")
    table.run("ROLLBACK AND CHAIN")
    assert table.run("SHOW transaction_read_only") == [("off",)]
    table.run("ROLLBACK AND NO CHAIN")
    assert table.run("SELECT id FROM t WHERE id > 70") == [(77,)]
    for command in ("COMMIT", "ROLLBACK"):
        with pytest.raises(SqlError, match="can only be used in transaction blocks") as error:
            table.run(f"{command} AND CHAIN")
        assert error.value.sqlstate == "25P01"
