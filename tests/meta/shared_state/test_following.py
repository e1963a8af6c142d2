"""`--follow`: servers that only read a database, which another one leads."""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Callable

import pytest

from risingpy.errors import SqlError
from risingpy.meta.database import Database
from risingpy.meta.following import following_loop
from risingpy.storage.objects.state_format import IncompatibleState
from tests.meta.conftest import Client
from tests.meta.shared_state.conftest import SharedServers
from tests.meta.shared_state.test_compaction_of_state import compactor
from tests.meta.shared_state.test_shared_state import answers, digests, fill

_SECONDS = 30.0


def until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + _SECONDS
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def epoch_of(servers: SharedServers, name: str) -> int:
    return servers.running[name].reads.committed_epoch


def settle(servers: SharedServers, leader: Client, follower: Client) -> None:
    """Until the follower has all that the leader's clients have written."""
    leader.run("FLUSH")
    (led,), (read,) = (
        [name for name, each in servers.running.items() if each is client.session.context.database.seen_from(1)]
        for client in (leader, follower)
    )
    until(lambda: epoch_of(servers, read) >= epoch_of(servers, led))


def change(client: Client, chance: random.Random) -> None:
    key = chance.randrange(600)
    client.run(
        chance.choice([
            f"INSERT INTO t SELECT g, g % 5, {key} FROM generate_series({key + 1000}, {key + 1020}) AS s(g)"
            " ON CONFLICT (id) DO NOTHING",
            f"UPDATE t SET v = v + {key} WHERE id % 11 = {key % 11}",
            f"DELETE FROM t WHERE id = {key}",
            f"UPDATE u SET name = 'renamed {key}' WHERE grp = {key % 5}",
        ])
    )  # fmt: skip


def test_a_follower_has_what_the_leader_has(servers: SharedServers) -> None:
    leader = servers.start("a")
    fill(leader)
    follower = servers.follow("f")
    chance = random.Random(1)
    for _ in range(5):
        for _ in range(4):
            change(leader, chance)
        settle(servers, leader, follower)
        assert answers(follower) == answers(leader)
        assert digests(follower) == digests(leader)
    shown = {row[0]: row[1] for row in follower.run("SHOW PARAMETERS")}
    assert 0.0 <= float(str(shown["seconds_behind"])) < _SECONDS
    assert "seconds_behind" not in {row[0] for row in leader.run("SHOW PARAMETERS")}
    servers.stop("f")
    change(leader, chance)
    leader.run("FLUSH")
    assert digests(servers.follow("f")) == digests(leader)  # what it had is not read again
    servers.burn("f")
    assert digests(servers.follow("f")) == digests(leader)


def test_a_follower_sees_changes_of_the_schema(servers: SharedServers) -> None:
    leader = servers.start("a")
    fill(leader)
    follower = servers.follow("f")
    catalog = servers.running["f"].reads.state.catalog
    leader.run("INSERT INTO t VALUES (5000, 1, 1)")
    settle(servers, leader, follower)
    assert servers.running["f"].reads.state.catalog is catalog  # an epoch does not read it again
    leader.run("CREATE SCHEMA s; CREATE TABLE s.x (a INT PRIMARY KEY, b VARCHAR DEFAULT 'd')")
    leader.run("CREATE VIEW s.y AS SELECT a FROM s.x")
    leader.run("INSERT INTO s.x VALUES (1); CREATE INDEX xb ON s.x (b); ALTER TABLE t ADD COLUMN w INT DEFAULT 9")
    leader.run("CREATE USER ann; GRANT USAGE ON SCHEMA s TO ann; COMMENT ON TABLE t IS 'led'")
    settle(servers, leader, follower)
    for sql in (
        "SELECT * FROM s.y", "SELECT * FROM s.x WHERE b = 'd'", "SELECT * FROM t ORDER BY id LIMIT 3",
        "SELECT obj_description('t'::regclass)", "SELECT usename FROM pg_user ORDER BY 1", "SHOW TABLES",
        "SELECT has_schema_privilege('ann', 's', 'USAGE')",
    ):  # fmt: skip
        # COMMENT brings no epoch, so the follower may have the last one and not the comment yet.
        until(lambda sql=sql: follower.run(sql) == leader.run(sql))  # type: ignore[misc]
    leader.run("DROP VIEW s.y; DROP TABLE s.x; DROP MATERIALIZED VIEW top; ALTER TABLE t DROP COLUMN w")
    leader.run("DROP SCHEMA s; DROP USER ann")
    leader.run("CREATE MATERIALIZED VIEW top AS SELECT max(v) AS hi FROM t")
    settle(servers, leader, follower)
    assert follower.run("SELECT * FROM top") == leader.run("SELECT max(v) FROM t")
    with pytest.raises(SqlError, match="does not exist"):
        follower.run("SELECT * FROM s.x")


