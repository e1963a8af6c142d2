"""RECOVER starts again what has failed, with all that it reads, and what has failed with it."""

from __future__ import annotations

import threading

import pytest

from risingpy.errors import InsufficientPrivilege, QueryCanceled, SqlError, WrongObjectType
from risingpy.executors.epoch import task
from risingpy.executors.epoch.descriptor import EpochDescriptor
from risingpy.executors.epoch.stage_runner import FragmentFailed
from risingpy.plan.catalog import JobStatus
from tests.meta.conftest import Client, Server
from tests.meta.own_pace.test_set_aside import QUERIES, create_tables, differences, job_of, until

ABOVE = "SELECT n, count(*) c FROM grouped GROUP BY n"
BOTH = "SELECT j.id, g.n FROM joined j JOIN grouped g ON g.k = j.s"


def status(server: Server, name: str) -> JobStatus:
    relation = server.database.reads.catalog.relations[job_of(server, name)]
    return relation.status  # type: ignore[union-attr]


def fault_of(server: Server, name: str) -> FragmentFailed:
    job = server.database.reads.state.jobs[job_of(server, name)]
    return FragmentFailed(job.job_id, job.fragments[0].fragment_id, SqlError("broken"))


def fail(server: Server, *names: str) -> None:
    """Has the next epochs fail in these jobs, and waits until they have stopped."""
    server.runner.faults += [fault_of(server, name) for name in names]
    server.client().run("INSERT INTO t VALUES (-100, 0, 0)")
    until(lambda: all(status(server, name) is JobStatus.FAILED for name in names))


def same(client: Client, view: str, query: str) -> bool:
    return sorted(client.run(f"SELECT * FROM {view}"), key=repr) == sorted(client.run(query), key=repr)


@pytest.fixture
def client(server: Server) -> Client:
    """With views in layers, an index, a plain view and a sink, all over tables with rows."""
    client = server.client()
    create_tables(client)
    client.run("INSERT INTO t SELECT i, i % 5, i FROM generate_series(1, 3000) i")
    client.run("INSERT INTO u SELECT i, i % 900, i FROM generate_series(1, 1000) i")
    for name in ("grouped", "joined", "ranked"):
        client.run(f"CREATE MATERIALIZED VIEW {name} AS {QUERIES[name]}")
    client.run("CREATE INDEX by_s ON grouped (s)")
    client.run(f"CREATE MATERIALIZED VIEW above AS {ABOVE}; CREATE MATERIALIZED VIEW twice AS {BOTH}")
    client.run("CREATE VIEW plain AS SELECT k, s FROM grouped")
    client.run("CREATE TABLE copy (k BIGINT PRIMARY KEY, n BIGINT)")
    client.run("CREATE SINK out INTO copy AS SELECT k, n FROM grouped WITH (type = 'upsert', primary_key = 'k')")
    return client


def all_agree(client: Client) -> bool:
    plain = same(client, "plain", "SELECT k, sum(v) s FROM t GROUP BY k")
    copied = same(client, "copy", "SELECT k, count(*) n FROM t GROUP BY k")
    by_index = client.run("SELECT k FROM grouped WHERE s = (SELECT max(s) FROM grouped)")
    layered = same(client, "above", ABOVE) and same(client, "twice", BOTH) and len(by_index) == 1
    return differences(client, ["grouped", "joined", "ranked"]) == {} and plain and copied and layered


def test_a_failed_view_is_recovered_with_all_that_reads_it(server: Server, client: Client) -> None:
    fail(server, "grouped")
    assert status(server, "ranked") is JobStatus.CREATED
    client.run(
        "UPDATE t SET v = v + 7 WHERE id % 3 = 0; DELETE FROM t WHERE id % 11 = 0; INSERT INTO t VALUES (0, 3, 3)"
    )
    names = ("grouped", "above", "twice", "by_s", "out", "plain")
    assert {status(server, name) for name in names} == {JobStatus.FAILED}
    client.run("RECOVER MATERIALIZED VIEW grouped")
    assert {status(server, name) for name in names} == {JobStatus.CREATED}
    assert server.database.reads.state.stopped == {}
    assert all_agree(client)
    client.run("UPDATE t SET k = k + 1 WHERE id % 7 = 0; DELETE FROM u WHERE id < 100")
    assert all_agree(client)
    client.run("CREATE MATERIALIZED VIEW anew AS " + QUERIES["grouped"])
    assert client.run("SELECT rw_digest('anew')") == client.run("SELECT rw_digest('grouped')")


def test_everything_is_recovered_also_after_a_restart(server: Server, client: Client) -> None:
    fail(server, "grouped", "joined")
    server.restart()
    client = server.client()
    client.run("DELETE FROM t WHERE id % 4 = 0")
    client.run("RECOVER")
    assert all_agree(client)
    client.run("INSERT INTO t VALUES (1000000, 1, 1)")
    server.restart()
    assert all_agree(server.client())


def test_a_recovery_goes_on_after_the_server_was_stopped_in_it(server: Server, client: Client) -> None:
    fail(server, "grouped")
    held = [SqlError("hold")]  # epochs that fail otherwise are tried again: the recovery cannot get on
    server.runner.faults += held * 1000
    recovered = server.database.recovery
    relation = server.database.reads.catalog.relations[job_of(server, "grouped")]
    from risingpy.meta.schema.recovering import recover

    recovered._changes.apply(lambda state: recover(state, [relation])[0])
    assert status(server, "grouped") is JobStatus.RECOVERING
    (row,) = [row for row in client.run("SHOW JOBS") if row[0] == str(relation.relation_id)]
    assert row[3].startswith("recovers after a failure")
    with pytest.raises(SqlError, match='materialized view "grouped" is being recovered'):
        client.run("SELECT * FROM grouped")
    with pytest.raises(SqlError, match='view "plain" is being recovered'):
        client.run("SELECT * FROM plain")
    with pytest.raises(SqlError, match='materialized view "grouped" is being recovered'):
        client.run("RECOVER MATERIALIZED VIEW grouped")
    server.restart()
    until(lambda: server.database.reads.state.stopped == {} and status(server, "twice") is JobStatus.CREATED)
    until(lambda: status(server, "out") is JobStatus.CREATED)
    assert all_agree(server.client())


