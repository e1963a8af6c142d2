"""Rows that still hold dropped columns are rewritten without them, in the background, and nothing else changes."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from risingpy.executors.epoch import task as epoch_task
from risingpy.meta.epochs.committer import Committer
from risingpy.meta.epochs.runner import EpochFailed
from tests.meta.conftest import Client, Server

ROWS = 3000


@pytest.fixture
def client(server: Server, monkeypatch: pytest.MonkeyPatch) -> Client:
    monkeypatch.setattr(epoch_task, "COMPACTED_ROWS_PER_EPOCH", 400)
    client = server.client()
    client.run("CREATE TABLE t (id int PRIMARY KEY, a int, wide varchar, b int)")
    values = ", ".join(f"({i}, {i % 7}, '{'w' * 100}{i}', {i})" for i in range(ROWS))
    client.run(f"INSERT INTO t VALUES {values}")
    client.run("CREATE MATERIALIZED VIEW m AS SELECT a, count(*) AS n, sum(b) AS s FROM t GROUP BY a")
    client.run("CREATE INDEX i ON t (a)")
    client.run("FLUSH")
    return client


def finished(server: Server) -> None:
    deadline = time.monotonic() + 30
    while server.database.reads.state.compactions:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def value_bytes(client: Client) -> int:
    [(found,)] = client.run(
        "SELECT total_value_size FROM rw_catalog.rw_table_stats s JOIN rw_catalog.rw_tables t "
        "ON s.id = t.id WHERE t.name = 't'"
    )
    return int(found)


def check(client: Client) -> None:
    assert client.run("SELECT count(*), sum(b), min(id), max(id) FROM t") == [(ROWS, sum(range(ROWS)), 0, ROWS - 1)]
    assert sorted(client.run("SELECT * FROM m")) == sorted(
        client.run("SELECT a, count(*) AS n, sum(b) AS s FROM t GROUP BY a")
    )
    assert len(client.run("SELECT * FROM t WHERE a = 3")) == len(client.run("SELECT 1 FROM t WHERE a + 0 = 3"))


@pytest.mark.on_spark
def test_dropped_columns_leave_the_rows(server: Server, client: Client) -> None:
    before = value_bytes(client)
    client.run("ALTER TABLE t DROP COLUMN wide")
    finished(server)
    assert value_bytes(client) < before / 3
    rows = client.run("SELECT name, status, examined_rows, total_rows, rewritten_rows FROM rw_catalog.rw_compactions")
    assert ("t", "FINISHED", ROWS, ROWS, ROWS) in rows
    assert ("i", "FINISHED", ROWS, ROWS, ROWS) in rows
    check(client)
    server.restart()
    check(server.client())


def test_only_drops_cause_a_compaction(server: Server, client: Client) -> None:
    client.run("ALTER TABLE t ADD COLUMN c int DEFAULT 4")
    client.run("ALTER TABLE t RENAME COLUMN c TO d")
    client.run("ALTER TABLE t ALTER COLUMN d TYPE varchar")
    assert not server.database.reads.state.compactions
    assert client.run("SELECT * FROM rw_catalog.rw_compactions") == []


def test_columns_of_every_history_survive(server: Server, client: Client) -> None:
    client.run("ALTER TABLE t ADD COLUMN c int DEFAULT 4")
    client.run("UPDATE t SET c = NULL WHERE id = 5")
    client.run("UPDATE t SET c = 6 WHERE id = 6")
    client.run("ALTER TABLE t ALTER COLUMN c TYPE varchar")
    client.run("INSERT INTO t VALUES (7, 0, 'x', 7, 'seven'), (8, 1, 'x', 8, NULL)")
    before = client.run("SELECT id, a, b, c FROM t ORDER BY id")
    client.run("ALTER TABLE t DROP COLUMN wide")
    finished(server)
    assert client.run("SELECT id, a, b, c FROM t ORDER BY id") == before


def test_writers_go_on_meanwhile(server: Server, client: Client) -> None:
    client.run("ALTER TABLE t DROP COLUMN wide")
    for number in range(20):
        client.run(f"UPDATE t SET b = b + 1 WHERE id % 20 = {number}")
        client.run(f"DELETE FROM t WHERE id = {number}")
        client.run(f"INSERT INTO t VALUES ({number}, {number % 7}, {number})")
    client.run("UPDATE t SET b = id")
    finished(server)
    check(client)


def test_an_epoch_that_fails_in_between_is_tried_again(server: Server, client: Client) -> None:
    server.runner.faults.extend([EpochFailed("first"), EpochFailed("second")])
    client.run("ALTER TABLE t DROP COLUMN wide")
    client.run("UPDATE t SET b = id")
    finished(server)
    check(client)


@pytest.mark.in_process_only
def test_a_crash_at_any_step_loses_nothing(
    server: Server, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copies: list[Path] = []
    original = Committer.commit_epoch

    def copied(self: Any, *arguments: Any) -> None:
        copies.append(tmp_path / f"crash{len(copies)}")
        shutil.copytree(server.data_dir, copies[-1])
        original(self, *arguments)

    monkeypatch.setattr(Committer, "commit_epoch", copied)
    client.run("ALTER TABLE t DROP COLUMN wide")
    client.run("UPDATE t SET b = id")
    finished(server)
    monkeypatch.undo()
    monkeypatch.setattr(epoch_task, "COMPACTED_ROWS_PER_EPOCH", 400)
    assert len(copies) > 3
    for directory in copies:
        crashed = Server(directory)
        try:
            found = crashed.client()
            finished(crashed)
            check(found)
        finally:
            crashed.stop()
