"""Many clients in the loop at once, which also cancel, fail and are ended: none loses an answer or gets another's."""

from __future__ import annotations

import random
import threading
import time

import psycopg
import pytest

from risingpy.frontend.wire import WireServer
from risingpy.meta.database import Database
from tests.frontend.session.conftest import Client

_CLIENTS, _STATEMENTS, _KEYS = 16, 60, 50
_DEADLINE = 30.0


@pytest.fixture
def filled(client: Client) -> Client:
    client.run("CREATE TABLE kv (id int PRIMARY KEY, owner int, n int)")
    client.run(f"INSERT INTO kv SELECT g, g % {_CLIENTS}, 0 FROM generate_series(0, {_KEYS * _CLIENTS - 1}) AS g")
    client.run("CREATE MATERIALIZED VIEW total AS SELECT owner, sum(n) AS n FROM kv GROUP BY owner")
    client.run("FLUSH")
    return client


def _connect(server: WireServer) -> psycopg.Connection[tuple[object, ...]]:
    return psycopg.connect(host="127.0.0.1", port=server.port, user="root", dbname="dev", autocommit=True)


def test_each_client_gets_its_own_answers(filled: Client, server: WireServer, database: Database) -> None:
    failures: list[str] = []

    def work(number: int) -> None:
        chosen, own, written = random.Random(number), f"client {number}", 0
        try:
            with _connect(server) as connection, _connect(server) as helper:
                for step in range(_STATEMENTS):
                    key = chosen.randrange(_KEYS) * _CLIENTS + number
                    match chosen.randrange(10):
                        case 0:
                            connection.execute("UPDATE kv SET n = n + 1 WHERE id = %s", (key,), prepare=True)
                            written += 1
                        case 1:
                            with connection.transaction():
                                found = connection.execute("SELECT owner FROM kv WHERE id = %s", (key,)).fetchone()
                        case 2:
                            # Nothing runs: it must not end the next statement.
                            helper.execute("SELECT pg_cancel_backend(%s)", (connection.info.backend_pid,))
                        case 3:
                            with pytest.raises(psycopg.errors.DivisionByZero):
                                connection.execute("SELECT 1 / (%s::int - %s::int)", (key, key))
                        case _:
                            found = connection.execute(
                                "SELECT owner, id FROM kv WHERE id = %s", (key,), prepare=True
                            ).fetchone()
                            if found != (number, key):
                                failures.append(f"{own}, step {step}: {found}")
                [row] = connection.execute("SELECT sum(n) FROM kv WHERE owner = %s", (number,)).fetchall()
                seen = connection.execute("SELECT n FROM total WHERE owner = %s", (number,), prepare=True).fetchone()
                if row != (written,) or seen is None or seen[0] != written:
                    failures.append(f"{own}: wrote {written}, found {row} and {seen}")
        except Exception as error:
            failures.append(f"{own}: {error!r}")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(_CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(4 * _DEADLINE)
    assert not failures
    deadline = time.monotonic() + _DEADLINE
    while len(database.sessions.activities()) > 1:  # but for the test's own
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_client_at_rest_can_be_ended(filled: Client, server: WireServer) -> None:
    with _connect(server) as victim, _connect(server) as other:
        for _ in range(3):
            victim.execute("SELECT n FROM kv WHERE id = %s", (1,), prepare=True)
        time.sleep(0.1)  # it is in the loop
        ended = other.execute("SELECT pg_terminate_backend(%s, 5000)", (victim.info.backend_pid,)).fetchone()
        assert ended == (True,)
        with pytest.raises(psycopg.OperationalError, match="terminating connection due to administrator command"):
            victim.execute("SELECT n FROM kv WHERE id = %s", (1,), prepare=True)


def test_a_client_that_only_reads_in_short_is_not_idle(filled: Client, server: WireServer) -> None:
    idle_seconds, longest = 2, 0.0
    with _connect(server) as connection:
        connection.execute(f"SET idle_session_timeout = '{idle_seconds}s'")
        begin = last = time.monotonic()
        try:
            while last < begin + 1.5 * idle_seconds:
                connection.execute("SELECT n FROM kv WHERE id = %s", (1,), prepare=True)
                now = time.monotonic()
                longest, last = max(longest, now - last), now
                time.sleep(0.02)
        except psycopg.OperationalError:
            assert time.monotonic() - last > idle_seconds / 2 or longest > idle_seconds / 2  # the machine was too slow
