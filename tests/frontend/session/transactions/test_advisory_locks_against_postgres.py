"""Random advisory locks of three sessions, in and out of transactions: results, errors and locks are PostgreSQL's.

A lock that has to be waited for fails after `lock_timeout`, on both sides. Real waits, circles of them, and what ends
them are in `test_advisory_locks.py`.
"""

from __future__ import annotations

from random import Random
from typing import Any

import psycopg
import pytest

from risingpy.frontend.wire import WireServer
from tests.postgres_oracle import PostgresOracle

SESSIONS, STEPS = 3, 60
NUMBERS = ("1", "-1", "0, 1", "-1, -1", "8589934593", "2, 1", "NULL", "1::smallint")
Connection = psycopg.Connection[Any]
LOCKS = "SELECT pid, classid, objid, objsubid, mode, granted FROM pg_locks WHERE locktype = 'advisory'"


class Sessions:
    """The sessions of one of the two servers, which do the same, and one that looks at them."""

    def __init__(self, address: str) -> None:
        self._address = f"{address} options='-c lock_timeout=30'"
        self._warnings: list[str | None] = []
        self._observer = self._new()
        self._sessions = [self._new() for _ in range(SESSIONS)]

    def run(self, session: int, statement: str) -> object:
        """The rows or the SQLSTATE, and the warnings."""
        self._warnings.clear()
        try:
            rows = self._sessions[session].execute(statement.encode())
            return rows.fetchall() if rows.description else None, list(self._warnings)
        except psycopg.Error as error:
            return error.sqlstate, list(self._warnings)

    def come_again(self, session: int) -> None:
        self._sessions[session].close()
        self._sessions[session] = self._new()

    def locks(self) -> list[object]:
        """All locks, with the places of their sessions."""
        places = {each.info.backend_pid: place for place, each in enumerate(self._sessions)}
        return sorted(
            ((places[pid], *rest) for pid, *rest in self._observer.execute(LOCKS).fetchall() if pid in places), key=str
        )

    def ended(self) -> bool:
        """Whether nobody has a lock whose session is closed."""
        pids = {each.info.backend_pid for each in self._sessions}
        return {row[0] for row in self._observer.execute(LOCKS).fetchall()} <= pids

    def close(self) -> None:
        for each in (*self._sessions, self._observer):
            each.close()

    def _new(self) -> Connection:
        made = psycopg.connect(self._address, autocommit=True)
        made.add_notice_handler(lambda diagnostic: self._warnings.append(diagnostic.message_primary))
        return made


def statement(random: Random) -> str:
    numbers = random.choice(NUMBERS)
    shared = random.choice(("", "_shared"))
    return random.choice(
        (
            f"SELECT pg_advisory_lock{shared}({numbers})",
            f"SELECT pg_try_advisory_lock{shared}({numbers})",
            f"SELECT pg_try_advisory_lock{shared}({numbers}) FROM generate_series(1, 3)",
            f"SELECT pg_advisory_xact_lock{shared}({numbers})",
            f"SELECT pg_try_advisory_xact_lock{shared}({numbers})",
            f"SELECT pg_try_advisory_xact_lock{shared}({numbers}), pg_try_advisory_lock{shared}({numbers})",
            f"SELECT pg_advisory_unlock{shared}({numbers})",
            f"SELECT pg_advisory_unlock{shared}({numbers}), pg_advisory_unlock{shared}({numbers})",
            "SELECT pg_try_advisory_lock(g) FROM generate_series(0, 2) AS g",
            "SELECT pg_advisory_unlock_all()",
            "DISCARD ALL",
            *("BEGIN", "BEGIN", "COMMIT", "ROLLBACK"),
            *("SAVEPOINT s", "ROLLBACK TO s", "RELEASE s"),
            "SELECT 1 / 0",
            f"SELECT pg_advisory_xact_lock{shared}({numbers}); SELECT 1 / 0",
        )
    )


@pytest.mark.parametrize("seed", range(4))
def test_locks_are_postgresqls(server: WireServer, postgres_oracle: PostgresOracle, seed: int) -> None:
    random = Random(seed)
    ours = Sessions(f"host=127.0.0.1 port={server.port} user=root dbname=dev")
    host, user = postgres_oracle.directory, postgres_oracle.superuser
    theirs = Sessions(f"host={host} port={postgres_oracle.port} user={user} dbname=postgres")
    history: list[tuple[int, str]] = []
    for _ in range(STEPS):
        session = random.randrange(SESSIONS)
        if random.random() < 0.03:
            history.append((session, "a new session"))
            for each in (ours, theirs):
                each.come_again(session)
            while not (ours.ended() and theirs.ended()):
                pass
        else:
            drawn = statement(random)
            history.append((session, drawn))
            assert ours.run(session, drawn) == theirs.run(session, drawn), history
        assert ours.locks() == theirs.locks(), history
    ours.close()
    theirs.close()
