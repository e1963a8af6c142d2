"""Views WITH (ttl = …): rows of what they read count for so long after they were written."""

from __future__ import annotations

import random

import pytest

from tests.meta.conftest import Client, Server
from tests.meta.test_passing_time import eventually
from tests.meta.times_of_rows.test_retention import FastClock
from tests.meta.times_of_rows.test_ttl_by_clock import state_rows

JOINED = "SELECT t.id, u.id AS other, t.v FROM t LEFT JOIN u ON t.v = u.v"
GROUPED = "SELECT v % 5 AS k, count(*) AS n, max(id) AS m, array_agg(id ORDER BY id) AS s FROM t GROUP BY v % 5"
FIRSTS = "SELECT * FROM (SELECT id, v, rank() OVER (PARTITION BY v ORDER BY id) AS r FROM t) s WHERE r <= 2"
VIEWS = {"joined": JOINED, "grouped": GROUPED, "firsts": FIRSTS}


@pytest.mark.on_spark
def test_rows_end_although_nothing_comes(server: Server) -> None:
    client = server.client()
    client.run("CREATE TABLE t (id INT PRIMARY KEY, v INT)")
    client.run(f"CREATE MATERIALIZED VIEW grouped WITH (ttl = '2 seconds') AS {GROUPED}")
    client.run("CREATE MATERIALIZED VIEW above AS SELECT sum(n) AS n FROM grouped")
    client.run("INSERT INTO t SELECT g, g FROM generate_series(1, 1000) g")
    client.run("FLUSH")
    eventually(client, "SELECT n FROM above", [(None,)])
    assert client.run("SELECT * FROM grouped") == []
    assert client.run("SELECT count(*) FROM t") == [(1000,)]
    assert state_rows(server, client, "grouped") == 2  # how far the backfill of each shard is
    client.run("UPDATE t SET v = v + 1 WHERE id = 7")
    client.run("DELETE FROM t WHERE id = 8")
    assert client.run("SELECT * FROM grouped") == [(3, 1, 7, [7])]


def changed(client: Client, chance: random.Random, model: dict[str, dict[int, tuple[int, int]]], hour: int) -> None:
    """One statement on t or u, and on the model, which has the value and the hour of each key's last change."""
    name = chance.choice(("t", "t", "u"))
    rows, kind, bound = model[name], chance.random(), chance.randrange(40)
    if kind < 0.6 or not rows:
        new = {key: chance.randrange(20) for key in chance.sample(range(40), chance.randrange(1, 8))}
        client.run(f"INSERT INTO {name} VALUES {', '.join(f'({key}, {v})' for key, v in new.items())}")
        rows.update({key: (v, hour) for key, v in new.items() if rows.get(key, (None,))[0] != v})
    elif kind < 0.8:
        client.run(f"UPDATE {name} SET v = v + 1 WHERE id < {bound}")
        rows.update({key: (v + 1, hour) for key, (v, _) in rows.items() if key < bound})
    else:
        client.run(f"DELETE FROM {name} WHERE id > {bound}")
        for key in [key for key in rows if key > bound]:
            del rows[key]


