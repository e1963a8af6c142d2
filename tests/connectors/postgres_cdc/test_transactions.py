"""Whole transactions, under load and through kill -9: nothing is torn, lost or repeated."""

from __future__ import annotations

import os
import random
import threading
import time
from pathlib import Path

import psycopg
import pytest

from risingpy.server_process import ServerProcess
from tests.connectors.postgres_cdc.transfers import TABLES, TOTAL, VIEW, Transfers, make_bank
from tests.connectors.postgres_cdc.upstream import Upstream, until_equal
from tests.meta.conftest import Server

ROUNDS = int(os.environ.get("RISINGPY_CRASH_ROUNDS", "2"))
SEED = int(os.environ.get("RISINGPY_CRASH_SEED", "1"))


@pytest.mark.on_spark
def test_no_view_sees_a_torn_transaction(server: Server, upstream: Upstream) -> None:
    make_bank(upstream)
    client = server.client()
    client.run(upstream.source())
    writer = Transfers(upstream, SEED)
    writer.start()
    seen = set()
    try:
        for name in TABLES:
            client.run(f"CREATE TABLE {name} (*) FROM pg TABLE 'public.{name}'")
        client.run(VIEW)
        end = time.monotonic() + 6
        while time.monotonic() < end:
            [(total, moved, noted)] = client.run("SELECT * FROM balance")
            assert (total, moved) == (TOTAL, noted)
            seen.add(moved)
    finally:
        writer.stop()
    assert len(seen) > 5
    for name in TABLES:
        query = f"SELECT * FROM {name} ORDER BY id"
        until_equal(client.run, query, upstream.run(query))


def watch_until_it_dies(server: ServerProcess, torn: list[object], seen: set[object]) -> None:
    """Reads the view again and again; keeps what no whole transaction leaves."""
    try:
        with server.connect() as connection:
            while True:
                [(total, moved, noted)] = connection.execute("SELECT * FROM balance").fetchall()
                seen.add(moved)
                if (total, moved) != (TOTAL, noted):
                    torn.append((total, moved, noted))
    except psycopg.Error:
        return  # the server was killed


@pytest.mark.parametrize("on_spark", [False, pytest.param(True, marks=[pytest.mark.slow, pytest.mark.timeout(1800)])])
def test_kills_lose_and_repeat_nothing(tmp_path: Path, upstream: Upstream, on_spark: bool) -> None:
    """A server that was just started runs its epochs itself; with `on_spark` Spark has them before each kill."""
    make_bank(upstream)
    chance, writer = random.Random(SEED), Transfers(upstream, SEED)
    torn: list[object] = []
    seen: set[object] = set()
    engine = "spark" if on_spark else "inprocess"
    for number in range(ROUNDS):
        server = ServerProcess(tmp_path / "data", engine=engine)
        try:
            if number == 0:
                with server.connect() as connection:
                    connection.execute(upstream.source())
                    writer.start()
                    for name in TABLES:
                        connection.execute(f"CREATE TABLE {name} (*) FROM pg TABLE 'public.{name}'")
                    connection.execute(VIEW)
            if on_spark:
                server.wait_for_spark()
            watcher = threading.Thread(target=watch_until_it_dies, args=(server, torn, seen))
            watcher.start()
            time.sleep(chance.uniform(0.3, 3.0))
        finally:
            server.kill()
        watcher.join()
    time.sleep(0.5)
    writer.stop()
    assert not torn and len(seen) > ROUNDS
    server = ServerProcess(tmp_path / "data", engine=engine)
    try:
        with server.connect() as connection:
            for name in TABLES:
                query = f"SELECT * FROM {name} ORDER BY id"
                until_equal(lambda sql: connection.execute(sql).fetchall(), query, upstream.run(query))
            assert connection.execute("SELECT total, moved - noted FROM balance").fetchall() == [(TOTAL, 0)]
            assert connection.execute("SELECT * FROM rw_catalog.rw_source_errors").fetchall() == []
    finally:
        assert server.stop() == 0
