"""UPDATE and DELETE … WHERE CURRENT OF cursor, beside PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable

import psycopg
import pytest

from risingpy.errors import SqlError
from risingpy.frontend.wire import WireServer
from tests.frontend.session.conftest import Client
from tests.frontend.session.tools.beside import Beside

TABLES = (
    "CREATE TABLE t (id int PRIMARY KEY, n int)",
    "INSERT INTO t VALUES (1, 1), (2, 2), (3, 3), (4, 4)",
    "CREATE TABLE other (id int)",
    "INSERT INTO other VALUES (3)",
)
ROWS = "SELECT * FROM t ORDER BY id"
NOT_ON_A_ROW = (
    ("FOR UPDATE", ()),
    ("", ()),
    ("WHERE id = 2", ("FETCH ALL c",)),
    ("WHERE id = 99", ("FETCH c",)),
    ("WHERE id = 2 FOR UPDATE", ("FETCH c", "FETCH c")),
)
OF_OTHER_ROWS = (
    "SELECT * FROM other",
    "SELECT * FROM other FOR UPDATE",
    "SELECT n, count(*) FROM t WHERE id = 1 GROUP BY n",
    "SELECT count(*) FROM t",
    "SELECT DISTINCT n FROM t WHERE id = 1",
    "SELECT t.* FROM t JOIN other USING (id)",
    "SELECT a.id FROM t a, t b WHERE a.id = 1 AND b.id = 1",
    "SELECT * FROM t WHERE id = 1 UNION ALL SELECT * FROM t WHERE id = 1",
    "VALUES (1)",
)


def test_the_row_that_was_fetched(beside: Beside) -> None:
    beside.same(
        *TABLES,
        "BEGIN",
        "DECLARE c CURSOR FOR SELECT id FROM t WHERE id > 1 ORDER BY id FOR UPDATE",
        "FETCH c",
        "UPDATE t SET n = 0 WHERE CURRENT OF c RETURNING *",
        "UPDATE t AS x SET n = x.n + 5 WHERE CURRENT OF c",
        "FETCH c",
        "DELETE FROM t WHERE CURRENT OF c RETURNING id",
        "DELETE FROM t WHERE CURRENT OF c",
        "UPDATE t SET n = 9 WHERE CURRENT OF c",
        "FETCH c",
        "UPDATE t SET n = other.id + 100 FROM other WHERE CURRENT OF c",
        ROWS,
        "COMMIT",
        ROWS,
    )


@pytest.mark.parametrize(("query", "fetches"), NOT_ON_A_ROW)
def test_on_no_row(beside: Beside, query: str, fetches: tuple[str, ...]) -> None:
    beside.same(*TABLES, "BEGIN", f"DECLARE c CURSOR FOR SELECT * FROM t {query}", *fetches)
    [(sqlstate, *_)] = beside.same("UPDATE t SET n = 0 WHERE CURRENT OF c")
    assert sqlstate == "24000"
    beside.same("ROLLBACK", ROWS)


def test_rows_of_other_relations(beside: Beside) -> None:
    beside.same(*TABLES)
    for query in OF_OTHER_ROWS:
        beside.same("BEGIN", f"DECLARE c CURSOR FOR {query}", "FETCH c")
        [(sqlstate, *_)] = beside.same("DELETE FROM t WHERE CURRENT OF c")
        assert sqlstate == "24000", query
        beside.same("ROLLBACK")
    beside.same(
        ROWS,
        "DELETE FROM t WHERE CURRENT OF nosuch",
        "DECLARE h CURSOR WITH HOLD FOR SELECT * FROM t WHERE id = 1",
        "FETCH h",
        "DELETE FROM t WHERE CURRENT OF h",
    )


def test_joined_rows_that_are_locked(beside: Beside) -> None:
    beside.same(
        *TABLES,
        "BEGIN",
        "DECLARE c CURSOR FOR SELECT t.n, o.id FROM t JOIN other o USING (id) FOR UPDATE OF t",
        "FETCH c",
        "DELETE FROM other WHERE CURRENT OF c",
        "ROLLBACK",
        "BEGIN",
        "DECLARE c CURSOR FOR SELECT t.n, o.id FROM t JOIN other o USING (id) FOR UPDATE",
        "FETCH c",
        "DELETE FROM other WHERE CURRENT OF c",
        "UPDATE t SET n = n * 10 WHERE CURRENT OF c",
        ROWS,
        "SELECT * FROM other",
        "ROLLBACK",
        "BEGIN",
        "DECLARE c CURSOR FOR SELECT a.n FROM t a, t b WHERE a.id = b.id AND a.id = 1 FOR SHARE",
        "FETCH c",
        "DELETE FROM t WHERE CURRENT OF c",
        "ROLLBACK",
    )


def test_a_row_that_changed_meanwhile(beside: Beside) -> None:
    for lock in ("", "FOR UPDATE"):
        beside.same(
            *(("DROP TABLE IF EXISTS t", "DROP TABLE IF EXISTS other") if lock else ()),
            *TABLES,
            "BEGIN",
            f"DECLARE c SCROLL CURSOR FOR SELECT * FROM t WHERE id = 1 {lock}" if not lock else "SELECT 1 AS x",
            f"DECLARE d CURSOR FOR SELECT n FROM t WHERE id = 1 {lock}",
            "FETCH d",
            "UPDATE t SET n = 60 WHERE id = 1",
            "UPDATE t SET n = n + 1 WHERE CURRENT OF d",
            ROWS,
            "DELETE FROM t WHERE id = 1",
            "UPDATE t SET n = n + 1 WHERE CURRENT OF d",
            "COMMIT",
        )


def test_back_and_by_moves(beside: Beside) -> None:
    beside.same(
        *TABLES,
        "BEGIN",
        "DECLARE c SCROLL CURSOR FOR SELECT n FROM t ORDER BY id",
        "MOVE 3 FROM c",
        "FETCH PRIOR FROM c",
    )
    beside.client.run("UPDATE t SET n = 51 WHERE CURRENT OF c")  # PostgreSQL: not with a Sort
    assert beside.client.run("FETCH 0 FROM c") == [(2,)]
    beside.client.run("MOVE ABSOLUTE 4 IN c")
    beside.client.run("DELETE FROM t WHERE CURRENT OF c")
    assert beside.client.run(ROWS) == [(1, 1), (2, 51), (3, 3)]


def test_without_a_primary_key(client: Client) -> None:
    client.run("CREATE TABLE k (a text)")
    client.run("INSERT INTO k VALUES ('x'), ('x'), ('y')")
    client.run("BEGIN")
    client.run("DECLARE c CURSOR FOR SELECT * FROM k WHERE a = 'x'")
    assert client.run("FETCH c") == [("x",)]
    client.run("UPDATE k SET a = 'changed' WHERE CURRENT OF c")
    client.run("FETCH c")
    client.run("DELETE FROM k WHERE CURRENT OF c")
    client.run("COMMIT")
    assert client.run("SELECT a FROM k ORDER BY 1") == [("changed",), ("y",)]


def test_of_several_columns_and_types(client: Client) -> None:
    client.run("CREATE TABLE k (a text, b timestamptz, c numeric(5, 2), d uuid, n int, PRIMARY KEY (a, b, c, d))")
    client.run("INSERT INTO k VALUES ('it''s', '2020-01-01', 1.50, '00000000-0000-0000-0000-000000000001', 1)")
    client.run("INSERT INTO k VALUES ('it''s', '2020-01-01', 2.50, '00000000-0000-0000-0000-000000000001', 1)")
    client.run("BEGIN")
    client.run("DECLARE c CURSOR FOR SELECT n FROM k WHERE c > 2")
    client.run("FETCH c")
    client.run("UPDATE k SET n = 2 WHERE CURRENT OF c")
    client.run("COMMIT")
    assert client.run("SELECT c::text, n FROM k ORDER BY c") == [("1.50", 1), ("2.50", 2)]


def test_others_wait_for_the_row_alone(client: Client, connect: Callable[[], Client]) -> None:
    for sql in TABLES:
        client.run(sql)
    client.run("BEGIN")
    client.run("DECLARE c CURSOR FOR SELECT * FROM t WHERE id = 1")
    client.run("FETCH c")
    client.run("UPDATE t SET n = 7 WHERE CURRENT OF c")
    another = connect()
    another.run("SET lock_timeout = '200ms'")
    another.run("UPDATE t SET n = 8 WHERE id = 2")
    with pytest.raises(SqlError, match="lock timeout"):
        another.run("UPDATE t SET n = 8 WHERE id = 1")
    client.run("COMMIT")
    assert client.run(ROWS) == [(1, 7), (2, 8), (3, 3), (4, 4)]


def test_with_parameters_over_the_wire(server: WireServer, client: Client) -> None:
    for sql in TABLES:
        client.run(sql)
    with psycopg.connect(host="127.0.0.1", port=server.port, user="root", dbname="dev") as connection:
        with connection.cursor("named") as cursor:
            cursor.itersize = 1
            cursor.execute("SELECT n FROM t WHERE id > %s FOR UPDATE", (2,))
            for (n,) in iter(cursor.fetchone, None):
                connection.execute("UPDATE t SET n = %s WHERE CURRENT OF named", (n * 100,))
        connection.commit()
        assert connection.execute(ROWS.encode()).fetchall() == [(1, 1), (2, 2), (3, 300), (4, 400)]


def test_explain_says_what_it_lacks(client: Client) -> None:
    for sql in TABLES:
        client.run(sql)
    with pytest.raises(SqlError, match="WHERE CURRENT OF here is not supported"):
        client.run("EXPLAIN DELETE FROM t WHERE CURRENT OF c")
