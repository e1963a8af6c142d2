"""Tables with constraints in the short path: what is accepted keeps every constraint, and all is as in PostgreSQL."""

from __future__ import annotations

import os
import random
import threading

import psycopg
import pytest

from risingpy.errors import SqlError
from risingpy.frontend.wire import WireServer
from risingpy.meta.writing.coming_rows import TransactionRows
from risingpy.meta.writing.group_commit import NewRows, RowChange, SmallWrite
from tests.frontend.session.conftest import Client
from tests.frontend.session.constraints.test_constraints_against_postgres import History, there
from tests.frontend.session.writes.short_writes import Connection, all_rows, connect, noted
from tests.postgres_oracle import PostgresOracle
from tests.postgres_oracle import postgres_oracle as postgres_oracle

_CLIENTS, _STATEMENTS, _KEYS = 6, 120, 8
_OF_HISTORY = 300
_REFUSED = {"23505", "23503", "23514", "40P01", "40001"}


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[SmallWrite | TransactionRows]:
    """The writes that were given to groups."""
    return noted(monkeypatch, NewRows, RowChange)


def _error(connection: Connection, text: str, values: tuple[object, ...] = ()) -> str | None:
    try:
        connection.execute(text, values, prepare=True)
    except psycopg.Error as error:
        return error.sqlstate
    return None


def test_what_a_group_takes_and_what_it_leaves(client: Client, server: WireServer, taken: list[SmallWrite]) -> None:
    client.run("CREATE TABLE p (id serial PRIMARY KEY, code varchar(9) UNIQUE, n int DEFAULT 1 CHECK (n > 0))")
    client.run("CREATE TABLE c (id int PRIMARY KEY, pid int REFERENCES p, code varchar(9) REFERENCES p (code))")
    insert_p, insert_c = "INSERT INTO p (code, n) VALUES (%s, %s)", "INSERT INTO c VALUES (%s, %s, %s)"
    with connect(server) as connection:
        for number in range(5):
            assert _error(connection, insert_p, (f"k{number}", number + 1)) is None
        assert len(taken) >= 3 and all(isinstance(each, NewRows) for each in taken)
        assert _error(connection, insert_p, ("k3", 1)) == "23505"
        assert _error(connection, insert_p, (None, 1)) is None
        assert _error(connection, insert_p, (None, 1)) is None
        assert _error(connection, insert_p, ("k9", 0)) == "23514"
        for number in range(5):
            assert _error(connection, insert_c, (number, number + 1, f"k{number}")) is None
        assert _error(connection, insert_c, (9, 99, None)) == "23503"
        assert _error(connection, insert_c, (9, None, "none")) == "23503"
        assert _error(connection, insert_c, (9, None, None)) is None
        del taken[:]
        change = "UPDATE p SET n = n + %s WHERE id = %s"
        assert [_error(connection, change, (1, 2)) for _ in range(5)] == [None] * 5
        assert len(taken) >= 3 and all(isinstance(each, RowChange) for each in taken)
        assert _error(connection, change, (-100, 2)) == "23514"
        assert _error(connection, change, (1, 2)) is None
        assert connection.execute("SELECT n FROM p WHERE id = 2").fetchone() == (8,)
        del taken[:]
        assert [_error(connection, "UPDATE p SET code = %s WHERE id = %s", ("k7", 1)) for _ in range(3)] == [
            "23503"
        ] * 3
        assert [_error(connection, "DELETE FROM p WHERE id = %s", (1,)) for _ in range(3)] == ["23503"] * 3
        assert not taken  # others notice: that takes more than the row's key
        assert [_error(connection, "DELETE FROM c WHERE id = %s", (k,)) for k in range(5)] == [None] * 5
        assert taken
        assert _error(connection, "DELETE FROM p WHERE id = %s", (4,)) is None
        assert [_error(connection, insert_p, (code, 1)) for code in ("k3", "k4")] == [None, "23505"]
    codes = sorted(str(code) for (code,) in client.run("SELECT code FROM p WHERE code IS NOT NULL"))
    assert codes == ["k0", "k1", "k2", "k3", "k4"]


def test_keys_of_expressions_go_with_groups_too(client: Client, server: WireServer, taken: list[SmallWrite]) -> None:
    client.run("CREATE TABLE t (id int PRIMARY KEY, name text, n int, m int)")
    client.run("CREATE UNIQUE INDEX ON t (lower(name)) WHERE n > 0")
    client.run("CREATE UNIQUE INDEX ON t ((7000 / n))")
    insert = "INSERT INTO t VALUES (%s, %s, %s)"
    with connect(server) as connection:
        assert [_error(connection, insert, (k, f"Ab{k}", k + 30)) for k in range(6)] == [None] * 6
        assert len(taken) >= 4
        assert _error(connection, insert, (10, "aB3", 1)) == "23505"
        assert _error(connection, insert, (10, "aB3", -1)) is None
        assert _error(connection, insert, (11, "ab3", -3)) is None  # neither is in the index
        assert _error(connection, insert, (12, "\u00c9", 5)) is None
        assert _error(connection, insert, (13, "\u00e9", 6)) == "23505"
        assert _error(connection, insert, (14, "x", 0)) == "22012"
        assert _error(connection, insert, (14, "x", 8000)) is None
        assert _error(connection, insert, (15, "y", 9000)) == "23505"  # 0, as the other
        assert _error(connection, insert, (16, None, 7)) is None
        del taken[:]
        free = "UPDATE t SET m = %s WHERE id = %s"
        assert [_error(connection, free, (k, 3)) for k in range(5)] == [None] * 5
        assert len(taken) >= 3  # of a column that no key reads
        assert _error(connection, "UPDATE t SET n = 2 WHERE id = %s", (10,)) == "23505"
        assert _error(connection, "DELETE FROM t WHERE id = %s", (3,)) is None
        assert _error(connection, "UPDATE t SET n = 2 WHERE id = %s", (10,)) is None
        assert _error(connection, insert, (17, "AB3", 9)) == "23505"
    with pytest.raises(SqlError) as raised:
        client.run("INSERT INTO t VALUES (17, 'AB3', 9)")
    assert raised.value.detail == "Key (lower(name))=(ab3) already exists."
    with pytest.raises(SqlError) as raised:
        client.run("INSERT INTO t VALUES (17, 'new', 7)")
    assert raised.value.detail == "Key ((7000 / n))=(1000) already exists."


