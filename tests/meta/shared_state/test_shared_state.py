"""`--state`: what is acknowledged is in shared storage, and a server's own disk may burn at any time."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pytest

from risingpy.errors import CannotConnectNow, SqlError
from risingpy.executors.epoch.descriptor import state_of
from risingpy.meta.database import Database
from risingpy.meta.recovery.check import check
from risingpy.meta.recovery.rescale import rescale
from risingpy.meta.shared_state import shared_state
from risingpy.meta.writing.dml_log import TableChange
from risingpy.storage.journal.leadership import Fenced
from risingpy.storage.journal.reading import read_version
from risingpy.storage.objects.directory_objects import DirectoryObjects
from risingpy.storage.objects.state_format import IncompatibleState
from tests.meta.conftest import Client
from tests.meta.shared_state.conftest import SharedServers

VIEWS = {
    "totals": "SELECT grp, count(*) AS n, sum(v) AS s, max(v) AS hi FROM t GROUP BY grp",
    "joined": "SELECT t.id, t.v, u.name FROM t JOIN u ON t.grp = u.grp",
    "top": "SELECT id, v FROM t ORDER BY v DESC, id LIMIT 5",
}


def fill(client: Client) -> None:
    client.run("CREATE TABLE t (id BIGINT PRIMARY KEY, grp INT, v INT); CREATE TABLE u (grp INT, name VARCHAR)")
    for name, query in VIEWS.items():
        client.run(f"CREATE MATERIALIZED VIEW {name} AS {query}")
    client.run("INSERT INTO u SELECT g, 'group ' || g FROM generate_series(0, 4) AS s(g)")
    client.run("INSERT INTO t SELECT g, g % 5, g * 7 % 101 FROM generate_series(1, 500) AS s(g)")
    client.run("UPDATE t SET v = v + 1000 WHERE id % 7 = 0; DELETE FROM t WHERE id % 5 = 3")


def answers(client: Client) -> list[list[tuple[object, ...]]]:
    """What views answer, which is what their queries answer."""
    found = []
    for name, query in VIEWS.items():
        rows = sorted(client.run(f"SELECT * FROM {name}"), key=str)
        assert rows == sorted(client.run(query), key=str), name
        found.append(rows)
    return found


def digests(client: Client) -> list[list[tuple[object, ...]]]:
    return [client.run(f"SELECT rw_digest('{name}')") for name in ("t", "u", *VIEWS)]


def test_a_directory_that_burns_is_made_again(servers: SharedServers) -> None:
    client = servers.start("a")
    fill(client)
    before, digest = answers(client), digests(client)
    servers.burn("a")
    client = servers.start("a")
    assert answers(client) == before
    assert digests(client) == digest
    client.run("INSERT INTO t VALUES (1000, 0, 5000)")
    client.run("ALTER TABLE t ADD COLUMN note VARCHAR DEFAULT 'none'")
    before = answers(client)
    servers.burn("a")
    client = servers.start("elsewhere")
    assert answers(client) == before
    assert client.run("SELECT note, count(*) FROM t GROUP BY note") == [("none", 401)]
    servers.stop("elsewhere")
    assert check(servers.root / "elsewhere").problems == ()


def test_rows_that_no_epoch_has_yet_are_not_lost(servers: SharedServers) -> None:
    client = servers.start("a")
    fill(client)
    before = answers(client)
    database = servers.running["a"]
    assert database._loop is not None
    database._loop.stop()  # no epoch any more
    client.run("INSERT INTO t VALUES (1000, 0, 5000)")
    client.run("INSERT INTO t VALUES (1001, 1, 5001), (1002, 2, 5002)")
    servers.burn("a")
    client = servers.start("b")
    client.run("FLUSH")
    assert client.run("SELECT id, v FROM t WHERE id >= 1000 ORDER BY id") == [(1000, 5000), (1001, 5001), (1002, 5002)]
    after = answers(client)
    assert len(after[1]) == len(before[1]) + 3


def test_a_cache_that_is_behind_takes_what_it_lacks(servers: SharedServers) -> None:
    client = servers.start("a")
    fill(client)
    servers.stop("a")
    client = servers.start("b")
    client.run("UPDATE t SET v = -v; DELETE FROM u WHERE grp = 1; DROP MATERIALIZED VIEW top")
    client.run("CREATE MATERIALIZED VIEW top AS SELECT id, v FROM t ORDER BY v DESC, id LIMIT 5")
    before = answers(client)
    servers.stop("b")
    client = servers.start("a")
    assert answers(client) == before
    servers.stop("a")
    for name in "ab":
        assert check(servers.root / name).problems == ()


def test_a_cache_of_epochs_that_never_counted_forgets_them(servers: SharedServers) -> None:
    """The shards have an epoch whose record another server's fence has kept out of the journal."""
    client = servers.start("a")
    fill(client)
    before = answers(client)
    other = servers.start("b")
    database = servers.running["a"]
    with pytest.raises(Fenced):
        client.run("UPDATE t SET v = 0")
    assert isinstance(database.lost, Fenced)
    assert answers(other) == before
    other.run("UPDATE t SET v = v + 1 WHERE id = 2")
    expected = answers(other)
    servers.stop("a")
    servers.stop("b")
    assert answers(servers.start("a")) == expected


