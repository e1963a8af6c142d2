"""Tables WITH (ttl = …): rows end by the clock, and views, indexes and state follow."""

from __future__ import annotations

import random

import pytest

from risingpy.executors.epoch.operator_tree import FragmentEpoch
from risingpy.executors.watermark import aging_rows
from risingpy.executors.watermark.oldest_rows import OldestRows
from tests.meta.conftest import Client, Server
from tests.meta.test_passing_time import eventually
from tests.meta.test_watermarks import relation
from tests.meta.times_of_rows.test_retention import FastClock

TABLE = "CREATE TABLE t (id INT PRIMARY KEY, v INT) WITH (ttl = '{} seconds')"
JOINED = "SELECT t.id, u.id AS other, t.v FROM t JOIN u ON t.v = u.v"
GROUPED = "SELECT v % 5 AS k, count(*) AS n, max(id) AS m, array_agg(id ORDER BY id) AS s FROM t GROUP BY v % 5"


def state_rows(server: Server, client: Client, name: str) -> int:
    """How many rows the state tables of a relation's job have, without the relation itself."""
    tables = server.database.reads.state.jobs[relation(server, name).relation_id].state_tables
    internal = [table.name for table in tables if table.name.startswith("__internal")]
    return sum(int(str(client.run(f"SELECT count(*) FROM {each}")[0][0])) for each in internal)


@pytest.mark.on_spark
def test_rows_end_although_nothing_comes_and_views_follow(server: Server) -> None:
    client = server.client()
    client.run(TABLE.format(2))
    client.run("CREATE MATERIALIZED VIEW seen AS SELECT v % 2 AS k, count(*) AS n, max(v) AS m FROM t GROUP BY v % 2")
    client.run("CREATE INDEX by_v ON t (v)")
    client.run("INSERT INTO t SELECT g, g FROM generate_series(1, 1000) g")
    client.run("FLUSH")
    eventually(client, "SELECT count(*) FROM t", [(0,)])
    assert client.run("SELECT * FROM seen") == []
    assert client.run("SELECT count(*) FROM by_v") == [(0,)]
    assert state_rows(server, client, "t") == 0
    client.run("INSERT INTO t VALUES (7, 7)")
    assert client.run("SELECT * FROM seen") == [(1, 1, 7)]


def written(client: Client, chance: random.Random, model: dict[int, tuple[int, int]], hour: int) -> None:
    """One statement on t, and on the model, which has the value and the hour of each key's last change."""
    kind, bound = chance.random(), chance.randrange(40)
    if kind < 0.6 or not model:
        rows = {key: chance.randrange(20) for key in chance.sample(range(40), chance.randrange(1, 8))}
        client.run(f"INSERT INTO t VALUES {', '.join(f'({key}, {v})' for key, v in rows.items())}")
        # A write that changes nothing does not renew a row.
        model.update({key: (v, hour) for key, v in rows.items() if model.get(key, (None,))[0] != v})
    elif kind < 0.8:
        client.run(f"UPDATE t SET v = v + 1 WHERE id < {bound}")
        model.update({key: (v + 1, hour) for key, (v, _) in model.items() if key < bound})
    else:
        client.run(f"DELETE FROM t WHERE id > {bound}")
        for key in [key for key in model if key > bound]:
            del model[key]


