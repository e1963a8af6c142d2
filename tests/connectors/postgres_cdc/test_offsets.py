"""The source's offset through whatever else happens to a data directory."""

from __future__ import annotations

from pathlib import Path

from risingpy.meta.recovery.backup import restore
from tests.connectors.postgres_cdc.upstream import Upstream, follow, until
from tests.meta.conftest import Server

COUNT = "SELECT count(*), sum(id) FROM t"


def test_a_rescale_keeps_the_offset(server: Server, upstream: Upstream) -> None:
    upstream.run("CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t SELECT generate_series(1, 100)")
    client = follow(server, upstream, "t")
    upstream.run("INSERT INTO t SELECT generate_series(101, 200)")
    client.run("FLUSH; ALTER SYSTEM SET parallelism = 3")
    server.restart()
    client = server.client()
    upstream.run("DELETE FROM t WHERE id % 2 = 0")
    until(lambda: client.run("SELECT failure FROM rw_catalog.rw_source_lag WHERE position IS NOT NULL") == [(None,)])
    assert client.run(f"FLUSH; {COUNT}") == upstream.run(COUNT)


def test_a_backup_that_the_slot_has_left_behind_says_so(server: Server, upstream: Upstream, tmp_path: Path) -> None:
    """What PostgreSQL has forgotten since is lost to it: it stands still, and does not leave that out silently."""
    upstream.run("CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1)")
    client = follow(server, upstream, "t")
    client.run(f"BACKUP TO '{tmp_path / 'copy'}'")
    upstream.run("INSERT INTO t VALUES (2)")
    assert client.run(f"FLUSH; {COUNT}") == [(2, 3)]
    server.stop()
    restore(tmp_path / "copy", tmp_path / "restored")
    server.data_dir = tmp_path / "restored"
    server.start()
    client = server.client()
    until(lambda: client.run("SELECT failure FROM rw_catalog.rw_source_lag WHERE failure IS NOT NULL"))
    [(failure,)] = client.run("SELECT failure FROM rw_catalog.rw_source_lag")
    assert "was moved on to" in failure
    assert client.run(COUNT) == [(1, 1)]
