"""`test_kill` with shared storage: the server dies at any moment, its disk burns, or another server takes over.

The next server has the directory of the one before, an empty one, or that of the one before that. Nothing
acknowledged is lost, nothing is invented, and all views are right.
"""

from __future__ import annotations

import os
import random
import shutil
import threading
import time
from pathlib import Path

import pytest

from risingpy.server_process import ServerProcess
from tests.crash.test_kill import SEED, VIEWS, Alterer, Client, check

ROUNDS = int(os.environ.get("RISINGPY_CRASH_ROUNDS", "2"))
FATES = ("taken over", "burnt", "other", "kept")
POINTS = ("journal.put", "journal.acknowledge", "object.link", "object.sync", "shard.committed", "meta.commit")


class Machines:
    """Directories of servers that share the state."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.name = 0

    def start(self, fault: str = "") -> ServerProcess:
        environ = {**os.environ, "RISINGPY_FAULT_POINTS": fault}
        flags = ("--state", (self.root / "shared").as_uri(), "--secret-key-file", str(self.root / "key"))
        return ServerProcess(self.root / str(self.name), engine="inprocess", flags=flags, environ=environ)


@pytest.mark.timeout(120 + 60 * ROUNDS)
def test_nothing_is_lost_when_servers_and_disks_go(tmp_path: Path) -> None:
    chance = random.Random(SEED)
    clients = [Client(number, random.Random(SEED * 10 + number)) for number in range(2)]
    alterer = Alterer(random.Random(SEED))
    everyone: list[Client | Alterer] = [*clients, alterer]
    machines = Machines(tmp_path)
    server = machines.start()
    servers = [server]
    try:
        with server.connect() as connection:
            connection.execute("CREATE TABLE t (id BIGINT PRIMARY KEY, grp INT, v INT)")
            for name, query in VIEWS.items():
                connection.execute(f"CREATE MATERIALIZED VIEW {name} AS {query}")
        for number in range(ROUNDS):
            fate = FATES[number % len(FATES)]
            threads = [threading.Thread(target=each.run, args=(server,)) for each in everyone]
            for thread in threads:
                thread.start()
            # A server with a fault may end by itself before. Its fault comes after the puts that `check` makes.
            time.sleep(chance.uniform(0.05, 2.0))
            if fate != "taken over":
                server.kill()
            if fate == "burnt":
                shutil.rmtree(tmp_path / str(machines.name))
            elif fate in ("other", "taken over"):
                machines.name = 1 - machines.name
            fault = f"{chance.choice(POINTS)}=kill@{chance.randrange(40, 120)}" if chance.random() < 0.7 else ""
            before, server = server, machines.start(fault)
            servers.append(server)
            for thread in threads:
                thread.join()
            if fate == "taken over":
                assert before.process.wait(30) in (1, -9), "the server before must end by itself"
            check(server, clients, alterer)
        assert all(each.acknowledged for each in everyone)
    finally:
        for each in servers:
            each.kill()