def test_a_prepared_statement_follows_the_schema(servers: SharedServers) -> None:
    leader = servers.start("a")
    leader.run("CREATE TABLE t (id INT PRIMARY KEY, v INT); INSERT INTO t VALUES (1, 2); FLUSH")
    follower = servers.follow("f")
    follower.run("PREPARE p AS SELECT v FROM t WHERE id = $1")
    assert follower.run("EXECUTE p(1)") == [(2,)]
    leader.run("ALTER TABLE t ADD COLUMN w INT; UPDATE t SET v = 3")
    settle(servers, leader, follower)
    assert follower.run("EXECUTE p(1)") == [(3,)]


REFUSED = {
    "INSERT INTO t VALUES (1, 1, 1)": "INSERT",
    "UPDATE t SET v = 1": "UPDATE",
    "DELETE FROM t": "DELETE",
    "TRUNCATE t": "TRUNCATE",
    "CREATE TABLE x (a INT)": "CREATE TABLE",
    "CREATE TEMP TABLE x (a INT)": "CREATE TABLE",
    "CREATE MATERIALIZED VIEW x AS SELECT 1": "CREATE MATERIALIZED VIEW",
    "DROP TABLE t": "DROP",
    "ALTER TABLE t ADD COLUMN x INT": "ALTER TABLE",
    "ALTER SYSTEM SET job_epoch_ms = 7": "ALTER SYSTEM",
    "SET CONSTRAINTS ALL DEFERRED; CREATE USER bob": "CREATE ROLE",
    "GRANT SELECT ON t TO PUBLIC": "GRANT",
    "COMMENT ON TABLE t IS 'x'": "COMMENT",
    "SELECT * FROM t FOR UPDATE": "SELECT FOR UPDATE",
    "SELECT nextval('n')": "nextval()",
    "BEGIN READ WRITE; INSERT INTO t VALUES (1, 1, 1)": "INSERT",
    "PREPARE p AS DELETE FROM t": "DELETE",
    "EXPLAIN ANALYZE DELETE FROM t": "EXPLAIN",
    "LOCK TABLE t": "LOCK",
    "SUBSCRIBE TO t": "SUBSCRIBE",
    "FLUSH": "FLUSH",
    "VACUUM": "VACUUM",
    "BACKUP TO '/tmp/nowhere'": "BACKUP",
}


def test_a_follower_changes_nothing(servers: SharedServers) -> None:
    leader = servers.start("a")
    leader.run("CREATE TABLE t (id BIGINT PRIMARY KEY, grp INT, v INT); CREATE SEQUENCE n; FLUSH")
    follower = servers.follow("f")
    for sql, what in REFUSED.items():
        with pytest.raises(SqlError, match="in a read-only transaction") as refused:
            follower.run(sql)
        assert refused.value.sqlstate == "25006"
        assert refused.value.message.startswith(f"cannot execute {what} "), sql
        assert "Connect to the server that leads" in (refused.value.hint or "")
        follower.session.fail()
        follower.run("ROLLBACK")
    assert follower.run("SELECT count(*), pg_is_in_recovery() FROM t") == [(0, True)]
    assert follower.run("SHOW transaction_read_only") == [("on",)]