def test_a_key_that_goes_may_come_again_at_once(client: Client, server: WireServer, taken: list[SmallWrite]) -> None:
    """What the log knows of a unique key counts, whether an epoch has it or not."""
    client.run("CREATE TABLE t (id int PRIMARY KEY, code int UNIQUE)")
    with connect(server) as connection:
        for number in range(60):
            assert _error(connection, "INSERT INTO t VALUES (%s, %s)", (number, 7)) is None
            assert _error(connection, "INSERT INTO t VALUES (%s, %s)", (-1, 7)) == "23505"
            assert _error(connection, "DELETE FROM t WHERE id = %s", (number,)) is None
    assert len(taken) > 60
    assert all_rows(client, "t") == []


def test_many_clients_keep_the_constraints(client: Client, server: WireServer, taken: list[SmallWrite]) -> None:
    client.run("CREATE TABLE p (id int PRIMARY KEY, code int UNIQUE, n int CHECK (n >= 0))")
    client.run("CREATE TABLE c (id serial PRIMARY KEY, pid int REFERENCES p, n int UNIQUE)")
    client.run("CREATE UNIQUE INDEX ON p ((code % 20)) WHERE n > 0")
    failures: list[BaseException] = []
    done: list[tuple[int, int]] = []  # what was added to p's n, in rows that never go

    def work(seed: int) -> None:
        chance = random.Random(seed)
        try:
            with connect(server) as connection:
                for _ in range(_STATEMENTS):
                    key, other = chance.randint(1, _KEYS), chance.randint(1, 3 * _KEYS)
                    text, values = chance.choice(
                        [
                            ("INSERT INTO p VALUES (%s, %s, 1)", (key, other)),
                            ("INSERT INTO c (pid, n) VALUES (%s, %s)", (key, other)),
                            ("UPDATE p SET n = n + %s WHERE id = %s", (chance.randint(-1, 2), 100 + key)),
                            ("UPDATE p SET n = %s WHERE id = %s", (chance.randint(0, 1), key)),
                            ("UPDATE p SET code = %s WHERE id = %s", (other, key)),
                            ("DELETE FROM p WHERE id = %s", (key,)),
                            ("DELETE FROM c WHERE id = %s", (other,)),
                        ]
                    )
                    sqlstate = _error(connection, text, values)
                    if sqlstate is not None and sqlstate not in _REFUSED:
                        raise AssertionError((text, sqlstate))
                    if sqlstate is None and "n = n" in text:
                        done.append((int(str(values[1])), int(str(values[0]))))
        except BaseException as error:
            failures.append(error)

    for key in range(1, _KEYS + 1):
        client.run(f"INSERT INTO p VALUES ({100 + key}, {1000 + key}, 0)")
    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(_CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures[0]
    assert len(taken) > _CLIENTS * _STATEMENTS / 4
    client.run("FLUSH")
    assert client.run("SELECT code FROM p GROUP BY code HAVING count(*) > 1") == []
    assert client.run("SELECT code % 20 FROM p WHERE n > 0 GROUP BY 1 HAVING count(*) > 1") == []
    assert client.run("SELECT n FROM c GROUP BY n HAVING count(*) > 1") == []
    assert client.run("SELECT * FROM c WHERE pid NOT IN (SELECT id FROM p)") == []
    assert client.run("SELECT * FROM p WHERE n < 0") == []
    sums = {key: sum(n for at, n in done if at == key) for key in range(101, 101 + _KEYS)}
    assert dict(client.run("SELECT id, n FROM p WHERE id > 100")) == sums  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(int(os.environ.get("CONSTRAINT_HISTORIES", "2"))))
def test_short_texts_are_refused_as_in_postgres(
    client: Client, server: WireServer, postgres_oracle: PostgresOracle, taken: list[SmallWrite], seed: int
) -> None:
    history = History(seed + 100)
    with postgres_oracle.connect() as judge, connect(server) as connection:
        postgres = judge.cursor()
        postgres.execute(f"CREATE SCHEMA short_{seed}")
        postgres.execute(f"SET search_path = short_{seed}")
        for create in history.schema():
            client.run(create)
            postgres.execute(create)
        for _ in range(_OF_HISTORY):
            sql = history.statement()
            assert _here(connection, sql) == there(postgres, sql), sql
        for table in ("p", "c", "g"):
            query = f"SELECT * FROM {table} ORDER BY id"
            assert client.run(query) == list(postgres.execute(query))
    assert len(taken) > 10


def _here(connection: Connection, sql: str) -> tuple[str, str | None]:
    """By the simple protocol, so that texts recur."""
    result = connection.pgconn.exec_(sql.encode())
    if result.error_field(psycopg.pq.DiagnosticField.SQLSTATE) is None:
        return (result.command_status or b"").decode(), None
    fields = [
        result.error_field(each)
        for each in (psycopg.pq.DiagnosticField.SQLSTATE, psycopg.pq.DiagnosticField.CONSTRAINT_NAME)
    ]
    return (fields[0] or b"").decode(), None if fields[1] is None else fields[1].decode()
