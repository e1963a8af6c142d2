"""A job that is set aside goes on in epochs of its own: no change is lost, none comes twice, and it joins again."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable

import pytest

from risingpy.errors import OutOfMemory, QueryCanceled, SqlError
from risingpy.executors.epoch.job_watch import JobTookTooLong
from risingpy.executors.epoch.stage_runner import FragmentFailed
from risingpy.executors.own_pace.messages import StepDone, StepFailed
from risingpy.executors.relation.backfill import ROWS_PER_EPOCH
from risingpy.meta.epochs import backfill_budget, barrier_loop, next_epoch
from risingpy.meta.own_pace.pace import (
    FEWER_ROWS,
    FIRST_REST_SECONDS,
    FIRST_ROWS,
    LEAST_ROWS,
    LONGEST_REST_SECONDS,
    Pace,
    ProcessDied,
)
from tests.meta.conftest import Client, Server

QUERIES = {
    "grouped": "SELECT k, count(*) n, sum(v) s, min(v) low FROM t GROUP BY k",
    "joined": "SELECT t.id, u.id uid, t.v + u.v s FROM t JOIN u ON t.k = u.k",
    "padded": "SELECT t.id, u.v FROM t LEFT JOIN u ON t.k = u.id",
    "best": "SELECT id, v FROM t ORDER BY v DESC, id LIMIT 5",
    "ranked": "SELECT id, row_number() OVER (PARTITION BY k ORDER BY v, id) r FROM t",
    "distinct_keys": "SELECT DISTINCT k FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.k)",
    "dated": "SELECT id, DATE '2024-01-01' + v * INTERVAL '1 day' d FROM t",  # an interval, which pickle cannot write
    "looked_up": "SELECT t.id, u.v FROM t JOIN u FOR SYSTEM_TIME AS OF PROCTIME() ON t.k = u.id",
}
COMPARED = [name for name in QUERIES if name != "looked_up"]  # it does not follow changes of u
SETTLE_SECONDS = 90.0


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + SETTLE_SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def create_tables(client: Client) -> None:
    client.run("CREATE TABLE t (id INT PRIMARY KEY, k INT, v INT); CREATE TABLE u (id INT PRIMARY KEY, k INT, v INT)")


def job_of(server: Server, name: str) -> int:
    relation = server.database.reads.catalog.find(name, "public", ())
    assert relation is not None
    return relation.relation_id


def took_too_long(server: Server, *names: str) -> None:
    """The next epochs find that these views took too long, one after the other, with no other epoch between."""
    jobs = [server.database.reads.state.jobs[job_of(server, name)] for name in names]
    error = JobTookTooLong("its part of an epoch took too long")
    server.runner.faults += [FragmentFailed(job.job_id, job.fragments[0].fragment_id, error) for job in jobs]


def is_set_aside(server: Server, name: str) -> bool:
    return job_of(server, name) in server.database.reads.state.set_aside


def set_aside(server: Server, *names: str) -> None:
    took_too_long(server, *names)
    server.client().run("INSERT INTO t VALUES (0, 0, 0)")
    left = set(names)  # the first may be back before a slow machine has set the last aside

    def each_has_been() -> bool:
        left.difference_update([name for name in left if is_set_aside(server, name)])
        return not left

    until(each_has_been)


def change_something(client: Client, random_: random.Random) -> None:
    table, key = random_.choice("tu"), random_.randrange(40)
    values = f"{random_.randrange(6)}, {random_.randrange(50)}"
    statement = random_.choice(
        [
            f"INSERT INTO {table} VALUES ({key}, {values})",
            f"INSERT INTO {table} SELECT i, i % 5, i FROM generate_series({key}, {key + 12}) i",
            f"UPDATE {table} SET v = v + 1, k = {key % 6} WHERE id % 3 = {key % 3}",
            f"DELETE FROM {table} WHERE id % 4 = {key % 4}",
        ]
    )
    client.run(statement)


def differences(client: Client, views: list[str]) -> dict[str, object]:
    found: dict[str, object] = {}
    for name in views:
        view, query = (sorted(client.run(sql), key=repr) for sql in (f"SELECT * FROM {name}", QUERIES[name]))
        if view != query:
            found[name] = (view, query)
    return found


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_views_that_are_set_aside_equal_their_queries_under_any_changes(server: Server, seed: int) -> None:
    client, random_ = server.client(), random.Random(seed)
    create_tables(client)
    for _ in range(5):
        change_something(client, random_)
    for name, query in QUERIES.items():
        client.run(f"CREATE MATERIALIZED VIEW {name} AS {query}")
    client.run("CREATE MATERIALIZED VIEW above AS SELECT n, count(*) c FROM grouped GROUP BY n")
    set_aside(server, *QUERIES)
    for step in range(25):
        change_something(client, random_)
        if step % 5 == 4:
            assert differences(client, COMPARED) == {}
            above = "SELECT n, count(*) c FROM grouped GROUP BY n"
            assert sorted(client.run("SELECT * FROM above")) == sorted(client.run(above))
        if step == 12:
            server.restart()
            client = server.client()
    assert differences(client, COMPARED) == {}


def test_a_job_joins_the_others_when_it_has_caught_up(server: Server) -> None:
    client = server.client()
    create_tables(client)
    client.run("INSERT INTO t SELECT i, i % 5, i FROM generate_series(1, 50) i")
    client.run(f"CREATE MATERIALIZED VIEW grouped AS {QUERIES['grouped']}")
    set_aside(server, "grouped")
    stop = threading.Event()
    errors: list[BaseException] = []

    def write() -> None:
        mine, key = server.client(), 1000
        try:
            while not stop.is_set():
                key += 1
                mine.run(f"INSERT INTO t VALUES ({key}, {key % 5}, {key})")
        except BaseException as error:
            errors.append(error)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        until(lambda: not is_set_aside(server, "grouped"))
    finally:
        stop.set()
        writer.join()
    assert not errors
    assert differences(client, ["grouped"]) == {}
    relations = server.database.reads.catalog.relations.values()
    assert [each.name for each in relations if each.name.startswith("__kept")] == []
    client.run("INSERT INTO t VALUES (-1, 1, 1); ALTER TABLE t ADD COLUMN w INT; INSERT INTO t VALUES (-2, 1, 1, 1)")
    assert differences(client, ["grouped"]) == {}


def test_a_view_that_takes_too_long_to_create_is_created_aside(
    server: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(next_epoch, "JOB_SECONDS_PER_ROW", 0.0)
    for name in ("TRIED_ROWS", "FIRST_ROWS", "LEAST_ROWS"):  # it would find a number of rows that fits
        monkeypatch.setattr(backfill_budget, name, ROWS_PER_EPOCH)
    monkeypatch.setitem(QUERIES, "slow", "SELECT k, count(*), sum(length(repeat(md5(v::text), 40))) FROM t GROUP BY k")
    client = server.client()
    create_tables(client)
    client.run("INSERT INTO t SELECT i, i % 5, i FROM generate_series(1, 300000) i")
    client.run("ALTER SYSTEM SET job_epoch_ms = 20")
    client.run(f"CREATE MATERIALIZED VIEW slow AS {QUERIES['slow']}")
    assert '"slow" is set aside' in caplog.text  # on a slow machine it may have joined the others by now
    client.run("UPDATE t SET v = v + 1 WHERE id < 100; DELETE FROM t WHERE id > 299990")
    assert differences(client, ["slow"]) == {}
    client.run("ALTER SYSTEM SET job_epoch_ms = 60000")
    until(lambda: not is_set_aside(server, "slow"))
    client.run("INSERT INTO t VALUES (-1, 1, 1)")
    assert differences(client, ["slow"]) == {}


def test_sinks_and_subscriptions_get_what_a_job_hands_over(server: Server) -> None:
    client = server.client()
    create_tables(client)
    client.run(
        f"CREATE MATERIALIZED VIEW grouped AS {QUERIES['grouped']}; CREATE TABLE copy (k BIGINT PRIMARY KEY, n BIGINT)"
    )
    client.run(
        "CREATE SUBSCRIPTION changes FROM grouped WITH (retention = '1h'); DECLARE c SUBSCRIPTION CURSOR FOR changes"
    )
    client.run("CREATE SINK out INTO copy AS SELECT k, n FROM grouped WITH (type = 'upsert', primary_key = 'k')")
    set_aside(server, "grouped")
    client.run("INSERT INTO t VALUES (1, 1, 1), (2, 1, 5)")
    assert sorted(client.run("SELECT k, n FROM grouped")) == [(0, 1), (1, 2)]
    assert sorted(client.run("SELECT * FROM copy")) == [(0, 1), (1, 2)]
    changed = client.run("FETCH 10 FROM c")
    assert {row[0] for row in changed} == {0, 1}


def test_what_is_set_aside_can_be_dropped_and_its_tables_not_altered(server: Server) -> None:
    client = server.client()
    create_tables(client)
    client.run(f"CREATE MATERIALIZED VIEW joined AS {QUERIES['joined']}")
    set_aside(server, "joined")
    client.run("ALTER TABLE t RENAME TO renamed; ALTER TABLE renamed RENAME TO t")  # what is kept for it has no text
    with pytest.raises(SqlError, match='materialized view "joined" is behind'):
        client.run("ALTER TABLE u ADD COLUMN w INT")
    client.run("DROP MATERIALIZED VIEW joined; ALTER TABLE u ADD COLUMN w INT")
    state = server.database.reads.state
    assert (state.set_aside, {r.name for r in state.catalog.relations.values()}) == ({}, {"t", "u"})


def test_a_job_that_fails_at_its_own_pace_fails_alone(server: Server) -> None:
    client = server.client()
    create_tables(client)
    client.run(f"CREATE MATERIALIZED VIEW grouped AS {QUERIES['grouped']}")
    client.run("CREATE MATERIALIZED VIEW wide AS SELECT k, array_agg(repeat('x', v)) FROM t GROUP BY k")
    set_aside(server, "wide")
    client.run("INSERT INTO t SELECT i, 1, 200000 FROM generate_series(1, 20000) i")
    until(lambda: server.database.reads.catalog.find("wide", "public", ()).has_stopped)  # type: ignore[union-attr]
    assert differences(client, ["grouped"]) == {}


def test_a_view_that_is_cancelled_leaves_nothing(server: Server) -> None:
    client = server.client()
    create_tables(client)
    client.run("INSERT INTO t SELECT i, i, i FROM generate_series(1, 20000) i; ALTER SYSTEM SET job_epoch_ms = 200")
    client.run("SET statement_timeout = '2s'")
    began = time.monotonic()
    with pytest.raises(QueryCanceled):
        client.run("CREATE MATERIALIZED VIEW huge AS SELECT count(*) FROM t a JOIN t b ON a.v + b.v % 7 <> a.k * b.k")
    client.run("CREATE MATERIALIZED VIEW small AS SELECT count(*) FROM t")
    assert time.monotonic() - began < 12
    assert client.run("SELECT * FROM small") == [(20000,)]
    assert server.database.reads.state.set_aside == {}


@pytest.fixture
def one_gigabyte(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the server may take. To be asked for before the server."""
    monkeypatch.setenv("RISINGPY_MEMORY", "1GB")


