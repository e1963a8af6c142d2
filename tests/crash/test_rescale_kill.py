"""kill -9 at any step of a move to another number of shards, in a real server, again and again until it is done."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import psycopg
import pytest

from risingpy.server_process import ServerProcess
from tests.crash.test_kill import SEED, VIEWS
from tests.crash.test_state_kill import Machines

ROUNDS = int(os.environ.get("RISINGPY_CRASH_ROUNDS", "2"))
STEPS = {  # how often each is reached at the most until the state is moved: some of it by the server's start
    "object.write": 20,
    "object.link": 20,
    "object.sync": 20,
    "store.name": 5,
    "journal.put": 4,
    "journal.acknowledge": 4,
    "meta.commit": 4,
}


def answers(server: ServerProcess) -> list[object]:
    """What the views have, which is what their queries give."""
    with server.connect() as connection:
        found: list[object] = []
        for name, query in VIEWS.items():
            rows = sorted(connection.execute(f"SELECT * FROM {name}").fetchall())
            assert rows == sorted(connection.execute(query).fetchall()), name
            found.append(rows)
        return found


def killed_moving(machines: Machines, chance: random.Random, wanted: int) -> tuple[ServerProcess, int]:
    """A server after others that died while they moved the state, and how many did. Their disks burn sometimes."""
    died = 0
    for _ in range(2):  # the first one is asked for the move; the next one finds that it is wanted, or that it is done
        server = None
        try:
            step = chance.choice(list(STEPS))
            server = machines.start(f"{step}=kill@{chance.randrange(1, STEPS[step] + 1)}")
            with server.connect() as connection:
                connection.execute(f"ALTER SYSTEM SET parallelism = {wanted}")
        except (RuntimeError, psycopg.OperationalError):
            died += 1
        if server is not None:
            server.kill()
        if chance.random() < 0.3:
            shutil.rmtree(machines.root / str(machines.name), ignore_errors=True)
    return machines.start(), died


@pytest.mark.timeout(120 + 60 * ROUNDS)
def test_killed_at_every_step(tmp_path: Path) -> None:
    chance = random.Random(SEED)
    machines, shards, killed = Machines(tmp_path), 2, 0
    server = machines.start()
    try:
        with server.connect() as connection:
            connection.execute("CREATE TABLE t (id BIGINT PRIMARY KEY, grp INT, v INT)")
            for name, query in VIEWS.items():
                connection.execute(f"CREATE MATERIALIZED VIEW {name} AS {query}")
        for number in range(ROUNDS):
            with server.connect() as connection:
                connection.execute(
                    f"INSERT INTO t SELECT g, g % 7, g % 11 - 4 FROM generate_series({number}000, {number}500) AS s(g)"
                )
                connection.execute("UPDATE t SET v = v + 1 WHERE id % 3 = 0")
            before, wanted = answers(server), chance.choice([each for each in range(1, 6) if each != shards])
            server.kill()
            server, died = killed_moving(machines, chance, wanted)
            killed += died
            with server.connect() as connection:
                shown = dict(row[:2] for row in connection.execute("SHOW PARAMETERS"))
            assert shown["parallelism"] in (str(shards), str(wanted)) and "wanted_parallelism" not in shown
            shards = int(shown["parallelism"])
            assert answers(server) == before
    finally:
        server.kill()
    assert killed
