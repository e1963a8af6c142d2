"""INSERT, UPDATE and DELETE inside of WITH: parameters, transactions, other sessions, what is refused."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from risingpy.errors import SqlError
from risingpy.frontend.wire import WireServer


def test_parameters_of_all_parts(server: WireServer, table: Any) -> None:
    with psycopg.connect(host="127.0.0.1", port=server.port, user="root", dbname="dev") as connection:
        query = (
            "WITH gone AS (DELETE FROM t WHERE id = %b RETURNING id, n), more AS (SELECT id + %b AS id FROM gone)"
            " INSERT INTO t SELECT id, %b FROM more RETURNING id, n"
        )
        for _ in range(7):  # psycopg prepares it at the sixth time
            connection.execute("SAVEPOINT s")
            assert connection.execute(query, (1, 10, 5)).fetchall() == [(11, 5)]
            connection.execute("ROLLBACK TO s")
        assert connection.execute("WITH gone AS (DELETE FROM t) SELECT %b", ("x",), prepare=True).fetchall() == [("x",)]


def test_prepare_and_execute(table: Any) -> None:
    gone = "WITH g AS (DELETE FROM t WHERE id = $1 RETURNING n)"
    table.run(f"PREPARE move (int, int) AS {gone} INSERT INTO t SELECT $2, n FROM g")
    table.run("EXECUTE move(1, 7)")
    table.run("EXECUTE move(7, 8)")
    assert table.tag == "INSERT 0 1"
    assert sorted(table.run("SELECT * FROM t")) == [(2, 2), (8, 1)]


def test_the_tag_is_that_of_the_whole(table: Any) -> None:
    table.run("WITH g AS (DELETE FROM t RETURNING id) SELECT id FROM g WHERE id = 1")
    assert table.tag == "SELECT 1"
    come = "WITH g AS (INSERT INTO t VALUES (5, 5), (6, 6) RETURNING id)"
    table.run(f"{come} UPDATE t SET n = 0 FROM g WHERE g.id = t.id")
    assert table.tag == "UPDATE 0"  # the rows are not there before the statement
    assert sorted(table.run("SELECT * FROM t")) == [(5, 5), (6, 6)]


def test_a_failure_in_the_last_part_undoes_the_first(table: Any) -> None:
    for text in (
        "WITH g AS (DELETE FROM t RETURNING n) INSERT INTO t SELECT 9, 1 / (n - n) FROM g",
        "WITH g AS (DELETE FROM t RETURNING n) SELECT 1 / (n - n) FROM g",
    ):
        with pytest.raises(SqlError) as failed:
            table.run(text)
        assert failed.value.sqlstate == "22012"
        assert table.status == b"I"
        assert sorted(table.run("SELECT * FROM t")) == [(1, 1), (2, 2)]


def test_views_follow(table: Any, connect: Callable[[], Any]) -> None:
    table.run("CREATE TABLE archive (id int, n int)")
    table.run("CREATE MATERIALIZED VIEW both_of_them AS SELECT id, n FROM t UNION ALL SELECT id, n FROM archive")
    other = connect()
    table.run("WITH g AS (DELETE FROM t WHERE id = 1 RETURNING *) INSERT INTO archive SELECT * FROM g")
    assert sorted(other.run("SELECT * FROM both_of_them")) == [(1, 1), (2, 2)]
    assert sorted(other.run("SELECT * FROM archive")) == [(1, 1)]


def test_own_earlier_writes_are_read_and_own_later_ones_not(table: Any) -> None:
    table.run("BEGIN")
    table.run("INSERT INTO t VALUES (3, 3)")
    table.run("DELETE FROM t WHERE id = 1")
    rows = table.run("WITH g AS (UPDATE t SET n = n + 100 RETURNING id) SELECT t.id, t.n FROM t JOIN g USING (id)")
    assert sorted(rows) == [(2, 2), (3, 3)]
    assert sorted(table.run("SELECT * FROM t")) == [(2, 102), (3, 103)]
    table.run("ROLLBACK")
    assert sorted(table.run("SELECT * FROM t")) == [(1, 1), (2, 2)]


def test_one_part_changes_a_row_and_the_other_does_not_count_it(table: Any) -> None:
    rows = table.run("WITH g AS (UPDATE t SET n = 50 WHERE id = 1 RETURNING n) UPDATE t SET n = n + 1 RETURNING id, n")
    assert sorted(rows) == [(1, 2), (2, 3)]  # nothing reads the part, which comes last
    assert sorted(table.run("SELECT * FROM t")) == [(1, 2), (2, 3)]
    read = "WITH g AS (UPDATE t SET n = 50 WHERE id = 1 RETURNING n) UPDATE t SET n = n + (SELECT max(n) FROM g)"
    assert table.run(f"{read} RETURNING id, n") == [(2, 53)]
    assert sorted(table.run("SELECT * FROM t")) == [(1, 50), (2, 53)]
    assert sorted(table.run("WITH g AS (DELETE FROM t WHERE id = 2) DELETE FROM t RETURNING id")) == [(1,), (2,)]
    assert table.run("SELECT * FROM t") == []


@pytest.mark.parametrize(
    ("text", "sqlstate"),
    [
        ("WITH g AS (DELETE FROM t) SELECT * FROM g", "0A000"),
        ("SELECT (WITH g AS (DELETE FROM t RETURNING id) SELECT max(id) FROM g)", "0A000"),
        ("INSERT INTO t WITH g AS (DELETE FROM t RETURNING *) SELECT * FROM g", "0A000"),
        ("CREATE VIEW v AS WITH g AS (DELETE FROM t RETURNING id) SELECT * FROM g", "0A000"),
        ("CREATE MATERIALIZED VIEW v AS WITH g AS (DELETE FROM t RETURNING id) SELECT * FROM g", "0A000"),
        ("CREATE TABLE v AS WITH g AS (DELETE FROM t RETURNING id) SELECT * FROM g", "0A000"),
        ("COPY (WITH g AS (DELETE FROM t RETURNING id) SELECT * FROM g) TO STDOUT", "0A000"),
        ("DECLARE c CURSOR WITH HOLD FOR WITH g AS (DELETE FROM t RETURNING id) SELECT * FROM g", "0A000"),
        ("EXPLAIN WITH g AS (DELETE FROM t RETURNING id) SELECT * FROM g", "0A000"),
        ("WITH g AS (MERGE INTO t USING t s ON true WHEN MATCHED THEN DELETE) SELECT 1", "0A000"),
        ("WITH g AS (TRUNCATE t) SELECT 1", "42601"),
        ("WITH g AS (DELETE FROM m RETURNING n) SELECT 1", "42809"),
    ],
)
def test_refused(table: Any, text: str, sqlstate: str) -> None:
    table.run("CREATE MATERIALIZED VIEW m AS SELECT n FROM t")
    with pytest.raises(SqlError) as refused:
        table.run(text)
    assert refused.value.sqlstate == sqlstate
    assert sorted(table.run("SELECT * FROM t")) == [(1, 1), (2, 2)]


def test_a_read_only_transaction_refuses(table: Any) -> None:
    table.run("BEGIN READ ONLY")
    with pytest.raises(SqlError) as refused:
        table.run("WITH g AS (DELETE FROM t RETURNING id) SELECT * FROM g")
    assert refused.value.sqlstate == "25006"


def test_rights_of_all_parts(table: Any, connect: Callable[[], Any]) -> None:
    table.run("CREATE ROLE reader LOGIN")
    table.run("GRANT SELECT ON t TO reader")
    table.run("SET ROLE reader")
    with pytest.raises(SqlError) as refused:
        table.run("WITH g AS (DELETE FROM t RETURNING id) SELECT * FROM g")
    assert refused.value.sqlstate == "42501"
    table.run("RESET ROLE")
    table.run("GRANT DELETE ON t TO reader")
    table.run("SET ROLE reader")
    assert table.run("WITH g AS (DELETE FROM t WHERE id = 1 RETURNING id) SELECT * FROM g") == [(1,)]


def test_rows_that_sessions_move_at_the_same_time_are_moved_once(table: Any, connect: Callable[[], Any]) -> None:
    """A queue: each session takes rows and notes them. Nothing is lost, and nothing taken twice."""
    table.run("CREATE TABLE taken (id int, by int)")
    table.run("DELETE FROM t")
    table.run("INSERT INTO t SELECT g, 0 FROM generate_series(1, 60) g")
    failures: list[BaseException] = []

    def take(number: int) -> None:
        session = connect()
        try:
            for _ in range(15):
                session.run(
                    "WITH g AS (DELETE FROM t WHERE id IN (SELECT id FROM t ORDER BY id LIMIT 2) RETURNING id)"
                    f" INSERT INTO taken SELECT id, {number} FROM g"
                )
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=take, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert table.run("SELECT count(*), count(DISTINCT id) FROM taken") == [(60, 60)]
    assert table.run("SELECT * FROM t") == []