def test_the_server_before_answers_nobody(servers: SharedServers) -> None:
    client = servers.start("a")
    fill(client)
    other = servers.start("b")
    with pytest.raises(Fenced) as refused:
        client.run("INSERT INTO t VALUES (5000, 1, 1)")
    assert refused.value.sqlstate == "57P03"
    for statement in ("SELECT count(*) FROM t", "CREATE TABLE other (a INT)", "INSERT INTO u VALUES (1, 'x')"):
        with pytest.raises(CannotConnectNow, match="another server has taken over"):
            client.run(statement)
    with pytest.raises(CannotConnectNow, match="another server has taken over"):
        servers.running["a"].reads.glance(())  # what is read by one key does not wait, and is refused all the same
    assert other.run("SELECT count(*) FROM t WHERE id = 5000") == [(0,)]


def test_numbers_are_used_once(servers: SharedServers) -> None:
    client = servers.start("a")
    client.run("CREATE TABLE n (id BIGINT GENERATED ALWAYS AS IDENTITY, v INT); CREATE TABLE h (v INT)")
    client.run("INSERT INTO n (v) VALUES (1), (2)")
    client.run("INSERT INTO h VALUES (1)")
    servers.burn("a")
    client = servers.start("a")
    client.run("INSERT INTO n (v) VALUES (3); INSERT INTO h VALUES (1)")
    assert client.run("SELECT count(*), count(DISTINCT id) FROM n") == [(3, 3)]
    assert client.run("SELECT count(*) FROM h") == [(2,)]


def test_a_directory_of_its_own_is_not_taken(servers: SharedServers) -> None:
    Database(servers.root / "a", parallelism=2).close()
    with pytest.raises(SqlError, match="has a database of its own") as refused:
        servers.start("a")
    assert refused.value.sqlstate == "55000"
    Database(servers.root / "a", parallelism=2).close()


def test_a_cache_is_not_opened_without_its_state(servers: SharedServers) -> None:
    servers.start("a")
    servers.stop("a")
    for use in (lambda: Database(servers.root / "a", parallelism=2), lambda: rescale(servers.root / "a", 3, print)):
        with pytest.raises(SqlError, match="is a cache of the database in file://") as refused:
            use()
        assert refused.value.hint is not None and f"--state {servers.uri}" in refused.value.hint


def test_a_cache_of_another_database_is_refused(servers: SharedServers, tmp_path: Path) -> None:
    servers.start("a").run("CREATE TABLE t (a INT)")
    servers.stop("a")
    with pytest.raises(IncompatibleState, match="is a cache of another database"):
        Database(servers.root / "a", parallelism=2, state_uri=(tmp_path / "other").as_uri())
    assert servers.start("a").run("SELECT count(*) FROM t") == [(0,)]


