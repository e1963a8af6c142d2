"""Random LISTEN, NOTIFY and transactions of three sessions: everybody hears what is heard in PostgreSQL, in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import psycopg
import pytest

from risingpy.frontend.wire import WireServer
from tests.postgres_oracle import PostgresOracle

SESSIONS, STEPS = 3, 15
CHANNELS = ("a", "b", '"C d"')
Connection = psycopg.Connection[Any]


class Sessions:
    """The sessions of one of the two servers, which do the same."""

    def __init__(self, connect: Callable[[], Connection]) -> None:
        self.connections = [connect() for _ in range(SESSIONS)]
        self.pids = [each.info.backend_pid for each in self.connections]

    def run(self, session: int, statement: str) -> str | None:
        """The SQLSTATE."""
        try:
            self.connections[session].execute(statement)
        except psycopg.Error as error:
            return error.sqlstate
        return None

    def channels(self, session: int) -> list[Any]:
        return sorted(self.connections[session].execute("SELECT pg_listening_channels()").fetchall())

    def told(self) -> list[list[tuple[str, str, int]]]:
        """What each session has heard since the last call: channel, payload, and which session said it."""
        told = []
        for place in range(SESSIONS):
            # All have ended their transactions, and the server sends what there is before it answers.
            self.connections[place].execute("SELECT 1")
            heard = self.connections[place].notifies(timeout=0.001)
            told.append([(each.channel, each.payload, self.pids.index(each.pid)) for each in heard])
        return told


def statements(random: Random) -> Sequence[str]:
    channel = random.choice(CHANNELS)
    said = f"NOTIFY {channel}, '{random.randrange(5)}'"
    return random.choice(
        [
            [f"LISTEN {channel}"],
            [f"LISTEN {channel}"],
            [random.choice([f"UNLISTEN {channel}", "UNLISTEN *"])],
            [said],
            [said],
            [f"SELECT pg_notify('a', (g % 3)::text) FROM generate_series(1, {random.randrange(1, 6)}) g"],
            ["BEGIN"],
            ["COMMIT"],
            ["ROLLBACK"],
            ["SAVEPOINT s", said, "ROLLBACK TO s"],
            ["SAVEPOINT s", f"LISTEN {channel}", "RELEASE s"],
            ["SELECT 1 / 0"],
            [f"{said}; SELECT 1 / 0"],
            [f"{said}; {said}; LISTEN {channel}"],
        ]
    )


@pytest.mark.parametrize("seed", range(4))
def test_everybody_hears_the_same(server: WireServer, postgres_oracle: PostgresOracle, seed: int) -> None:
    random = Random(seed)
    address = {"host": "127.0.0.1", "port": server.port, "user": "root", "dbname": "dev"}
    ours = Sessions(lambda: psycopg.connect(**address, autocommit=True))  # type: ignore[arg-type]
    theirs = Sessions(postgres_oracle.connect)
    for _ in range(STEPS):
        history: list[tuple[int, str]] = []
        for _ in range(random.randrange(1, 15)):
            session = random.randrange(SESSIONS)
            for statement in statements(random):
                history.append((session, statement))
                assert ours.run(session, statement) == theirs.run(session, statement), history
        for session in range(SESSIONS):
            end = random.choice(["COMMIT", "ROLLBACK"])
            history.append((session, end))
            assert ours.run(session, end) == theirs.run(session, end)
            assert ours.channels(session) == theirs.channels(session), history
        assert ours.told() == theirs.told(), history
    for each in (*ours.connections, *theirs.connections):
        each.close()
