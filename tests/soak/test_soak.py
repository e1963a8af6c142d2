"""`make soak` runs this for an hour on Spark, with 200 connections; `make test` for half a minute, with 40."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from risingpy.server_process import HOST, ServerProcess
from tests.abuse.campaign import memory_of_tree
from tests.consistency.histories import SETUP as REGISTERS
from tests.consistency.histories import Connection, History, HistoryClient
from tests.soak.mixed_work import SETUP, MixedClient, Told
from tests.soak.resources import Resources, resources_of

SECONDS = float(os.environ.get("RISINGPY_SOAK_SECONDS", "0"))
ROUND_SECONDS = 60 if SECONDS else 12
ROUNDS = max(2, int(SECONDS / ROUND_SECONDS))
CLIENTS = 200 if SECONDS else 40
CHECKERS = 4
PAUSE = CLIENTS / 120  # so that all of them begin 120 acts a second
KILLS_EVERY = 12.0  # seconds: a process that the server has started
SETTLES = 45.0  # seconds for what has ended to be gone


@pytest.mark.timeout(240 + 2 * int(SECONDS))
def test_nothing_grows_and_no_answer_is_wrong(tmp_path: Path) -> None:
    server = ServerProcess(tmp_path / "data", engine="spark" if SECONDS else "inprocess")
    try:
        if SECONDS:
            server.wait_for_spark()
        with server.connect() as connection:
            _execute(connection, SETUP)
        acts, errors, first = Counter[str](), list[str](), None
        for number in range(ROUNDS):
            told = _round(server, number)
            acts += told.acts
            errors += told.errors
            now = _settled(server, first)
            print(f"round {number}: {now}, {sum(acts.values())} acts", flush=True)
            first = first or now
        assert errors == []
        assert len(acts) >= 10
        assert first is not None
        assert first.grown(now) == {}
        assert server.process.poll() is None
    finally:
        server.kill()


def _round(server: ServerProcess, number: int) -> Told:
    """Some time of everything, in which a checker looks for stale reads and lost writes."""
    port = server.port

    def connect() -> Connection:
        return psycopg.connect(host=HOST, port=port, user="root", dbname="dev", autocommit=True, connect_timeout=30)

    with server.connect() as connection:
        _execute(connection, REGISTERS)
    told, history, stop = Told(), History(), threading.Event()
    clients = [MixedClient(connect, told, 1000 * number + k, pause=PAUSE) for k in range(CLIENTS)]
    checkers = [HistoryClient(connect, history, 1000 * number + k) for k in range(CHECKERS)]
    killer = threading.Thread(target=_kill_now_and_then, args=(server.process.pid, stop, number), daemon=True)
    everybody: list[MixedClient | HistoryClient] = [*clients, *checkers]
    for thread in (*everybody, killer):
        thread.start()
    time.sleep(ROUND_SECONDS)
    stop.set()
    for client in everybody:
        client.stopping.set()
    for client in everybody:
        client.join(60)
    assert not any(client.is_alive() for client in everybody), "a client waits for ever"
    with server.connect() as connection:
        row = connection.execute("SELECT n FROM counter").fetchone()
        assert row is not None
        history.check(int(str(row[0])))
        _execute(connection, "DROP TABLE register CASCADE; DROP TABLE account CASCADE; DROP TABLE counter")
    return told


def _kill_now_and_then(pid: int, stop: threading.Event, seed: int) -> None:
    """Kills processes that the server has started. It starts others, and nobody gets an error."""
    chance = random.Random(seed)
    while not stop.wait(KILLS_EVERY):
        others = [int(named.split()[0]) for named in memory_of_tree(pid)][1:]
        if others:
            with suppress(ProcessLookupError):
                os.kill(chance.choice(others), signal.SIGKILL)


def _settled(server: ServerProcess, first: Resources | None) -> Resources:
    """What the server has when nobody works any more and everything is written; at the latest after SETTLES."""
    with server.connect() as connection:
        connection.execute("FLUSH")
    measure: Callable[[], Resources] = lambda: resources_of(server.process.pid, server.data_dir)  # noqa: E731
    end = time.monotonic() + SETTLES
    time.sleep(2)
    while first is not None and first.grown(now := measure()) and time.monotonic() < end:
        time.sleep(1)
    return measure() if first is None else now


def _execute(connection: Connection, statements: str) -> None:
    for statement in statements.split(";"):
        connection.execute(statement.encode())
