"""Tables WITH TTL: rows end when the watermark has passed them, and views keep what they have made of them."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import pytest

from tests.meta.conftest import Client, Server
from tests.meta.test_watermarks import relation

START = datetime(2024, 1, 1)
TABLE = "CREATE TABLE t (id INT PRIMARY KEY, v INT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL '1 hour' WITH TTL)"
Row = tuple[int, int, datetime | None]


@dataclass
class Model:
    """What the table has, and what a view over it has, when every statement was followed by FLUSH."""

    table: dict[int, Row] = field(default_factory=dict)
    seen: list[Row] = field(default_factory=list)
    watermark: datetime | None = None

    def write(self, rows: list[Row], gone: list[int] = []) -> None:  # noqa: B006 # never changed
        for key in gone:
            self.seen.remove(self.table.pop(key))
        latest = self.watermark
        for row in rows:
            at = row[2]
            if self.watermark is not None and (at is None or at < self.watermark):
                continue
            if row[0] in self.table:
                self.seen.remove(self.table[row[0]])
            self.table[row[0]] = row
            self.seen.append(row)
            if at is not None:
                latest = at - timedelta(hours=1) if latest is None else max(latest, at - timedelta(hours=1))
        self.watermark = latest
        if latest is not None:
            self.table = {k: row for k, row in self.table.items() if row[2] is not None and row[2] >= latest}


def literal(row: Row) -> str:
    return f"({row[0]}, {row[1]}, " + ("NULL)" if row[2] is None else f"'{row[2]}')")


def in_order(rows: list[Row] | list[tuple[object, ...]]) -> list[str]:
    return sorted(map(repr, rows))


def changed(client: Client, model: Model, chance: random.Random, now: datetime) -> None:
    """One statement on the table, and on the model."""
    kind = chance.random()
    if kind < 0.6 or not model.table:
        keys = chance.sample(range(40), chance.randrange(1, 6))
        times = [None if chance.random() < 0.05 else now - timedelta(minutes=chance.randrange(150)) for _ in keys]
        rows: list[Row] = [(key, chance.randrange(100), at) for key, at in zip(keys, times, strict=True)]
        client.run(f"INSERT INTO t VALUES {', '.join(map(literal, rows))}")
        model.write(rows)
    elif kind < 0.8:
        bound = chance.randrange(40)
        client.run(f"UPDATE t SET v = v + 1, ts = ts + INTERVAL '3 minutes' WHERE id < {bound}")
        later = [(k, v + 1, at and at + timedelta(minutes=3)) for k, v, at in model.table.values() if k < bound]
        model.write(later, [row[0] for row in later])
    else:
        bound = chance.randrange(40)
        client.run(f"DELETE FROM t WHERE id > {bound}")
        model.write([], [key for key in model.table if key > bound])


@pytest.mark.parametrize("seed", range(3))
def test_rows_end_and_views_keep_them(server: Server, seed: int) -> None:
    chance, model = random.Random(seed), Model()
    client = server.client()
    client.run(TABLE)
    client.run("CREATE MATERIALIZED VIEW seen AS SELECT id, v, ts FROM t")
    client.run("CREATE MATERIALIZED VIEW sums AS SELECT id, count(*) AS n, sum(v) AS s, max(v) AS m FROM t GROUP BY id")
    for step in range(30):
        if step == 20:
            server.restart()
            client = server.client()
        changed(client, model, chance, START + timedelta(minutes=20 * step))
        client.run("FLUSH")
        assert in_order(client.run("SELECT id, v, ts FROM t")) == in_order(list(model.table.values()))
        assert in_order(client.run("SELECT id, v, ts FROM seen")) == in_order(model.seen)
        wrong = client.run("SELECT * FROM sums EXCEPT SELECT id, count(*), sum(v), max(v) FROM seen GROUP BY id")
        assert wrong == []
    (entries,) = client.run(f"SELECT count(*) FROM {expiry_table(server)}")
    assert entries == (len(model.table),)


def test_alter_watermark_is_in_the_definition(server: Server) -> None:
    client = server.client()
    client.run(TABLE)
    client.run("ALTER TABLE t ALTER WATERMARK FOR ts AS ts - INTERVAL '1 day' WITH TTL")
    client.run("ALTER TABLE t RENAME COLUMN ts TO at")
    ((_, definition),) = client.run("SHOW CREATE TABLE t")
    assert "WATERMARK FOR at AS at - INTERVAL '1 day' WITH TTL" in definition
    client.run("DROP TABLE t")
    client.run(definition)
    client.run("INSERT INTO t VALUES (1, 1, '2024-01-01'), (2, 2, '2024-01-02'), (3, 3, '2024-01-03')")
    client.run("FLUSH")
    assert client.run("SELECT id FROM t ORDER BY id") == [(2,), (3,)]
    server.restart()
    client = server.client()
    client.run("INSERT INTO t VALUES (4, 4, '2024-01-04')")
    client.run("FLUSH")
    assert client.run("SELECT id FROM t ORDER BY id") == [(3,), (4,)]


def expiry_table(server: Server) -> str:
    (name,) = [t.name for t in server.database.reads.state.jobs[relation(server, "t").relation_id].state_tables]
    return str(name)


@pytest.mark.on_spark
def test_state_stays_bounded_over_a_month(server: Server) -> None:
    """31 days, 200 rows each six hours, of which the last day is kept: state is never more than that of 30 hours."""
    client = server.client()
    client.run("CREATE TABLE t (v INT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL '1 day' WITH TTL)")
    client.run("CREATE MATERIALIZED VIEW hours AS SELECT date_trunc('hour', ts) AS h, count(*) AS n FROM t GROUP BY 1")
    client.run(
        "CREATE MATERIALIZED VIEW days AS SELECT date_trunc('day', ts) AS d, count(*) AS n, count(DISTINCT v) AS c "
        "FROM t GROUP BY 1 EMIT ON WINDOW CLOSE"
    )
    most = {"t": 0, "hours": 0, "days": 0}
    for step in range(4 * 31):
        first = f"TIMESTAMP '2024-01-01' + {step} * INTERVAL '6 hours'"
        client.run(f"INSERT INTO t SELECT n % 10, {first} + n * INTERVAL '108 seconds' FROM generate_series(0, 199) n")
        client.run("FLUSH")
        if step % 10 == 9:
            for name in most:
                job = server.database.reads.state.jobs[relation(server, name).relation_id]
                tables = [table.name for table in job.state_tables if "backfill" not in table.name]
                rows = [client.run(f"SELECT count(*) FROM {table}")[0][0] for table in tables]
                most[name] = max(most[name], *rows)
            assert client.run("SELECT count(*) FROM t")[0][0] <= 801
    assert most == {
        "t": 801,
        "hours": 31,
        "days": 20,
    }  # a day and a row; its hours and those of the last epoch; two days
    assert client.run("SELECT count(*), sum(n), min(n), max(n) FROM hours") == [(744, 24800, 33, 34)]
    assert client.run("SELECT count(*), min(n), max(n), max(c) FROM days") == [(29, 800, 800, 10)]
