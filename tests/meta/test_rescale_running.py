"""ALTER SYSTEM SET parallelism in a running server, with its state in the data directory and in shared storage."""

from __future__ import annotations

import random
import shutil
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest

from risingpy.errors import SqlError
from risingpy.meta.database import Database
from risingpy.meta.epochs import rescaling
from risingpy.meta.own_pace.set_aside import with_set_aside
from risingpy.meta.recovery.check import check
from risingpy.meta.state import MetaState
from risingpy.storage.engine.shard_store import shards_directory
from risingpy.storage.journal.compaction import merge
from tests.engines import Engine
from tests.meta.conftest import Client, Server
from tests.meta.shared_state.conftest import SharedServers
from tests.meta.shared_state.test_compaction_of_state import compactor
from tests.meta.shared_state.test_following import settle
from tests.meta.test_rescale import answers, changed, fill


class Site(Protocol):
    """A database whose server can be started again."""

    @property
    def database(self) -> Database: ...

    def client(self) -> Client: ...

    def restart(self, *, burnt: bool = False) -> None: ...

    def stop(self) -> None: ...


class OwnSite:
    """In the data directory."""

    def __init__(self, server: Server) -> None:
        self._server = server

    @property
    def database(self) -> Database:
        return self._server.database

    def client(self) -> Client:
        return self._server.client()

    def restart(self, *, burnt: bool = False) -> None:
        self._server.restart()

    def stop(self) -> None:
        if self._server.is_running:
            self._server.stop()


class SharedSite:
    """In shared storage."""

    def __init__(self, servers: SharedServers) -> None:
        self._servers = servers
        servers.start("a")

    @property
    def database(self) -> Database:
        return self._servers.running["a"]

    def client(self) -> Client:
        return Client(self.database)

    def restart(self, *, burnt: bool = False) -> None:
        self._servers.stop("a")
        if burnt:
            shutil.rmtree(self._servers.root / "a")
        self._servers.start("a")

    def stop(self) -> None:
        self._servers.close()


@pytest.fixture(params=["own", "shared"])
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    own = request.param == "own"
    site = OwnSite(Server(tmp_path / "data", Engine())) if own else SharedSite(SharedServers(tmp_path))
    yield site
    site.stop()


def directories(site: Site) -> set[str]:
    return {path.name.rpartition("-")[2] for path in shards_directory(site.database.data_dir).iterdir()}


def test_answers_stay(site: Site) -> None:
    client = site.client()
    fill(client)
    before = answers(client)
    for shards in (3, 2, 1, 8, 2):
        client.run(f"ALTER SYSTEM SET parallelism = {shards}")
        assert site.database.shards == shards
        until(lambda wanted=str(shards): directories(site) == {wanted})
        shown = dict(row[:2] for row in client.run("SHOW PARAMETERS"))
        assert shown["parallelism"] == str(shards) and "wanted_parallelism" not in shown
        assert answers(client) == before
        changed(client)
        client.run("DELETE FROM t WHERE id = 1000")
        before = answers(client)
    for burnt in (False, True):
        site.restart(burnt=burnt)
        assert site.database.shards == 2
        assert answers(site.client()) == before
    changed(site.client())
    directory = site.database.data_dir
    site.stop()
    assert check(directory).problems == ()


def test_readers_of_before_go_on(site: Site) -> None:
    client = site.client()
    fill(client)
    client.run("FLUSH")
    _, held = site.database._published.acquire_view()
    rows = {table: each.rows for table, each in held.statistics().items()}
    client.run("ALTER SYSTEM SET parallelism = 5")
    client.run("DELETE FROM t; FLUSH")
    assert {table: each.rows for table, each in held.statistics().items()} == rows
    assert directories(site) == {"2", "5"}
    client.run("ALTER SYSTEM SET parallelism = 2")  # its names are those of shards that are read
    assert site.database.shards == 5
    assert ("wanted_parallelism", "2") in [row[:2] for row in client.run("SHOW PARAMETERS")]
    client.run("INSERT INTO t VALUES (1, 1, 'one'); FLUSH")
    assert client.run("SELECT c FROM m") == [(1,)]
    held.release()
    until(lambda: directories(site) == {"5"})
    client.run("ALTER SYSTEM SET parallelism = 2")
    assert site.database.shards == 2
    assert client.run("SELECT c FROM m") == [(1,)]


def test_it_waits_for_what_is_being_created(site: Site) -> None:
    client = site.client()
    fill(client)
    client.run("SET background_ddl = true; SET backfill_rate_limit = 0")
    client.run("CREATE MATERIALIZED VIEW slow AS SELECT n, count(*) AS c FROM t GROUP BY n")
    client.run("ALTER SYSTEM SET parallelism = 4")
    assert site.database.shards == 2
    client.run("ALTER MATERIALIZED VIEW slow SET backfill_rate_limit = DEFAULT; WAIT")
    until(lambda: site.database.shards == 4)
    assert sorted(client.run("SELECT * FROM slow")) == sorted(client.run("SELECT n, c FROM m"))
    client.run("DELETE FROM t WHERE n = 3; FLUSH")
    assert sorted(client.run("SELECT * FROM slow")) == sorted(client.run("SELECT n, c FROM m"))


