"""Rescaling: the same answers before it, after it, and if it is killed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from risingpy.cli import main
from risingpy.errors import SqlError
from risingpy.meta.durable_state import DurableState, with_status
from risingpy.meta.epochs.rescaling import Rescaling
from risingpy.meta.recovery import rescale as rescale_module
from risingpy.meta.recovery.check import check
from risingpy.meta.recovery.rescale import rescale
from risingpy.plan.catalog import JobStatus
from risingpy.storage.engine.meta_store import MetaStore
from risingpy.storage.engine.shard_store import ShardStore, shards_directory
from tests.meta.conftest import Client, Server
from tests.meta.test_passing_time import eventually

QUERIES = (
    "SELECT * FROM t ORDER BY id",
    "SELECT * FROM m ORDER BY n",
    "SELECT * FROM one",
    "SELECT * FROM constants ORDER BY 1",
    "SELECT * FROM above ORDER BY 1",
    "SELECT * FROM pairs ORDER BY 1, 2",
    "SELECT * FROM alone ORDER BY 1",
)


def fill(client: Client) -> None:
    client.run("CREATE TABLE t (id INT PRIMARY KEY, n INT, name VARCHAR)")
    client.run("CREATE TABLE gone (id INT PRIMARY KEY)")
    client.run("CREATE MATERIALIZED VIEW m AS SELECT n, count(*) AS c, max(id) AS last FROM t GROUP BY n")
    client.run("CREATE MATERIALIZED VIEW one AS SELECT sum(c) AS total, max(last) AS last FROM m")
    client.run("CREATE MATERIALIZED VIEW constants AS VALUES (1), (2)")
    client.run("CREATE MATERIALIZED VIEW above AS SELECT id, (SELECT avg(id) FROM t) AS mean FROM t WHERE n > 2")
    client.run("CREATE MATERIALIZED VIEW pairs AS SELECT t.id, m.last FROM t JOIN m ON t.id > m.last")
    client.run("CREATE MATERIALIZED VIEW alone AS SELECT id FROM t LEFT JOIN constants c ON t.id < c.column1 - 3")
    rows = ", ".join(f"({i}, {i % 7}, '{'x' * (i % 900)}')" for i in range(300))
    client.run(f"INSERT INTO t VALUES {rows}")
    client.run("INSERT INTO gone VALUES (1), (2)")
    client.run("FLUSH")
    client.run("DROP TABLE gone")
    client.run("UPDATE t SET n = 3 WHERE id % 5 = 0")


def answers(client: Client) -> list[Any]:
    return [client.run(query) for query in QUERIES]


def changed(client: Client) -> list[Any]:
    """What comes after more changes: the state behind the views must have moved too."""
    client.run("DELETE FROM t WHERE id > 290")
    client.run("INSERT INTO t VALUES (1000, 3, 'new')")
    client.run("CREATE MATERIALIZED VIEW again AS SELECT n, count(*) AS c, max(id) AS last FROM t GROUP BY n")
    assert client.run("SELECT rw_digest('again') = rw_digest('m')") == [(True,)]
    client.run("DROP MATERIALIZED VIEW again")
    return answers(client)


@pytest.mark.parametrize("shards", [1, 2, 3, 8])
def test_answers_stay(server: Server, shards: int) -> None:
    client = server.client()
    fill(client)
    before = answers(client)
    server.stop()
    said: list[str] = []
    rescale(server.data_dir, shards, said.append)
    assert check(server.data_dir).problems == ()
    server.start()
    assert server.database.shards == shards
    assert len(list(shards_directory(server.data_dir).iterdir())) == shards
    client = server.client()
    assert answers(client) == before
    after = changed(client)
    server.stop()
    rescale(server.data_dir, 2, said.append)
    server.start()
    assert answers(server.client()) == after


class Killed(BaseException):
    pass


def killed_in_fill(monkeypatch: pytest.MonkeyPatch) -> None:
    real = ShardStore.fill
    calls = 0

    def fill_some(self: ShardStore, batch: Any) -> None:
        nonlocal calls
        calls += 1
        if calls > 4:
            raise Killed
        real(self, batch)

    monkeypatch.setattr(ShardStore, "fill", fill_some)


def killed_before_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    def commit(*_: object, **__: object) -> None:
        raise Killed

    monkeypatch.setattr(DurableState, "commit", commit)


def killed_before_the_old_shards_go(monkeypatch: pytest.MonkeyPatch) -> None:
    real, calls = rescale_module.remove_other_shards, 0

    def remove(data_dir: Path, shards: int) -> None:
        nonlocal calls
        calls += 1
        if calls > 1:
            raise Killed
        real(data_dir, shards)

    monkeypatch.setattr(rescale_module, "remove_other_shards", remove)


@pytest.mark.parametrize("kill", [killed_in_fill, killed_before_commit, killed_before_the_old_shards_go])
def test_killed_on_the_way(
    server: Server, kill: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    client = server.client()
    fill(client)
    before = answers(client)
    server.stop()
    with monkeypatch.context() as patched:
        kill(patched)
        with pytest.raises(Killed):
            rescale(server.data_dir, 5, lambda line: None)
    assert check(server.data_dir).problems == ()
    server.start()
    assert server.database.shards == (5 if kill is killed_before_the_old_shards_go else 2)
    assert len(list(shards_directory(server.data_dir).iterdir())) == server.database.shards
    assert answers(server.client()) == before
    changed(server.client())


def test_alter_system(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    client = server.client()
    fill(client)
    before = answers(client)
    with monkeypatch.context() as patched:
        patched.setattr(Rescaling, "is_due", lambda *_: False)  # as while something is being created
        client.run("ALTER SYSTEM SET parallelism = 4")
        assert ("wanted_parallelism", "4") in client.run("SHOW PARAMETERS")
        server.stop()
    server.start()
    client = server.client()
    assert server.database.shards == 4
    assert answers(client) == before
    with monkeypatch.context() as patched:
        patched.setattr(Rescaling, "is_due", lambda *_: False)
        client.run("ALTER SYSTEM SET parallelism TO 2")
        client.run("ALTER SYSTEM SET parallelism TO DEFAULT")
        server.stop()
    server.start()
    assert server.database.shards == 4
    for value in ("0", "257", "many", "'-1'"):
        with pytest.raises(SqlError) as caught:
            server.client().run(f"ALTER SYSTEM SET parallelism TO {value}")
        assert caught.value.sqlstate == "22023"
    with pytest.raises(SqlError, match='unrecognized system parameter "barrier_interval_ms"'):
        server.client().run("ALTER SYSTEM SET barrier_interval_ms TO 100")


def test_an_index_that_is_being_filled_begins_anew(server: Server) -> None:
    """Its table may have had it before a change of a type made it anew: a restart must not take the rule away."""
    client = server.client()
    client.run("CREATE TABLE t (id INT PRIMARY KEY, a INT UNIQUE, b INT)")
    client.run("CREATE TABLE r (a INT REFERENCES t (a))")
    client.run("INSERT INTO t SELECT i, i, i FROM generate_series(1, 100) i; INSERT INTO r VALUES (5); FLUSH")
    server.stop()
    store = MetaStore(server.data_dir)
    stored = DurableState(store).load(2)
    [index] = [each for each in stored.catalog.relations.values() if each.name == "t_a_key"]
    DurableState(store).commit(stored, with_status(stored, index.relation_id, JobStatus.CREATING))
    store.close()
    rescale(server.data_dir, 3, lambda line: None)
    server.start()
    client = server.client()
    for statement, sqlstate in (("INSERT INTO t VALUES (101, 7, 0)", "23505"), ("DELETE FROM t WHERE a = 5", "23503")):
        with pytest.raises(SqlError) as refused:
            client.run(statement)
        assert refused.value.sqlstate == sqlstate
    eventually(client, "SELECT count(*) FROM rw_ddl_progress", [(0,)], seconds=60)
    assert not server.database.reads.catalog.relations[index.relation_id].is_being_created
    assert client.run("SELECT id FROM t WHERE a = 70") == [(70,)]


def test_the_command(server: Server, tmp_path: Path) -> None:
    fill(server.client())
    running = CliRunner().invoke(main, ["rescale", "--data-dir", str(server.data_dir), "--parallelism", "3"])
    assert running.exit_code == 1
    assert "in use by another server" in running.output
    server.stop()
    result = CliRunner().invoke(main, ["rescale", "--data-dir", str(server.data_dir), "--parallelism", "3"])
    assert result.exit_code == 0, result.output
    assert "from 2 to 3 shards" in result.output
    server.start()
    nothing = CliRunner().invoke(main, ["rescale", "--data-dir", str(tmp_path / "no"), "--parallelism", "3"])
    assert nothing.exit_code == 1
    assert "no data directory" in nothing.output
