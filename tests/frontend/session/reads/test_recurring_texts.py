"""Texts that come again with other constants: which are planned for all of them, and that they mean what they did."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from risingpy.errors import SqlError
from risingpy.frontend.command import Parameters
from risingpy.frontend.results import Prepared, StartupParameters
from risingpy.frontend.session import ClientSession
from risingpy.frontend.session.context import SessionContext
from risingpy.frontend.wire import WireServer
from risingpy.meta.database import Database
from risingpy.sqllogictest.client import connect_with_psycopg
from risingpy.sqllogictest.jobs import SUITES, find_files, run_files
from risingpy.sqllogictest.modes import Mode
from risingpy.sqllogictest.report import failure_lines
from tests.frontend.session.conftest import Client
from tests.result_rows import result_rows

Connection = psycopg.Connection[tuple[object, ...]]


@pytest.fixture
def wide(client: Client) -> Client:
    client.run("CREATE TABLE kv (id bigint PRIMARY KEY, n int, s smallint, w varchar, d double precision, e date)")
    client.run("CREATE TABLE pair (a int, w varchar, v int, PRIMARY KEY (a, w))")
    client.run("INSERT INTO kv VALUES (1, 10, 1, 'one', 1, NULL), (5000000000, 20, 2, 'large', 2, NULL)")
    client.run("INSERT INTO kv VALUES (-3, 30, NULL, NULL, NULL, NULL)")
    client.run("INSERT INTO pair VALUES (1, 'x', 11), (1, 'y', 12), (-1, '', 13)")
    client.run("FLUSH")
    return client


def shared(client: Client, text: str) -> tuple[Prepared, Parameters] | None:
    """What the session has for the text when it comes for the third time."""
    for _ in range(2):
        client.session.recurring(text)
    return client.session.recurring(text)


@pytest.mark.parametrize(
    ("text", "values", "rows"),
    [
        ("SELECT n, w FROM kv WHERE id = 1", [1], [(10, "one")]),
        ("select id from kv where id=5000000000 ;", [5_000_000_000], [(5_000_000_000,)]),
        ("SELECT n FROM kv WHERE id = -3", [-3], [(30,)]),
        ("SELECT n FROM kv WHERE id = 2", [2], []),
        ("SELECT v FROM pair WHERE a = 1 AND w = 'y'", [1, "y"], [(12,)]),
        ("SELECT v, w FROM pair WHERE w = '' AND a = -1", ["", -1], [(13, "")]),
    ],
)
def test_keys_are_values_of_a_shared_plan(
    wide: Client, text: str, values: list[object], rows: list[tuple[object, ...]]
) -> None:
    found = shared(wide, text)
    assert found is not None and list(found[1]) == values
    assert result_rows(wide.session.execute(*found)) == wide.run(text) == rows


@pytest.mark.parametrize(
    "text",
    [
        "SELECT n FROM kv ORDER BY 1",
        "SELECT n FROM kv WHERE id = 1 ORDER BY 1",
        "SELECT n FROM kv WHERE id = 1 LIMIT 1",
        "SELECT n, 5 FROM kv WHERE id = 1",
        "SELECT n, 'x' AS text FROM kv WHERE id = 1",
        "SELECT n FROM kv WHERE id = 1 AND n = 10",
        "SELECT n FROM kv WHERE id = 1 OR id = 2",
        "SELECT n FROM kv WHERE id IN (1, 2)",
        "SELECT n FROM kv WHERE id = '1'",
        "SELECT n FROM kv WHERE id = 1::bigint",
        "SELECT n FROM kv WHERE id = 1 + 0",
        "SELECT n FROM kv WHERE id = 1 -- 2",
        "SELECT n FROM kv WHERE id = 1 /* ' */",
        'SELECT n AS "1" FROM kv WHERE id = 1',
        "SELECT n FROM kv WHERE id = 99999999999999999999",
        "SELECT v FROM pair WHERE a = 1 AND w = E'x'",
        "SELECT v FROM pair WHERE a = 1 AND w = 'it''s'",
        "SELECT v FROM pair WHERE a = 1 AND w = 'x'\n'y'",
        "SELECT v FROM pair WHERE a = 1 AND w = $$x$$",
        "SELECT 1; SELECT 2",
        "INSERT INTO kv (id, e) VALUES (7, '2024-01-01')",
        "INSERT INTO kv (id, s) VALUES (7, 5)",
        "INSERT INTO kv (id, d) VALUES (7, 5)",
        "INSERT INTO kv (id, w) VALUES (7, 5)",
        "INSERT INTO kv (id) VALUES (7) RETURNING id, 5",
        "UPDATE kv SET n = length('x') WHERE id = 1",
        "UPDATE kv SET n = 5 WHERE id = 1 AND n = 10",
        "UPDATE kv SET n = 5 WHERE n = 1",
        "UPDATE kv SET n = 5 WHERE id = 1 RETURNING 7",
        "UPDATE kv SET n = n -5 WHERE id = 1",
        "UPDATE kv SET e = '2024-01-01' WHERE id = 1",
        "UPDATE kv SET w = w || 'x' WHERE id = 1",
        "UPDATE kv SET id = 7 WHERE id = 1",
        "DELETE FROM kv WHERE n = 1",
        "SELECT date '2024-01-01'",
        "SELECT n FROM missing WHERE id = 1",
    ],
)
def test_what_may_mean_something_else_is_not_shared(wide: Client, text: str) -> None:
    assert shared(wide, text) is None


def test_numbers_outside_of_int_have_a_plan_of_their_own(wide: Client) -> None:
    small, large = (shared(wide, f"SELECT n FROM kv WHERE id = {number}") for number in (2**31 - 1, 2**31))
    assert small is not None and large is not None
    assert [type_.kind.value for found in (small, large) for type_ in found[0].parameter_types] == ["integer", "bigint"]


def test_one_row_is_changed_by_a_shared_plan(wide: Client) -> None:
    for text, number, rows in (
        ("UPDATE kv SET n = n + {} WHERE id = 1 RETURNING n", 5, [(15,)]),
        ("UPDATE kv SET n = n * -{}, w = 'two' WHERE id = 1 RETURNING n, w", 2, [(-30, "two")]),
        ("UPDATE kv SET s = {}, d = d + 0 WHERE id = 1 RETURNING s, d", 7, [(7, 1.0)]),
        ("DELETE FROM kv WHERE id = {} RETURNING n", 5_000_000_000, [(20,)]),
        ("DELETE FROM kv WHERE id = {} RETURNING n", 5_000_000_000, []),
    ):
        found = shared(wide, text.format(number))
        assert found is not None, text
        assert result_rows(wide.session.execute(*found)) == rows
    found = shared(wide, "UPDATE kv SET s = 99999 WHERE id = 1")
    assert found is not None
    with pytest.raises(SqlError) as error:
        wide.session.execute(*found)
    assert error.value.sqlstate == "22003"
    wide.session.fail()


def test_inserted_values_are_those_of_the_text(wide: Client) -> None:
    text = "INSERT INTO kv (w, id, n) VALUES ('{}', {}, -{}), (NULL, {}, 0)"
    for number in range(4):
        found = wide.session.recurring(text.format(f"w {number}", 100 + number, number, 200 + number))
        assert (found is not None) == (number > 0)
        if found is not None:
            wide.session.execute(*found)
    assert wide.run("SELECT id, n, w FROM kv WHERE id > 100 AND id < 5000 ORDER BY id") == [
        *[(100 + number, -number, f"w {number}") for number in (1, 2, 3)],
        *[(200 + number, 0, None) for number in (1, 2, 3)],
    ]


def test_a_returning_of_columns_alone_is_shared(wide: Client) -> None:
    found = shared(wide, "INSERT INTO kv (id, n) VALUES (7, 8) RETURNING n")
    assert found is not None and result_rows(wide.session.execute(*found)) == [(8,)]


@pytest.fixture
def over_the_wire(server: WireServer) -> Iterator[Callable[[], Connection]]:
    connections: list[Connection] = []

    def connect() -> Connection:
        conninfo = f"host=127.0.0.1 port={server.port} user=root dbname=dev"
        connections.append(psycopg.connect(conninfo, autocommit=True, prepare_threshold=None))
        return connections[-1]

    yield connect
    for connection in connections:
        connection.close()


def test_a_changed_catalog_or_search_path_changes_the_answer(over_the_wire: Callable[[], Connection]) -> None:
    connection, other = over_the_wire(), over_the_wire()

    def ask(number: int) -> list[tuple[object, ...]]:
        return connection.execute(f"SELECT * FROM t WHERE id = {number}".encode()).fetchall()

    connection.execute("CREATE TABLE t (id int PRIMARY KEY, n int)")
    connection.execute("INSERT INTO t VALUES (1, 10), (2, 20)")
    assert [ask(number) for number in (1, 2, 3, 1)] == [[(1, 10)], [(2, 20)], [], [(1, 10)]]
    other.execute("ALTER TABLE t ADD COLUMN w varchar")
    assert [ask(number) for number in (1, 2, 1)] == [[(1, 10, None)], [(2, 20, None)], [(1, 10, None)]]
    other.execute("CREATE SCHEMA mine")
    other.execute("CREATE TABLE mine.t (id varchar PRIMARY KEY, w varchar)")
    connection.execute("SET search_path = mine")
    with pytest.raises(psycopg.errors.UndefinedFunction) as failed:
        ask(1)
    assert failed.value.diag.statement_position == "26"
    connection.execute("SET search_path = public")
    assert ask(2) == [(2, 20, None)]
    other.execute("DROP TABLE t")
    with pytest.raises(psycopg.errors.UndefinedTable) as gone:
        ask(2)
    assert gone.value.diag.statement_position == "15"


def test_transactions_read_their_own_rows_and_failed_ones_refuse(over_the_wire: Callable[[], Connection]) -> None:
    connection = over_the_wire()
    connection.execute("CREATE TABLE t (id int PRIMARY KEY, n int)")
    for number in range(3):
        connection.execute(f"INSERT INTO t VALUES ({number}, 0)".encode())
        connection.execute(f"SELECT n FROM t WHERE id = {number}".encode())
    connection.execute("BEGIN")
    connection.execute(b"INSERT INTO t VALUES (1, 1)")
    assert connection.execute(b"SELECT n FROM t WHERE id = 1").fetchall() == [(1,)]
    connection.execute("ROLLBACK")
    assert connection.execute(b"SELECT n FROM t WHERE id = 1").fetchall() == [(0,)]
    connection.execute("BEGIN READ ONLY")
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        connection.execute(b"INSERT INTO t VALUES (9, 9)")
    with pytest.raises(psycopg.errors.InFailedSqlTransaction):
        connection.execute(b"SELECT n FROM t WHERE id = 1")
    connection.execute("ROLLBACK")
    assert connection.execute(b"SELECT n FROM t WHERE id = 9").fetchall() == []


class EagerSession(ClientSession):
    """Takes each text that can be for one that has come before, and compares its rows with those of the text itself."""

    def __init__(self, context: SessionContext, taken: list[str], differing: list[str]) -> None:
        super().__init__(context)
        self.taken = taken
        self.differing = differing

    def recurring(self, sql: str) -> tuple[Prepared, Parameters] | None:
        found = super().recurring(sql) or super().recurring(sql)
        if found is not None:
            self.taken.append(sql)
            if sql.lstrip().lower().startswith("select"):
                [statement] = self.split(sql)
                itself = result_rows(self.execute(self.prepare(statement, ()), ()))
                if result_rows(self.execute(*found)) != itself:
                    self.differing.append(sql)
        return found


@pytest.mark.timeout(400)
def test_suites_hold_when_every_text_is_taken_for_one_that_came_before(database: Database) -> None:
    taken: list[str] = []
    differing: list[str] = []

    def session(startup: StartupParameters) -> EagerSession:
        return EagerSession(SessionContext(database, startup), taken, differing)

    made = WireServer("127.0.0.1", 0, session)
    made.start()
    try:
        connect = connect_with_psycopg(f"host=127.0.0.1 port={made.port} dbname=dev user=root", timeout=60)
        results = run_files(find_suites("dml", "query", "index"), connect, Mode.BATCH)
    finally:
        made.stop()
    assert [line for result in results for line in failure_lines(result)] == []
    assert differing == []
    kinds = {text.split()[0].lower() for text in taken}
    assert {"select", "insert"} <= kinds and len(taken) > 100


def find_suites(*folders: str) -> list[Path]:
    return find_files([SUITES / folder for folder in folders])