def until(holds: Any) -> None:
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_move_that_fails_changes_nothing(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    client = site.client()
    fill(client)
    before = answers(client)

    def fail(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(rescaling, "copy_rows", fail)
        client.run("ALTER SYSTEM SET parallelism = 4")
    assert site.database.shards == 2
    assert answers(client) == before
    changed(client)
    client.run("ALTER SYSTEM SET parallelism = 3")
    assert site.database.shards == 3
    with pytest.raises(SqlError, match="invalid value"):
        client.run("ALTER SYSTEM SET parallelism = 0")


def test_writers_and_readers_meanwhile(site: Site) -> None:
    """Every statement that was answered counts once, and every view equals its query, whatever is moved meanwhile."""
    client = site.client()
    client.run("CREATE TABLE t (id INT PRIMARY KEY, n INT, name VARCHAR)")
    client.run("CREATE MATERIALIZED VIEW m AS SELECT n, count(*) AS c, max(id) AS last FROM t GROUP BY n")
    client.run("CREATE MATERIALIZED VIEW pairs AS SELECT t.id, m.last FROM t JOIN m ON t.n = m.n")
    client.run("CREATE SUBSCRIPTION s FROM m WITH (retention = '1 hour')")
    over, failures, written = threading.Event(), list[BaseException](), [0, 0]

    def write(number: int) -> None:
        own, chance = site.client(), random.Random(number)
        try:
            while not over.is_set():
                key = 10_000 * number + written[number]
                own.run(f"INSERT INTO t VALUES ({key}, {key % 7}, 'x')")
                written[number] += 1
                if chance.random() < 0.2:
                    own.run(f"UPDATE t SET name = name || 'y' WHERE id = {key}")
        except BaseException as error:
            failures.append(error)

    def read() -> None:
        own = site.client()
        try:
            while not over.is_set():
                (row,) = own.run("SELECT (SELECT sum(c) FROM m) IS NOT DISTINCT FROM (SELECT sum(1) FROM t)")
                assert row == (True,)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in (0, 1)]
    threads.append(threading.Thread(target=read))
    for thread in threads:
        thread.start()
    try:
        for shards in (3, 1, 4, 2, 3):
            time.sleep(0.3)
            client.run(f"ALTER SYSTEM SET parallelism = {shards}")
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert not failures
    client.run("FLUSH")
    assert client.run("SELECT count(*) FROM t") == [(sum(written),)]
    assert sorted(client.run("SELECT * FROM m")) == sorted(client.run("SELECT n, count(*), max(id) FROM t GROUP BY n"))
    assert_kept(client, "s", "m")


def assert_kept(client: Client, subscription: str, view: str) -> None:
    """What a subscription has kept, on the shards of every layout, adds up to the view."""
    client.run(f"DECLARE c SUBSCRIPTION CURSOR FOR {subscription} SINCE BEGIN()")
    total: Counter[tuple[Any, ...]] = Counter()
    while rows := client.run("FETCH 1000 FROM c"):
        for n, c, last, op, *_ in rows:
            total[n, c, last] += 1 if op in ("Insert", "UpdateInsert") else -1
    assert {row for row, count in total.items() if count} == set(client.run(f"SELECT * FROM {view}"))
    assert set(total.values()) <= {0, 1}


def test_jobs_at_their_own_pace_begin_anew(site: Site) -> None:
    client = site.client()
    fill(client)
    client.run("FLUSH")
    job_id = next(
        key for key, each in site.database.reads.catalog.relations.items() if getattr(each, "name", "") == "pairs"
    )
    database = site.database

    def aside(state: MetaState) -> MetaState:
        after = with_set_aside(state, job_id, "a test")
        assert after is not None
        return after

    database.ddl.change(aside)
    client.run("UPDATE t SET n = n + 1 WHERE id % 2 = 0")
    client.run("ALTER SYSTEM SET parallelism = 3")
    assert database.shards == 3
    client.run("DELETE FROM t WHERE id < 20; FLUSH")
    until(
        lambda: (
            sorted(client.run("SELECT * FROM pairs"))
            == sorted(client.run("SELECT t.id, m.last FROM t JOIN m ON t.id > m.last"))
        )
    )


def test_a_compaction_meanwhile_is_not_of_the_new_shards(tmp_path: Path) -> None:
    """What the compactor has written of the shards of before comes into the journal after the others."""
    servers = SharedServers(tmp_path)
    try:
        client = servers.start("a")
        fill(client)
        client.run("FLUSH")
        compact = compactor(servers, "a", 2, 1)
        due = compact._due()
        entry = compact._snapshot(due.tables, due.mentioned)
        assert entry.tables and due.merges
        client.run("ALTER SYSTEM SET parallelism = 3")
        before = answers(client)
        for each in due.merges:
            compact._journal.append(merge(compact._journal.objects, each))
        compact._journal.append(entry)
        compact.look()
        follower = servers.follow("f")
        settle(servers, client, follower)
        assert answers(follower) == before
        servers.burn("a")
        assert answers(servers.start("b")) == before
    finally:
        servers.close()