def test_a_row_that_is_too_large_to_be_stored_stops_its_view_by_name(one_gigabyte: None, server: Server) -> None:
    client = server.client()
    create_tables(client)
    client.run("INSERT INTO t SELECT i, 1, i FROM generate_series(1, 500) i")
    with pytest.raises(OutOfMemory, match="out of memory"):
        client.run("CREATE MATERIALIZED VIEW fat AS SELECT k, array_agg(repeat('x', 100000)) FROM t GROUP BY k")


def test_a_job_rests_longer_each_time_it_must_leave() -> None:
    first, fifth, hundredth = (Pace(1, rests) for rests in (1, 5, 100))
    now = time.monotonic()
    assert first.heavy_until - now <= FIRST_REST_SECONDS < fifth.heavy_until - now
    assert hundredth.heavy_until - now <= LONGEST_REST_SECONDS
    first.heavy_until = now
    assert first.may_rejoin
    first.note(StepDone(1, 2, 10, 0.9, True), 1.0)
    assert not first.may_rejoin
    rows = first.most_rows
    first.note(StepDone(1, 2, 10, 100.0, True), 1.0)
    assert first.most_rows == rows // 4 * 2 or first.most_rows < rows


def test_a_view_fails_whose_reader_is_set_aside(server: Server) -> None:
    client = server.client()
    create_tables(client)
    client.run(f"CREATE MATERIALIZED VIEW grouped AS {QUERIES['grouped']}")
    client.run("CREATE MATERIALIZED VIEW above AS SELECT n, count(*) c FROM grouped GROUP BY n")
    client.run(f"CREATE MATERIALIZED VIEW joined AS {QUERIES['joined']}")
    set_aside(server, "above")
    job = server.database.reads.state.jobs[job_of(server, "grouped")]
    server.runner.faults.append(FragmentFailed(job.job_id, job.fragments[0].fragment_id, ValueError("broken")))
    client.run("INSERT INTO t VALUES (1, 1, 1); INSERT INTO u VALUES (1, 1, 1)")
    assert differences(client, ["joined"]) == {}
    state = server.database.reads.state
    relations = state.catalog.relations.values()
    assert {each.name for each in relations if each.has_stopped} == {"grouped", "above"}
    assert (state.set_aside, [each.name for each in relations if each.name.startswith("__kept")]) == ({}, [])


