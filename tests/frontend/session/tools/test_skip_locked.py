"""SELECT … FOR UPDATE SKIP LOCKED beside PostgreSQL's: several sessions take jobs of a queue, none waits."""

from __future__ import annotations

import threading
from contextlib import ExitStack

import psycopg
import pytest

from risingpy.errors import SqlError
from risingpy.frontend.wire import WireServer
from tests.frontend.session.conftest import Client
from tests.postgres_oracle import PostgresOracle

Connection = psycopg.Connection[tuple[object, ...]]
TABLES = (
    "CREATE TABLE jobs (id int PRIMARY KEY, state varchar, at timestamptz)",
    "CREATE TABLE pairs (a varchar, b date, n numeric(6, 2), v int, PRIMARY KEY (a, b, n))",
    "INSERT INTO jobs SELECT i, CASE WHEN i % 3 = 0 THEN 'done' ELSE 'new' END, '2024-01-01Z' FROM"
    " generate_series(1, 12) AS i",
    "INSERT INTO pairs VALUES ('x', '2024-01-01', 1.5, 1), ('x', '2024-01-02', 1.5, 2), ('y', '2024-01-01', 2, 3)",
)
# (session, statement): what each answers is compared.
SCRIPT = (
    (0, "BEGIN"),
    (0, "SELECT id FROM jobs WHERE state = 'new' ORDER BY id LIMIT 2 FOR UPDATE SKIP LOCKED"),
    (1, "BEGIN"),
    (1, "SELECT id FROM jobs WHERE state = 'new' ORDER BY id LIMIT 2 FOR UPDATE SKIP LOCKED"),
    (2, "SELECT id FROM jobs WHERE state = 'new' OR id = 3 ORDER BY id DESC LIMIT 6 FOR UPDATE SKIP LOCKED"),
    (2, "SELECT id FROM jobs AS j WHERE j.id < 5 ORDER BY id FOR UPDATE OF j SKIP LOCKED"),
    (0, "UPDATE jobs SET state = 'done' WHERE id = 1"),
    (0, "COMMIT"),
    (2, "SELECT id, state FROM jobs WHERE id < 6 ORDER BY id FOR NO KEY UPDATE SKIP LOCKED"),
    (1, "ROLLBACK"),
    (2, "SELECT count(*) FROM (SELECT id FROM jobs WHERE state = 'new') AS n"),
    (0, "BEGIN"),
    (0, "SELECT v FROM pairs WHERE a = 'x' AND v = 2 FOR UPDATE SKIP LOCKED"),
    (1, "SELECT v FROM pairs ORDER BY v FOR UPDATE SKIP LOCKED"),
    (0, "SELECT v FROM pairs ORDER BY v FOR UPDATE SKIP LOCKED"),
    (1, "SELECT v FROM pairs ORDER BY v FOR UPDATE SKIP LOCKED"),
    (0, "COMMIT"),
    (1, "SELECT v FROM pairs ORDER BY v LIMIT 1 FOR SHARE SKIP LOCKED"),
)


def _answers(connections: list[Connection], schema: str) -> list[object]:
    for connection in connections:
        connection.execute(f"SET search_path = {schema}".encode())
    for sql in TABLES:
        connections[0].execute(sql.encode())
    answers: list[object] = []
    for session, sql in SCRIPT:
        cursor = connections[session].execute(sql.encode())
        answers.append((sql, cursor.fetchall() if cursor.description else cursor.statusmessage))
    return answers


def test_as_postgres(server: WireServer, postgres_oracle: PostgresOracle) -> None:
    where = f"host=127.0.0.1 port={server.port} user=root dbname=dev"
    with ExitStack() as stack:
        ours = [stack.enter_context(psycopg.connect(where, autocommit=True)) for _ in range(3)]
        theirs = [stack.enter_context(postgres_oracle.connect()) for _ in range(3)]
        theirs[0].execute("DROP SCHEMA IF EXISTS skipping CASCADE; CREATE SCHEMA skipping")
        ours[0].execute("CREATE SCHEMA skipping")
        assert _answers(ours, "skipping") == _answers(theirs, "skipping")


def test_a_queue_gives_each_job_once(server: WireServer) -> None:
    where = f"host=127.0.0.1 port={server.port} user=root dbname=dev"
    with psycopg.connect(where, autocommit=True) as connection:
        connection.execute("CREATE TABLE jobs (id int PRIMARY KEY, taken int)")
        connection.execute("INSERT INTO jobs SELECT i, 0 FROM generate_series(1, 40) AS i")
    got: list[int] = []

    def work() -> None:
        take = "SELECT id FROM jobs WHERE taken = 0 ORDER BY id LIMIT %s FOR UPDATE SKIP LOCKED"
        with psycopg.connect(where) as connection:
            while True:
                rows = connection.execute(take, (1,)).fetchall()
                for (job,) in rows:
                    connection.execute("UPDATE jobs SET taken = taken + 1 WHERE id = %s", (job,))
                connection.commit()
                got.extend(job for (job,) in rows)
                left = connection.execute("SELECT count(*) FROM jobs WHERE taken = 0").fetchall()[0][0]
                connection.commit()
                if not left:
                    return

    workers = [threading.Thread(target=work) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(120)
    assert sorted(got) == list(range(1, 41))
    with psycopg.connect(where) as connection:
        assert connection.execute("SELECT DISTINCT taken FROM jobs").fetchall() == [(1,)]


def test_what_it_is_not_for(table: Client) -> None:
    table.run("CREATE TABLE nokey (a int)")
    for sql in ("SELECT a FROM nokey FOR UPDATE SKIP LOCKED", "SELECT 1 FROM t, nokey FOR UPDATE SKIP LOCKED"):
        with pytest.raises(SqlError) as raised:
            table.run(sql)
        assert raised.value.sqlstate == "0A000"
        assert "SKIP LOCKED" in raised.value.message
