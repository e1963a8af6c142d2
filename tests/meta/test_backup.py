"""BACKUP TO and `risingpy restore`: one epoch, while clients write."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from click.testing import CliRunner

from risingpy.cli import main
from risingpy.errors import Check, SqlError
from risingpy.meta.durable_state import RowIds
from risingpy.meta.recovery.backup import NOTE, _PinnedDatabase, restore
from risingpy.meta.recovery.check import check
from tests.meta.conftest import Client, Server


def test_a_backup_under_load_is_of_one_epoch(server: Server, tmp_path: Path) -> None:
    client = server.client()
    client.run("CREATE TABLE t (id INT PRIMARY KEY, n INT)")
    client.run("CREATE MATERIALIZED VIEW m AS SELECT n, count(*) AS c FROM t GROUP BY n")
    stop, acknowledged = threading.Event(), [0]

    def write() -> None:
        writer, number = server.client(), 0
        while not stop.is_set():
            # Pairs, so that half of a statement would show.
            writer.run(f"INSERT INTO t VALUES ({number}, {number % 3}), ({number + 1}, {number % 3})")
            number += 2
            acknowledged[0] = number

    thread = threading.Thread(target=write)
    thread.start()
    try:
        while acknowledged[0] < 40:
            pass
        known = acknowledged[0]
        client.run(f"BACKUP TO '{tmp_path / 'copy'}'")
    finally:
        stop.set()
        thread.join()
    server.stop()
    restore(tmp_path / "copy", tmp_path / "restored")
    assert check(tmp_path / "restored").problems == ()
    server.data_dir = tmp_path / "restored"
    server.start()
    client = server.client()
    client.run("FLUSH")  # the log that was copied behind the epoch runs again
    ((rows,),) = client.run("SELECT count(*) FROM t")
    assert isinstance(rows, int) and rows >= known and rows % 2 == 0
    assert client.run("SELECT count(*), min(id), max(id) FROM t") == [(rows, 0, rows - 1)]
    recomputed = client.run("SELECT n, count(*) FROM t GROUP BY n ORDER BY n")
    assert client.run("SELECT * FROM m ORDER BY n") == recomputed
    client.run("INSERT INTO t VALUES (-1, 0)")
    assert client.run("SELECT count(*) FROM t") == [(rows + 1,)]


def test_rows_that_come_while_it_copies_are_not_in_it(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their numbers and values of a sequence are given after the meta store is pinned, so they come again."""
    monkeypatch.setattr(RowIds, "BLOCK", 4)
    client = server.client()
    client.run("CREATE TABLE t (a INT)")
    client.run("CREATE TABLE s (id SERIAL PRIMARY KEY, a INT)")
    client.run("CREATE MATERIALIZED VIEW m AS SELECT count(*), sum(a) FROM t")
    copies = _PinnedDatabase.copy_to

    def copy_to(self: _PinnedDatabase, target: Path, check: Check) -> None:
        _insert(client, 100)
        copies(self, target, check)

    monkeypatch.setattr(_PinnedDatabase, "copy_to", copy_to)
    _insert(client, 3)
    server.client().run(f"BACKUP TO '{tmp_path / 'copy'}'")
    server.stop()
    restore(tmp_path / "copy", tmp_path / "restored")
    server.data_dir = tmp_path / "restored"
    server.start()
    client = server.client()
    _insert(client, 200)
    client.run("FLUSH")
    expected = [(203, 3 + sum(range(200)))]
    for relation in ("t", "s"):
        assert client.run(f"SELECT count(*), sum(a) FROM {relation}") == expected
    assert client.run("SELECT * FROM m") == expected


def _insert(client: Client, rows: int) -> None:
    for number in range(rows):
        client.run(f"INSERT INTO t VALUES ({number})")
        client.run(f"INSERT INTO s (a) VALUES ({number})")


def test_what_is_there_is_not_overwritten(server: Server, tmp_path: Path) -> None:
    client = server.client()
    for path, sqlstate in ((tmp_path, "58P02"), (Path("relative"), "42602"), (Path("/proc/none"), "58030")):
        with pytest.raises(SqlError) as caught:
            client.run(f"BACKUP TO '{path}'")
        assert caught.value.sqlstate == sqlstate
    client.run(f"BACKUP TO '{tmp_path / 'copy'}'")
    with pytest.raises(SqlError, match="not an empty directory"):
        client.run(f"BACKUP TO '{tmp_path / 'copy'}'")
    with pytest.raises(SqlError, match="is not empty"):
        restore(tmp_path / "copy", server.data_dir)


def test_a_backup_that_did_not_end_is_none(server: Server, tmp_path: Path) -> None:
    server.client().run(f"BACKUP TO '{tmp_path / 'copy'}'")
    (tmp_path / "copy" / NOTE).unlink()
    result = CliRunner().invoke(main, ["restore", str(tmp_path / "copy"), "--data-dir", str(tmp_path / "new")])
    assert result.exit_code == 1
    assert "not a whole backup" in result.output


def test_the_command(server: Server, tmp_path: Path) -> None:
    server.client().run("CREATE TABLE t (id INT)")
    server.client().run(f"BACKUP TO '{tmp_path / 'copy'}'")
    result = CliRunner().invoke(main, ["restore", str(tmp_path / "copy"), "--data-dir", str(tmp_path / "new")])
    assert result.exit_code == 0, result.output
    assert result.output.endswith(": no problems\n")