def test_a_job_that_lacks_memory_tries_with_fewer_rows() -> None:
    pace = Pace(1, 1)
    pace.answer = StepFailed(1, 0, SqlError("division by zero"))
    assert not pace.has_lacked_memory
    for answer in (StepFailed(1, 0, OutOfMemory("out of memory")), StepFailed(1, 0, MemoryError()), ProcessDied()):
        pace.answer = answer
        assert pace.has_lacked_memory
    tried = [pace.most_rows]
    while pace.take_fewer_rows():
        tried.append(pace.most_rows)
    assert tried == [FIRST_ROWS, FIRST_ROWS // FEWER_ROWS, LEAST_ROWS]


def test_after_some_spoilt_epochs_a_new_job_that_is_not_plain_begins_by_itself(
    server: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(barrier_loop, "WARY_HALVINGS", 0.1)  # each would need a process of its own
    client = server.client()
    create_tables(client)
    for table in "tu":
        client.run(f"INSERT INTO {table} SELECT i, i % 6, i % 50 FROM generate_series(1, 40) AS i")
    client.run(f"CREATE MATERIALIZED VIEW joined AS {QUERIES['joined']}")
    assert "set aside" not in caplog.text
    set_aside(server, "joined")
    for name in ("grouped", "padded"):
        client.run(f"CREATE MATERIALIZED VIEW {name} AS {QUERIES[name]}")
    assert '"padded" is set aside: it is new' in caplog.text
    assert '"grouped" is set aside' not in caplog.text  # it is plain
    client.run("INSERT INTO t VALUES (100, 1, 2); DELETE FROM u WHERE id = 7")
    assert differences(client, ["grouped", "padded"]) == {}
    until(lambda: not is_set_aside(server, "padded"))
    client.run("INSERT INTO t VALUES (101, 1, 2); DELETE FROM u WHERE id = 8")
    assert differences(client, ["grouped", "padded"]) == {}