@pytest.mark.parametrize("seed", range(3))
def test_random_changes(server: Server, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Each view equals its query over the rows that a model says were written within the ttl, also after a restart."""
    chance, clock = random.Random(seed), FastClock(monkeypatch)
    model: dict[str, dict[int, tuple[int, int]]] = {"t": {}, "u": {}}
    client = server.client()
    for name in ("t", "u"):
        client.run(f"CREATE TABLE {name} (id INT PRIMARY KEY, v INT)")
        client.run(f"CREATE TABLE recent_{name} (id INT PRIMARY KEY, v INT)")
    for name, query in VIEWS.items():
        client.run(f"CREATE MATERIALIZED VIEW {name} WITH (ttl = 16200) AS {query}")
    for step in range(16):
        if step == 8:
            server.restart()
            client = server.client()
        clock.hours += chance.choice((0, 1, 1, 2, 4))
        changed(client, chance, model, clock.hours)
        client.run("INSERT INTO u VALUES (100, 100)")  # an epoch at this hour, which ends rows
        model["u"].setdefault(100, (100, clock.hours))
        client.run("FLUSH")
        kept = 0
        for name, rows in model.items():
            recent = {key: v for key, (v, hour) in rows.items() if clock.hours - hour < 4.5}
            kept += len(recent) * (3 if name == "t" else 1)
            client.run(f"DELETE FROM recent_{name}")
            if recent:
                client.run(f"INSERT INTO recent_{name} VALUES {', '.join(f'({k}, {v})' for k, v in recent.items())}")
        for name, query in VIEWS.items():
            expected = query.replace("FROM t", "FROM recent_t t").replace("JOIN u", "JOIN recent_u u")
            assert sorted(client.run(f"SELECT * FROM {name}"), key=str) == sorted(client.run(expected), key=str), name
        assert sum(ttl_rows(server, client, name) for name in VIEWS) == 3 * kept


def ttl_rows(server: Server, client: Client, name: str) -> int:
    """How many rows the state has by which rows end."""
    found = server.database.reads.state
    (job,) = (job for job in found.jobs.values() if job.name == name)
    tables = [table.name for table in job.state_tables if "_ttl_" in table.name]
    return sum(int(str(client.run(f"SELECT count(*) FROM {each}")[0][0])) for each in tables)


def test_state_stays_bounded_over_a_month(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tables keep all rows; joins, groups and window functions keep what two days have brought."""
    clock = FastClock(monkeypatch)
    client = server.client()
    client.run("CREATE TABLE t (id INT PRIMARY KEY, v INT)")
    client.run("CREATE TABLE u (id INT PRIMARY KEY, v INT)")
    for name, query in VIEWS.items():
        client.run(f"CREATE MATERIALIZED VIEW {name} WITH (ttl = '2 days') AS {query}")
    most = 0
    for step in range(2 * 31):
        clock.hours += 12
        first = 20 * step
        client.run(f"INSERT INTO t SELECT g, g / 3 FROM generate_series({first}, {first + 19}) g")
        client.run(f"INSERT INTO u SELECT g, g FROM generate_series({first}, {first + 19}, 2) g")
        client.run("FLUSH")
        if step % 10 == 9:
            most = max(most, sum(state_rows(server, client, name) for name in VIEWS))
    # At most 100 rows of t, and half as many of u: three times each by which they end, once to four times above that.
    assert most <= 2500
    assert client.run("SELECT count(*) FROM t") == [(20 * 62,)]
    assert 80 <= int(str(client.run("SELECT count(*) FROM joined")[0][0])) <= 100


def test_a_later_view_takes_the_rows_that_are_there_for_new(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = FastClock(monkeypatch)
    client = server.client()
    client.run("CREATE TABLE t (id INT PRIMARY KEY, v INT)")
    client.run("INSERT INTO t SELECT g, g FROM generate_series(1, 10) g")
    client.run("FLUSH")
    clock.hours += 100
    client.run("CREATE MATERIALIZED VIEW late WITH (ttl = '10 hours') AS SELECT count(*) AS n, sum(v) AS s FROM t")
    assert client.run("SELECT n FROM late") == [(10,)]
    clock.hours += 9
    client.run("UPDATE t SET v = 0 WHERE id = 1")
    client.run("FLUSH")
    clock.hours += 2
    client.run("INSERT INTO t VALUES (11, 11)")
    client.run("FLUSH")
    assert client.run("SELECT n FROM late") == [(2,)]
    ((_, definition),) = client.run("SHOW CREATE MATERIALIZED VIEW late")
    assert "WITH (ttl = '10 hours')" in str(definition)
    client.run("ALTER TABLE t ADD COLUMN w INT DEFAULT 5")
    client.run("ALTER TABLE t RENAME TO renamed")
    client.run("INSERT INTO renamed VALUES (12, 12, 12)")
    client.run("FLUSH")
    assert client.run("SELECT n FROM late") == [(3,)]
    ((_, definition),) = client.run("SHOW CREATE MATERIALIZED VIEW late")
    assert "ttl" in str(definition) and "renamed" in str(definition)