def test_another_leader_is_followed_too(servers: SharedServers) -> None:
    leader = servers.start("a")
    fill(leader)
    follower = servers.follow("f")
    leader = servers.start("b")  # takes the lead
    leader.run("DELETE FROM t WHERE id < 50")
    settle(servers, leader, follower)
    assert answers(follower) == answers(leader)
    servers.stop("b")
    assert follower.run("SELECT count(*) FROM t WHERE id < 50") == [(0,)]  # nobody leads
    servers.stop("f")
    leader = servers.start("f")  # its directory is a cache like others
    assert answers(leader) == answers(leader)


def test_reads_go_on_while_the_storage_does_not_answer(
    servers: SharedServers, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(following_loop, "LONGEST_PAUSE", 0.05)
    leader = servers.start("a")
    fill(leader)
    servers.stop("a")
    follower = servers.follow("f")
    before = answers(follower)
    away = servers.root / "away"
    servers.shared.rename(away)
    servers.shared.write_text("no directory")
    until(lambda: "cannot follow, reads go on" in caplog.text)
    behind = servers.running["f"].seconds_behind
    assert answers(follower) == before
    assert behind is not None
    until(lambda: (servers.running["f"].seconds_behind or 0.0) > behind)
    servers.shared.unlink()
    away.rename(servers.shared)
    leader = servers.start("a")
    leader.run("INSERT INTO t VALUES (7777, 1, 1)")
    settle(servers, leader, follower)
    assert answers(follower) == answers(leader)


def stopped_loop(servers: SharedServers, name: str) -> following_loop.FollowingLoop:
    """A loop in the place of a server's, which is not started."""
    database = servers.running[name]
    loop = database._loop
    assert isinstance(loop, following_loop.FollowingLoop)
    loop.stop()
    parts = ("_followed", "_meta_store", "_states", "_published", "_committer", "_store")
    database._loop = following_loop.FollowingLoop(*(getattr(loop, part) for part in parts))
    return database._loop


def test_deltas_that_a_snapshot_has_replaced_meanwhile_are_taken(servers: SharedServers) -> None:
    leader = servers.start("a")
    fill(leader)
    leader.run("FLUSH")
    follower = servers.follow("f")
    loop = stopped_loop(servers, "f")
    for _ in range(3):
        leader.run("UPDATE t SET v = v + 1; INSERT INTO t SELECT max(id) + 1, 1, 1 FROM t; FLUSH")
    compactor(servers, "a", 2, 1).look()
    leader.run("DELETE FROM t WHERE id < 9; FLUSH")
    loop.start()
    settle(servers, leader, follower)
    assert digests(follower) == digests(leader)


@pytest.mark.parametrize(("deleted", "reason"), [("d", "is missing"), ("j", "has no record after slot")])
def test_a_follower_that_was_away_for_too_long_ends(servers: SharedServers, deleted: str, reason: str) -> None:
    """A vacuum deletes after a day what no version needs: who was away for longer begins with a snapshot."""
    leader = servers.start("a")
    fill(leader)
    leader.run("FLUSH")
    follower = servers.follow("f")
    loop = stopped_loop(servers, "f")
    leader.run("INSERT INTO t SELECT g, g % 5, g FROM generate_series(10000, 30000) AS s(g); FLUSH")
    servers.stop("a")
    servers.start("a")  # a new leader writes a version
    for each in sorted((servers.shared / deleted).iterdir()):
        each.unlink()
    loop.start()
    until(lambda: servers.running["f"].lost is not None)
    lost = servers.running["f"].lost
    assert lost is not None and reason in lost.message
    assert follower.run("SELECT count(*) FROM t WHERE id >= 10000") == [(0,)]


def test_mistakes(servers: SharedServers) -> None:
    with pytest.raises((IncompatibleState, SqlError)):
        servers.follow("f")
    leader = servers.start("a")
    leader.run("CREATE TABLE t (a INT); FLUSH")
    own = Database(servers.root / "own", parallelism=1)
    own.close()
    with pytest.raises(SqlError, match="has a database of its own"):
        servers.follow("own")
    shutil.rmtree(servers.root / "own")
    assert servers.follow("own").run("SELECT * FROM t") == []
