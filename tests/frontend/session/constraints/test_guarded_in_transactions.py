"""New rows of tables with constraints, by short statements in transactions: every constraint is as in PostgreSQL."""

from __future__ import annotations

import random
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from risingpy.frontend.session.short_writes import SessionShortWrite
from risingpy.frontend.wire import WireServer
from tests.frontend.session.conftest import Client
from tests.frontend.session.writes.short_writes import Connection, connect
from tests.postgres_oracle import PostgresOracle
from tests.postgres_oracle import postgres_oracle as postgres_oracle

_SCHEMA = (
    "CREATE TABLE p (id int PRIMARY KEY, code varchar(4) UNIQUE, n int CHECK (n > 0))",
    "CREATE TABLE c (id int PRIMARY KEY, pid int REFERENCES p, code varchar(4) REFERENCES p (code), n int UNIQUE)",
    "CREATE TABLE u (a int, b int, UNIQUE (a, b))",
)
_COMPUTED = (
    "CREATE UNIQUE INDEX by_lower ON p (lower(code))",
    "CREATE UNIQUE INDEX few ON c ((n % 100), pid) WHERE n > 150",
    "CREATE UNIQUE INDEX quotient ON u ((b / (a - 7))) WHERE b > 9",
)
_STATEMENTS, _CLIENTS, _TRANSACTIONS, _KEYS = 600, 5, 60, 12
_AFTER_FAILURE = ("ROLLBACK", "ROLLBACK", "ROLLBACK TO s", "SELECT 1")
_REFUSED = {"23505", "23503", "23514", "40P01", "40001"}


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of rows of the writes that went the short way in transactions."""
    found: list[int] = []
    run = SessionShortWrite.run

    def noting(self: SessionShortWrite, parameters: Sequence[object | None]) -> int:
        rows = run(self, parameters)
        found.append(rows)
        return rows

    monkeypatch.setattr(SessionShortWrite, "run", noting)
    return found


def _state(connection: Connection, text: str, values: tuple[object, ...] = ()) -> str | None:
    try:
        connection.execute(text, values, prepare=True)
    except psycopg.Error as error:
        return error.sqlstate
    return None


def _warm(connection: Connection, *texts: tuple[str, Sequence[tuple[object, ...]]]) -> None:
    """Each statement a few times in a transaction that leaves nothing: then the session knows them."""
    connection.execute("BEGIN")
    for text, rows in texts:
        for values in rows:
            connection.execute(text, values, prepare=True)
    connection.execute("ROLLBACK")


def test_what_is_short_in_a_transaction_and_what_is_not(client: Client, server: WireServer, short: list[int]) -> None:
    for create in _SCHEMA:
        client.run(create)
    client.run("INSERT INTO p VALUES (1, 'a', 1), (2, 'b', 1)")
    p, c = "INSERT INTO p VALUES (%s, %s, %s)", "INSERT INTO c VALUES (%s, %s, %s, %s)"
    with connect(server) as connection:
        _warm(connection, (p, [(90 + k, f"z{k}", 1) for k in range(3)]), (c, [(k, None, None, None) for k in range(3)]))
        del short[:]
        connection.execute("BEGIN")
        assert [_state(connection, p, (10 + k, f"k{k}", 1)) for k in range(4)] == [None] * 4
        assert [_state(connection, c, (k, 10 + k, "a", k)) for k in range(4)] == [None] * 4  # to rows of its own, too
        assert [_state(connection, c, (7, None, None, None)), _state(connection, c, (8, 2, "b", 8))] == [None] * 2
        assert short == [1] * 10
        assert _state(connection, c, (9, 1, "k0", 9)) is None  # to a key of its own: by the long way
        assert connection.execute("SELECT count(*) FROM p").fetchone() == (6,)  # what was kept becomes a chunk
        assert _state(connection, c, (20, 11, "k1", 20)) is None
        connection.execute("COMMIT")
        assert connection.execute("SELECT count(*), sum(n) FROM c").fetchone() == (8, 43)
        failing: list[tuple[str, tuple[object, ...], str]] = []
        failing += [(p, (30, "a", 1), "23505"), (p, (30, "k2", 1), "23505"), (p, (30, "q", 1), "23505")]
        failing += [(p, (30, "q", 0), "23514"), (c, (30, 77, None, None), "23503"), (c, (30, 1, "no", None), "23503")]
        for text, values, state in failing:
            connection.execute("BEGIN")
            assert _state(connection, p, (40, "q", 1)) is None
            assert _state(connection, text, values) == state
            assert _state(connection, "SELECT 1") == "25P02"
            connection.execute("ROLLBACK")
        assert connection.execute("SELECT count(*) FROM p WHERE id >= 30").fetchone() == (0,)


def test_keys_that_go_and_come_in_one_transaction(client: Client, server: WireServer, short: list[int]) -> None:
    for create in _SCHEMA:
        client.run(create)
    client.run("INSERT INTO p VALUES (1, 'a', 1), (2, 'b', 1), (3, 'c', 1)")
    p, c = "INSERT INTO p VALUES (%s, %s, %s)", "INSERT INTO c VALUES (%s, %s, %s, %s)"
    with connect(server) as connection:
        _warm(connection, (p, [(90 + k, f"z{k}", 1) for k in range(3)]), (c, [(k, None, None, None) for k in range(3)]))
        connection.execute("BEGIN")
        connection.execute("UPDATE p SET code = 'd' WHERE n = 1 AND id = 1")  # by the long way
        assert _state(connection, p, (4, "a", 1)) is None
        assert _state(connection, p, (5, "d", 1)) == "23505"
        connection.execute("ROLLBACK")
        connection.execute("BEGIN")
        connection.execute("DELETE FROM p WHERE id = 3")
        assert _state(connection, p, (6, "c", 1)) is None
        assert _state(connection, c, (1, 3, None, None)) == "23503"
        connection.execute("ROLLBACK")
        connection.execute("BEGIN")
        assert _state(connection, p, (7, "g", 1)) is None
        connection.execute("SAVEPOINT s")
        assert _state(connection, p, (8, "h", 1)) is None
        connection.execute("ROLLBACK TO s")
        assert _state(connection, p, (9, "h", 1)) is None
        assert _state(connection, p, (10, "g", 1)) == "23505"
        connection.execute("ROLLBACK TO s")
        assert _state(connection, p, (8, "h", 2)) is None
        connection.execute("COMMIT")
        rows = connection.execute("SELECT id, code, n FROM p ORDER BY id").fetchall()
        assert rows == [(1, "a", 1), (2, "b", 1), (3, "c", 1), (7, "g", 1), (8, "h", 2)]
    assert len(short) > 6


def test_a_key_of_an_open_transaction_is_waited_for(client: Client, server: WireServer, short: list[int]) -> None:
    client.run("CREATE TABLE t (id int PRIMARY KEY, code int UNIQUE)")
    insert = "INSERT INTO t VALUES (%s, %s)"
    with connect(server) as first, connect(server) as second:
        for connection in (first, second):
            _warm(connection, (insert, [(90 + k, 90 + k) for k in range(3)]))
        for end, code, state in (("COMMIT", 5, "23505"), ("ROLLBACK", 6, None)):
            del short[:]
            first.execute("BEGIN")
            assert _state(first, insert, (code, code)) is None
            assert short == [1]
            second.execute("BEGIN")
            with ThreadPoolExecutor(1) as pool:
                told = pool.submit(_state, second, insert, (3, code))
                with pytest.raises(TimeoutError):
                    told.result(0.3)
                first.execute(end)
                assert told.result(20) == state
            second.execute("ROLLBACK")


@pytest.mark.parametrize("seed", range(2))
def test_histories_of_transactions_are_those_of_postgres(
    client: Client, server: WireServer, postgres_oracle: PostgresOracle, short: list[int], seed: int
) -> None:
    chance = random.Random(seed)
    with postgres_oracle.connect() as judge, connect(server) as connection:
        judge.execute(f"CREATE SCHEMA guarded_{seed}")
        judge.execute(f"SET search_path = guarded_{seed}")
        for create in (*_SCHEMA, *_COMPUTED[: 3 * seed]):
            client.run(create)
            judge.execute(create)
        done = []
        for number in range(_STATEMENTS):
            has_failed = judge.info.transaction_status is psycopg.pq.TransactionStatus.INERROR
            text = chance.choice(_AFTER_FAILURE) if has_failed else _statement(chance, 100 + number)
            done.append(text)
            assert _told(connection, text) == _told(judge, text), "\n".join(done[-40:])
        for each in (connection, judge):
            _told(each, "ROLLBACK")
        for table in ("p", "c", "u"):
            query = f"SELECT * FROM {table} ORDER BY 1, 2"
            assert connection.execute(query).fetchall() == judge.execute(query).fetchall()
        judge.execute(f"DROP SCHEMA guarded_{seed} CASCADE")
    assert sum(short) > _STATEMENTS / 60


def _statement(chance: random.Random, new: int) -> str:
    """A statement of one row, or one that begins or ends a transaction. No row has the `new` key yet.

    For the product a row with a primary key that another row has takes its place.
    """

    def number(most: int) -> str:
        return "NULL" if chance.random() < 0.04 else str(chance.randint(1, most))

    key = chance.randint(max(100, new - 40), new)
    code = "NULL" if chance.random() < 0.04 else f"'{chance.choice('abcdefghijABC')}{chance.randint(1, 9)}'"
    inserts = [
        f"INSERT INTO p VALUES ({new}, {code}, {chance.choice([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])})",
        f"INSERT INTO c VALUES ({new}, {key}, NULL, {number(300)})",
        f"INSERT INTO c VALUES ({new}, NULL, {code}, {number(300)})",
        f"INSERT INTO u VALUES ({number(12)}, {number(12)})",
    ]
    changes = [
        f"UPDATE p SET n = {chance.randint(0, 4)} WHERE id = {key}",
        f"UPDATE p SET code = {code} WHERE id = {key}",
        f"DELETE FROM p WHERE id = {key}",
        f"DELETE FROM c WHERE id = {key}",
        f"UPDATE c SET n = {number(300)} WHERE id = {key}",
        f"DELETE FROM u WHERE a = {chance.randint(1, 12)} AND b = {chance.randint(1, 12)}",
    ]
    controls = ["BEGIN", "BEGIN", "BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT s"]
    return chance.choice(chance.choices((inserts, changes, controls), (12, 2, 3))[0])


def _told(connection: Connection, text: str) -> tuple[str, str]:
    """The tag, or the SQLSTATE and the constraint's name; by the simple protocol, so that texts recur."""
    result = connection.pgconn.exec_(text.encode())
    if result.status == psycopg.pq.ExecStatus.COMMAND_OK:
        return (result.command_status or b"").decode(), ""
    fields = psycopg.pq.DiagnosticField.SQLSTATE, psycopg.pq.DiagnosticField.CONSTRAINT_NAME
    state, name = ((result.error_field(each) or b"").decode() for each in fields)
    return state, name