@pytest.mark.parametrize("seed", range(3))
def test_random_changes(server: Server, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """A model says what has ended; views made before the data and after it equal their queries."""
    chance, clock, model = random.Random(seed), FastClock(monkeypatch), dict[int, tuple[int, int]]()
    client = server.client()
    client.run(TABLE.format(16200))
    client.run("CREATE TABLE u (id INT PRIMARY KEY, v INT)")
    client.run("INSERT INTO u SELECT g, g FROM generate_series(0, 15) g")
    for name, query in (("joined", JOINED), ("grouped", GROUPED)):
        client.run(f"CREATE MATERIALIZED VIEW {name} AS {query}")
    for step in range(20):
        if step == 12:
            server.restart()
            client = server.client()
            client.run(f"CREATE MATERIALIZED VIEW late AS {JOINED}")
        clock.hours += chance.choice((1, 1, 2, 4))
        client.run("INSERT INTO u VALUES (100, 100)")  # an epoch at this hour, which ends rows
        client.run("FLUSH")
        model = {key: row for key, row in model.items() if clock.hours - row[1] < 4.5}
        written(client, chance, model, clock.hours)
        client.run("FLUSH")
        assert sorted(client.run("SELECT id, v FROM t")) == sorted((key, v) for key, (v, _) in model.items())
        for name, query in (("joined", JOINED), ("grouped", GROUPED), *((("late", JOINED),) if step > 12 else ())):
            assert sorted(client.run(f"SELECT * FROM {name}")) == sorted(client.run(query)), name
    assert state_rows(server, client, "t") == 2 * len(model)


def test_state_stays_bounded_over_a_month(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys that never come again: a table, a join, groups and window functions keep what two days have brought."""
    clock = FastClock(monkeypatch)
    client = server.client()
    client.run(TABLE.format(2 * 86400))
    client.run("CREATE TABLE u (id INT PRIMARY KEY, t INT) WITH (ttl = '2 days')")
    client.run("CREATE MATERIALIZED VIEW joined AS SELECT t.v, u.id FROM t LEFT JOIN u ON t.id = u.t")
    client.run("CREATE MATERIALIZED VIEW grouped AS SELECT v, max(id) AS m, count(DISTINCT id) AS n FROM t GROUP BY v")
    client.run("CREATE MATERIALIZED VIEW ranked AS SELECT id, rank() OVER (PARTITION BY v ORDER BY id) AS r FROM t")
    most = 0
    for step in range(2 * 31):
        clock.hours += 12
        first = 20 * step
        client.run(f"INSERT INTO t SELECT g, g / 3 FROM generate_series({first}, {first + 19}) g")
        client.run(f"INSERT INTO u SELECT g, g FROM generate_series({first}, {first + 19}, 2) g")
        client.run("FLUSH")
        if step % 10 == 9:
            most = max(
                most, sum(state_rows(server, client, name) for name in ("t", "u", "joined", "grouped", "ranked"))
            )
    # 80 to 100 rows of t, half as many of u: twice in the tables' own state, once to four times in that of each view.
    assert most <= 1200
    assert client.run("SELECT count(*) FROM t")[0][0] <= 100
    assert client.run("SELECT count(*) FROM joined") == client.run("SELECT count(*) FROM t")


def test_each_epoch_ends_so_many_rows_at_most(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aging_rows, "ENDED_ROWS_PER_EPOCH", 10)
    client = server.client()
    client.run(TABLE.format(1))
    client.run("INSERT INTO t SELECT g, g FROM generate_series(1, 50) g")
    client.run("FLUSH")
    eventually(client, "SELECT count(*) FROM t", [(0,)], seconds=20)


def test_alter_ends_rows_earlier_and_columns_change(server: Server) -> None:
    client = server.client()
    client.run(TABLE.format(86400))
    client.run("INSERT INTO t VALUES (1, 1), (2, 2)")
    client.run("ALTER TABLE t ADD COLUMN w INT DEFAULT 5")
    client.run("CREATE MATERIALIZED VIEW seen AS SELECT sum(w) AS w FROM t")
    client.run("INSERT INTO t VALUES (3, 3, 6)")
    assert client.run("SELECT w FROM seen") == [(16,)]
    client.run("ALTER TABLE t SET (ttl = '1 second')")
    eventually(client, "SELECT count(*) FROM t", [(0,)])
    assert client.run("SELECT w FROM seen") == [(None,)]
    ((_, definition),) = client.run("SHOW CREATE TABLE t")
    assert definition.endswith("PRIMARY KEY (id)) WITH (ttl = '1 seconds')"), definition


def test_rows_without_a_key_of_their_own(server: Server) -> None:
    client = server.client()
    client.run("CREATE TABLE t (v INT) WITH (ttl = '1 second')")
    client.run("INSERT INTO t VALUES (1), (1), (2)")
    client.run("UPDATE t SET v = 3 WHERE v = 2")
    eventually(client, "SELECT count(*) FROM t", [(0,)])


def test_a_table_gets_a_ttl_and_loses_it(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that are there count as written when the ttl is added; readers and keys stay as they are."""
    monkeypatch.setattr(aging_rows, "_NOTED_AT_ONCE", 16)
    clock = FastClock(monkeypatch)
    client = server.client()
    client.run("CREATE TABLE t (id INT PRIMARY KEY, v INT)")
    client.run("CREATE INDEX by_v ON t (v)")
    client.run("INSERT INTO t SELECT g, g % 7 FROM generate_series(1, 100) g")
    client.run("CREATE MATERIALIZED VIEW seen AS SELECT v, count(*) AS n FROM t GROUP BY v")
    clock.hours += 100
    client.run("ALTER TABLE t SET (ttl = '10 hours')")
    client.run("INSERT INTO t VALUES (0, 0)")  # an epoch at this hour
    client.run("FLUSH")
    server.restart()
    client = server.client()
    clock.hours += 6
    client.run("UPDATE t SET v = 8 WHERE id BETWEEN 1 AND 5")
    client.run("DELETE FROM t WHERE id > 90")
    client.run("INSERT INTO t VALUES (1000, 9)")
    client.run("FLUSH")
    assert client.run("SELECT count(*), sum(n)::int FROM t, (SELECT sum(n) AS n FROM seen) s") == [(92, 92 * 92)]
    assert state_rows(server, client, "t") == 2 * 92
    clock.hours += 4
    client.run("INSERT INTO t VALUES (1001, 9)")
    client.run("FLUSH")
    assert sorted(client.run("SELECT id FROM t")) == [(i,) for i in (1, 2, 3, 4, 5, 1000, 1001)]
    assert sorted(client.run("SELECT * FROM seen")) == [(8, 5), (9, 2)]
    assert client.run("SELECT count(*) FROM by_v") == [(7,)]
    client.run("ALTER TABLE t RESET (ttl)")
    assert "ttl" not in str(client.run("SHOW CREATE TABLE t"))
    clock.hours += 100
    client.run("INSERT INTO t VALUES (1002, 9)")
    client.run("FLUSH")
    assert client.run("SELECT count(*) FROM t") == [(8,)]
    client.run("ALTER TABLE t SET (ttl = '1 hour')")
    client.run("DELETE FROM t WHERE id = 1")
    client.run("FLUSH")
    clock.hours += 2
    client.run("INSERT INTO t VALUES (1003, 9)")
    client.run("FLUSH")
    eventually(client, "SELECT id FROM t", [(1003,)])


def test_an_added_ttl_ends_rows_although_nothing_comes(server: Server) -> None:
    client = server.client()
    client.run("CREATE TABLE t (v INT)")
    client.run("INSERT INTO t SELECT * FROM generate_series(1, 100)")
    client.run("FLUSH")
    client.run("ALTER TABLE t SET (ttl = 1)")
    eventually(client, "SELECT count(*) FROM t", [(0,)])


def test_an_altered_ttl_is_undone_with_its_transaction(server: Server) -> None:
    client = server.client()
    client.run("CREATE TABLE t (id INT PRIMARY KEY)")
    client.run("INSERT INTO t VALUES (1)")
    for statement in ("BEGIN", "ALTER TABLE t SET (ttl = 1)", "INSERT INTO t VALUES (2)", "ROLLBACK"):
        client.run(statement)
    assert "ttl" not in str(client.run("SHOW CREATE TABLE t"))
    for statement in ("BEGIN", "ALTER TABLE t SET (ttl = 1)", "INSERT INTO t VALUES (2)", "COMMIT"):
        client.run(statement)
    eventually(client, "SELECT count(*) FROM t", [(0,)])


def test_epochs_look_for_old_rows_only_when_the_oldest_has_aged(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = list[int]()
    look = OldestRows.look

    def counted(known: OldestRows, epoch: FragmentEpoch) -> bool:
        looks.append(epoch.shard)
        return look(known, epoch)

    monkeypatch.setattr(OldestRows, "look", counted)
    clock, client = FastClock(monkeypatch), server.client()
    client.run(TABLE.format(36000))
    client.run("CREATE TABLE u (id INT PRIMARY KEY)")
    client.run("INSERT INTO t SELECT g, g FROM generate_series(1, 100) g")
    client.run("FLUSH")
    client.run("INSERT INTO u VALUES (-1)")
    client.run("FLUSH")
    looks.clear()
    for k in range(6):
        clock.hours += 1
        client.run(f"INSERT INTO u VALUES ({k})")
        client.run(f"INSERT INTO t VALUES ({k + 1000}, 0)")
        client.run("FLUSH")
    assert not looks
    clock.hours += 4
    client.run("INSERT INTO u VALUES (100)")
    client.run("FLUSH")
    assert looks
    assert client.run("SELECT count(*), min(id) FROM t") == [(6, 1000)]


def test_after_a_rescale_rows_end_that_were_on_another_shard(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest row of each table lies on either shard, and comes to one whose own rows are younger."""
    clock, client, tables = FastClock(monkeypatch), server.client(), range(1, 7)

    def at(hours: int, statement: str = "INSERT INTO u VALUES (0)") -> None:
        clock.hours = hours
        client.run(statement)
        client.run("FLUSH")

    client.run("CREATE TABLE u (id INT)")
    for k in tables:
        client.run(f"CREATE TABLE t{k} (id INT PRIMARY KEY) WITH (ttl = '36000 seconds')")
    at(11)
    for k in tables:
        at(12, f"INSERT INTO t{k} VALUES ({k})")
    for k in tables:
        at(17, f"INSERT INTO t{k} SELECT g FROM generate_series(100, 140) g")
    at(21)  # each shard looks for its oldest row
    client.run("ALTER SYSTEM SET parallelism = 1")
    at(22)
    at(23)
    assert [client.run(f"SELECT min(id) FROM t{k}") for k in tables] == [[(100,)]] * len(tables)
