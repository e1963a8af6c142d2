"""SELECT … FOR UPDATE and its like: what they lock, what they refuse, and what others see meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from risingpy.errors import SqlError
from tests.frontend.session.conftest import Client

Connect = Callable[[], Client]


class Elsewhere:
    """A session with a thread of its own: locks belong to threads."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._thread = ThreadPoolExecutor(max_workers=1)

    def run(self, sql: str) -> list[tuple[object, ...]]:
        return self._thread.submit(self._client.run, sql).result(60)


def refused(client: Client | Elsewhere, sql: str) -> tuple[str | None, str]:
    with pytest.raises(SqlError) as error:
        client.run(sql)
    return error.value.sqlstate, str(error.value)


@pytest.fixture
def one(connect: Connect) -> Client:
    client = connect()
    client.run("CREATE TABLE t (id int PRIMARY KEY, a int)")
    client.run("CREATE TABLE keyless (a int)")
    client.run("CREATE VIEW v AS SELECT * FROM t")
    client.run("INSERT INTO t SELECT n, n * 10 FROM generate_series(1, 5) n")
    client.run("INSERT INTO keyless VALUES (1)")
    return client


@pytest.mark.parametrize("strength", ["UPDATE", "NO KEY UPDATE", "SHARE", "KEY SHARE", "UPDATE OF t"])
def test_the_rows_are_there(one: Client, strength: str) -> None:
    one.run("BEGIN")
    assert one.run(f"SELECT a FROM t WHERE id > 3 ORDER BY a DESC FOR {strength}") == [(50,), (40,)]
    assert one.run(f"SELECT x.a FROM t AS x WHERE id = 1 FOR {strength.replace('OF t', 'OF x')}") == [(10,)]
    one.run("COMMIT")
    assert one.run(f"SELECT a FROM t WHERE id = 1 FOR {strength}") == [(10,)]


def test_only_these_rows_are_locked(one: Client, connect: Connect) -> None:
    other = Elsewhere(connect())
    one.run("BEGIN")
    one.run("SELECT * FROM t WHERE a >= 40 FOR UPDATE")
    other.run("UPDATE t SET a = 11 WHERE id = 1")
    other.run("BEGIN")
    obtained = "55P03", 'could not obtain lock on row in relation "t"'
    assert refused(other, "SELECT * FROM t WHERE id = 4 FOR UPDATE NOWAIT") == obtained
    other.run("ROLLBACK")
    other.run("SET lock_timeout = '50ms'")
    assert refused(other, "UPDATE t SET a = 0 WHERE id = 5")[0] == "55P03"
    assert refused(other, "DELETE FROM t WHERE a > 0")[0] == "55P03"
    assert other.run("SELECT a FROM t WHERE id = 4") == [(40,)]
    one.run("ROLLBACK")
    other.run("UPDATE t SET a = 0 WHERE id = 5")


def test_whoever_waited_sees_what_the_other_has_done(one: Client, connect: Connect) -> None:
    """Each takes the first row with a = 1 in turn, and marks it: no row is taken twice."""
    one.run("UPDATE t SET a = 1")
    taken: list[object] = []

    def work(client: Client) -> None:
        while True:
            client.run("BEGIN")
            rows = client.run("SELECT id FROM t WHERE a = 1 ORDER BY id LIMIT 1 FOR UPDATE")
            if not rows:
                client.run("COMMIT")
                return
            taken.append(rows[0][0])
            client.run(f"UPDATE t SET a = 2 WHERE id = {rows[0][0]}")
            client.run("COMMIT")

    workers = [threading.Thread(target=work, args=(connect(),)) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert sorted(map(repr, taken)) == ["1", "2", "3", "4", "5"]


def test_a_table_without_a_key_is_locked_as_a_whole(one: Client, connect: Connect) -> None:
    other = Elsewhere(connect())
    one.run("BEGIN")
    assert one.run("SELECT * FROM keyless FOR UPDATE") == [(1,)]
    other.run("BEGIN")
    assert refused(other, "SELECT * FROM keyless FOR SHARE NOWAIT")[0] == "55P03"
    other.run("ROLLBACK")
    one.run("COMMIT")


def test_joins_lock_what_of_names(one: Client, connect: Connect) -> None:
    other = Elsewhere(connect())
    one.run("BEGIN")
    query = "SELECT t.a FROM t LEFT JOIN keyless AS k ON k.a = t.id WHERE t.id IN (1, 2) ORDER BY 1 FOR UPDATE OF t"
    assert one.run(query) == [(10,), (20,)]
    other.run("INSERT INTO keyless VALUES (2)")
    one.run("COMMIT")
    one.run("BEGIN")
    assert one.run("SELECT a FROM v WHERE id = 1 FOR UPDATE") == [(10,)]
    one.run("COMMIT")


@pytest.mark.parametrize(
    ("sql", "sqlstate", "message"),
    [
        ("SELECT count(*) FROM t FOR UPDATE", "0A000", "FOR UPDATE is not allowed with aggregate functions"),
        ("SELECT a FROM t GROUP BY a FOR SHARE", "0A000", "FOR SHARE is not allowed with GROUP BY clause"),
        ("SELECT DISTINCT a FROM t FOR KEY SHARE", "0A000", "FOR KEY SHARE is not allowed with DISTINCT clause"),
        ("SELECT a FROM t UNION SELECT 1 FOR UPDATE", "0A000", "FOR UPDATE or FOR SHARE is not supported"),
        (
            "SELECT row_number() OVER () FROM t FOR UPDATE",
            "0A000",
            "FOR UPDATE is not allowed with window functions",
        ),
        ("SELECT a FROM t FOR UPDATE OF u", "42P01", 'relation "u" in FOR UPDATE clause not found in FROM clause'),
        ("SELECT * FROM m FOR UPDATE", "42809", 'cannot lock rows in materialized view "m"'),
        ("SELECT b FROM t FOR UPDATE", "42703", 'column "b" does not exist'),
    ],
)
def test_refusals(one: Client, sql: str, sqlstate: str, message: str) -> None:
    one.run("CREATE MATERIALIZED VIEW m AS SELECT a FROM t")
    assert refused(one, sql) == (sqlstate, message)


def test_a_read_only_transaction_locks_nothing(one: Client) -> None:
    one.run("BEGIN READ ONLY")
    expected = "25006", "cannot execute SELECT FOR UPDATE in a read-only transaction"
    assert refused(one, "SELECT * FROM t FOR UPDATE") == expected


def test_parameters(one: Client) -> None:
    one.run("BEGIN")
    assert one.run("SELECT a + $2 FROM t WHERE id = $1 FOR UPDATE", 2, 5, oids=(23, 23)) == [(25,)]
    one.run("COMMIT")