def test_what_fails_again_has_no_rows_and_can_be_recovered_once_more(server: Server, client: Client) -> None:
    fail(server, "grouped")
    prepared = client.session.prepare(client.session.split("SELECT * FROM grouped")[0], ())
    job = server.database.reads.state.stopped[job_of(server, "grouped")]

    def fails_again(descriptor: object) -> None:
        if job.job_id in server.database.reads.state.jobs:
            server.runner.before = None
            raise FragmentFailed(job.job_id, job.fragments[0].fragment_id, SqlError("still wrong"))

    server.runner.before = fails_again
    with pytest.raises(SqlError, match="still wrong"):
        client.run("RECOVER MATERIALIZED VIEW grouped")
    assert status(server, "grouped") is status(server, "above") is JobStatus.UNRECOVERED
    with pytest.raises(SqlError, match="has failed again while it was recovered: it has no rows"):
        client.run("SELECT * FROM grouped")
    with pytest.raises(SqlError, match="has failed again while it was recovered: it has no rows"):
        client.session.execute(prepared, ())
    client.session.fail()
    client.run("RECOVER")
    assert all_agree(client)


def test_a_recovery_that_is_cancelled_ends(server: Server, client: Client) -> None:
    fail(server, "grouped")
    server.runner.faults += [SqlError("hold")] * 100000
    client.run("SET statement_timeout = '300ms'")
    with pytest.raises(QueryCanceled):
        client.run("RECOVER MATERIALIZED VIEW grouped")
    until(lambda: status(server, "grouped") is JobStatus.UNRECOVERED)
    server.runner.faults.clear()
    client.run("SET statement_timeout = 0")
    client.run("RECOVER")
    assert all_agree(client)


def test_a_table_is_altered_and_dropped_under_a_failed_view(server: Server, client: Client) -> None:
    fail(server, "grouped", "joined")
    client.run("ALTER TABLE u ADD COLUMN w INT; ALTER TABLE t RENAME TO t2; ALTER TABLE t2 RENAME TO t")
    with pytest.raises(SqlError, match="because other objects depend on it"):
        client.run("ALTER TABLE u DROP COLUMN v")
    client.run("RECOVER")
    assert all_agree(client)
    fail(server, "grouped")
    client.run("DROP MATERIALIZED VIEW grouped CASCADE")
    assert server.database.reads.state.stopped == {}


def test_recover_says_what_it_cannot_do(server: Server, client: Client) -> None:
    client.run("RECOVER")  # nothing has failed: a notice
    with pytest.raises(SqlError, match='materialized view "grouped" has not failed'):
        client.run("RECOVER MATERIALIZED VIEW grouped")
    with pytest.raises(SqlError, match='relation "nothing" does not exist'):
        client.run("RECOVER nothing")
    with pytest.raises(WrongObjectType, match='"grouped" is not a sink'):
        client.run("RECOVER SINK grouped")
    with pytest.raises(SqlError, match='table "t" has not failed'):
        client.run("RECOVER t")
    fail(server, "grouped")
    with pytest.raises(
        SqlError, match='cannot recover materialized view "above": materialized view "grouped" has failed'
    ):
        client.run("RECOVER MATERIALIZED VIEW above")
    client.run("CREATE USER other; SET ROLE other")
    with pytest.raises(InsufficientPrivilege, match="must be owner of materialized view grouped"):
        client.run("RECOVER MATERIALIZED VIEW grouped")
    client.run("RECOVER")
    assert status(server, "grouped") is JobStatus.FAILED  # it belongs to somebody else
    client.run("RESET ROLE; RECOVER")
    assert all_agree(client)


def test_what_is_dropped_is_a_job_until_its_rows_are_gone(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task, "PURGED_ROWS", 100)
    monkeypatch.setattr(task, "BUSY_PURGE_SECONDS", 0.0)
    monkeypatch.setattr(task, "QUIET_PURGE_SECONDS", 0.0)
    client = server.client()
    create_tables(client)
    client.run("INSERT INTO t SELECT i, i % 5, i FROM generate_series(1, 30000) i")
    client.run(f"CREATE MATERIALIZED VIEW grouped AS {QUERIES['grouped']}")
    held, dropped = threading.Event(), job_of(server, "t")

    def hold(descriptor: EpochDescriptor) -> None:
        if dropped in descriptor.purge:
            held.wait(60)

    server.runner.before = hold
    client.run("DROP TABLE t CASCADE")
    shown = {row[1]: row[3] for row in client.run("SHOW JOBS")}
    assert shown["DROP TABLE public.t"] == "30000 rows left to delete"
    assert "DROP MATERIALIZED VIEW public.grouped" in shown
    server.runner.before = None
    held.set()
    server.restart()
    client = server.client()
    left = [row[3] for row in client.run("SHOW JOBS") if row[1] == "DROP TABLE public.t"]
    assert left != ["30000 rows left to delete"]
    until(lambda: client.run("SHOW JOBS") == [])