def test_many_clients_keep_the_constraints(client: Client, server: WireServer, short: list[int]) -> None:
    client.run("CREATE TABLE p (id int PRIMARY KEY, code int UNIQUE)")
    client.run("CREATE TABLE c (id serial PRIMARY KEY, pid int REFERENCES p, n int UNIQUE)")
    failures: list[BaseException] = []

    def transaction(connection: Connection, chance: random.Random) -> None:
        connection.execute("BEGIN")
        for _ in range(chance.randint(1, 4)):
            key, other = chance.randint(1, _KEYS), chance.randint(1, 4 * _KEYS)
            choices: list[tuple[str, tuple[object, ...]]] = [
                ("INSERT INTO p VALUES (%s, %s)", (key, other)),
                ("INSERT INTO c (pid, n) VALUES (%s, %s)", (key, other)),
                ("DELETE FROM p WHERE id = %s", (key,)),
                ("DELETE FROM c WHERE id = %s", (other,)),
            ]
            text, values = chance.choices(choices, (4, 4, 1, 2))[0]
            state = _state(connection, text, values)
            if state is not None:
                assert state in _REFUSED, (text, state)
                break
        connection.execute(chance.choice(["COMMIT", "COMMIT", "ROLLBACK"]))

    def work(seed: int) -> None:
        chance = random.Random(seed)
        try:
            with connect(server) as connection:
                for _ in range(_TRANSACTIONS):
                    try:
                        transaction(connection, chance)
                    except psycopg.Error as error:  # of COMMIT: who has followed one that failed
                        assert error.sqlstate in _REFUSED, error
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(_CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures[0]
    assert len(short) > _CLIENTS * _TRANSACTIONS / 4
    client.run("FLUSH")
    assert client.run("SELECT code FROM p GROUP BY code HAVING count(*) > 1") == []
    assert client.run("SELECT n FROM c GROUP BY n HAVING count(*) > 1") == []
    assert client.run("SELECT * FROM c WHERE pid NOT IN (SELECT id FROM p)") == []