def test_state_that_went_back_is_taken_as_it_is(servers: SharedServers, tmp_path: Path) -> None:
    """An operator may put an old copy of the whole state back: the cache is ahead of it, and is renewed."""
    client = servers.start("a")
    client.run("CREATE TABLE t (a INT); INSERT INTO t VALUES (1); FLUSH")
    servers.stop("a")
    shutil.copytree(servers.shared, tmp_path / "copy")
    servers.start("a").run("INSERT INTO t VALUES (2); FLUSH")
    servers.stop("a")
    shutil.rmtree(servers.shared)
    shutil.copytree(tmp_path / "copy", servers.shared)
    client = servers.start("a")
    assert client.run("SELECT a FROM t") == [(1,)]
    client.run("INSERT INTO t VALUES (3); FLUSH")
    assert client.run("SELECT a FROM t ORDER BY a") == [(1,), (3,)]


def test_a_cache_from_before_the_machine_started_is_not_believed(servers: SharedServers) -> None:
    client = servers.start("a")
    fill(client)
    before = answers(client)
    servers.stop("a")
    note = servers.root / "a" / "cache.json"
    stored = json.loads(note.read_text())
    note.write_text(json.dumps({**stored, "boot": "another"}))
    (servers.root / "a" / "meta" / "data.mdb").write_bytes(b"torn by a loss of power")
    (servers.root / "a" / "shards" / "0-of-2" / "data.mdb").write_bytes(b"")
    assert answers(servers.start("a")) == before


def test_two_servers_may_not_have_one_directory(servers: SharedServers) -> None:
    """And the second one must not take the lead before it learns that."""
    client = servers.start("a")
    with pytest.raises(SqlError, match="in use by another server"):
        Database(servers.root / "a", parallelism=2, state_uri=servers.uri)
    client.run("CREATE TABLE t (a INT); INSERT INTO t VALUES (1)")
    assert client.run("SELECT a FROM t") == [(1,)]


def test_large_epochs_have_objects_and_small_ones_have_none(servers: SharedServers) -> None:
    client = servers.start("a")
    client.run("CREATE TABLE t (id BIGINT PRIMARY KEY, v INT); INSERT INTO t VALUES (1, 1); FLUSH")
    objects = DirectoryObjects(servers.shared)
    assert list(objects.list("d/")) == []
    client.run("INSERT INTO t SELECT g, g FROM generate_series(2, 50000) AS s(g); FLUSH")
    named = {delta.name for delta in read_version(objects).deltas if "#" not in delta.name}
    assert named == {found.name for found in objects.list("d/")}
    assert len(named) == 2
    servers.burn("a")
    assert servers.start("a").run("SELECT count(*), sum(v) FROM t") == [(50000, 1250025000)]


def test_the_rows_of_a_large_copy_are_not_lost(servers: SharedServers, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are in pieces beside the journal, which has only their name."""
    monkeypatch.setattr(shared_state, "SPILL_PIECE_BYTES", 100_000)
    client = servers.start("a")
    client.run("CREATE TABLE t (id BIGINT PRIMARY KEY, v INT); FLUSH")
    database = servers.running["a"]
    assert database._loop is not None
    database._loop.stop()
    table = database.reads.catalog.relations[min(database.reads.catalog.relations)]
    spill = database.writes.new_spill()
    for start in (0, 50_000):
        ids = pa.array(range(start, start + 50_000), pa.int64())
        chunk = pa.table({"op": pa.array([1] * len(ids), pa.int8()), "c0": ids, "c1": ids.cast(pa.int32())})
        spill.append(TableChange(table.relation_id, table.version, chunk).record())
    database.writes.write([TableChange(table.relation_id, table.version, spill.finish(), spill)])
    assert len(list(DirectoryObjects(servers.shared).list("p/"))) > 10
    servers.burn("a")
    assert servers.start("b").run("FLUSH; SELECT count(*), sum(id), sum(v) FROM t") == [
        (100_000, 4999950000, 4999950000)
    ]


def test_without_state_nothing_is_told_to_tasks(tmp_path: Path) -> None:
    database = Database(tmp_path / "data", parallelism=2)
    try:
        assert state_of(tmp_path / "data") is None
        assert database.lost is None
    finally:
        database.close()
