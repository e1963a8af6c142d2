"""Watermarks through epochs: late rows, closed windows, retries, restarts."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from risingpy.errors import SqlError
from risingpy.executors.epoch.descriptor import EpochDescriptor
from risingpy.meta.epochs.runner import EpochFailed, EpochReport
from risingpy.plan.catalog import Relation
from risingpy.plan.recursion.loops import Stages
from tests.meta.conftest import Client, FaultyRunner, Server

START = datetime(2024, 1, 1)
TABLE = "CREATE TABLE t (id INT, ts TIMESTAMP, v INT, WATERMARK FOR ts AS ts - INTERVAL '5 seconds') APPEND ONLY"
# Each query, and the column by which its rows are final.
QUERIES = {
    "groups": (
        "SELECT window_start AS w, id, count(*) AS n, sum(v) AS s, count(DISTINCT v) AS d, string_agg(v::varchar, ',' "
        "ORDER BY v, ts) AS l FROM TUMBLE(t, ts, INTERVAL '10 seconds') GROUP BY id, window_start"
    ),
    "hops": (
        "SELECT window_end AS w, avg(v) AS m, min(ts) AS f "
        "FROM HOP(t, ts, INTERVAL '5 seconds', INTERVAL '15 seconds') GROUP BY window_end"
    ),
    "plain": "SELECT ts AS w, id, v FROM t WHERE v > 2",
    "numbered": "SELECT ts AS w, id, v, count(*) OVER (PARTITION BY id ORDER BY ts) AS n FROM t",
    "joined": "SELECT a.ts AS w, a.v, b.v AS o FROM t AS a JOIN t AS b ON a.ts = b.ts AND a.v < b.v",
    "top": (
        "SELECT w, id, v FROM "
        "(SELECT window_start AS w, id, v, rank() OVER (PARTITION BY window_start ORDER BY v) AS r "
        "FROM TUMBLE(t, ts, INTERVAL '10 seconds')) AS x WHERE r <= 2"
    ),
}
BOUNDS: dict[str, Callable[[datetime], datetime]] = {
    "groups": lambda w: w - timedelta(seconds=w.second % 10, microseconds=w.microsecond),
    "hops": lambda w: w - timedelta(seconds=w.second % 5, microseconds=w.microsecond) + timedelta(seconds=5),
    "top": lambda w: w - timedelta(seconds=w.second % 10, microseconds=w.microsecond),
}


def relation(server: Server, name: str) -> Relation:
    found = server.database.reads.catalog.find(name, None, ("public",))
    assert found is not None
    return found


def watermark(server: Server, name: str = "t") -> datetime | None:
    value = server.database.reads.state.committed.watermarks.get(relation(server, name).relation_id)
    return None if value is None else datetime(1970, 1, 1) + timedelta(microseconds=value)


def insert(client: Client, order: random.Random, now: int) -> None:
    rows = []
    for _ in range(order.randrange(1, 12)):
        late = order.choice([0, 1, 3, 6, 20])
        at = START + timedelta(seconds=max(0, now - late), milliseconds=order.randrange(2) * 500)
        ts = "NULL" if order.random() < 0.05 else f"'{at}'"
        rows.append(f"({order.randrange(3)}, {ts}, {order.randrange(6)})")
    client.run(f"INSERT INTO t VALUES {', '.join(rows)}")


def check_closed(server: Server, client: Client) -> None:
    """Of each query, its view has just what its SELECT says of closed windows."""
    passed = watermark(server)
    for name, query in QUERIES.items():
        bound = BOUNDS[name](passed) if passed is not None and name in BOUNDS else passed
        final = [] if bound is None else client.run(f"SELECT * FROM ({query}) AS q WHERE w < '{bound}'")
        assert sorted(map(str, client.run(f"SELECT * FROM {name}_closed"))) == sorted(map(str, final)), name
        live = client.run(f"SELECT * FROM {name}_live")
        assert sorted(map(str, live)) == sorted(map(str, client.run(query))), name


def fails_after_its_work(runner: FaultyRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next epoch writes its state, and is lost."""
    run = runner.run

    def lost(descriptor: EpochDescriptor, stages: Stages) -> EpochReport:
        monkeypatch.setattr(runner, "run", run)
        run(descriptor, stages)
        raise EpochFailed("lost")

    monkeypatch.setattr(runner, "run", lost)


@pytest.mark.parametrize("seed", range(4))
def test_closed_windows_are_what_the_query_says(server: Server, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    order = random.Random(seed)
    client = server.client()
    client.run(TABLE)
    created_late = set(order.sample(sorted(QUERIES), 2))
    now = 0
    for step in range(14):
        for name, query in QUERIES.items():
            if step == (7 if name in created_late else 0):
                client.run(f"CREATE MATERIALIZED VIEW {name}_closed AS {query} EMIT ON WINDOW CLOSE")
                client.run(f"CREATE MATERIALIZED VIEW {name}_live AS {query}")
        if order.random() < 0.3:
            fails_after_its_work(server.runner, monkeypatch)
        if order.random() < 0.2:
            server.restart()
            client = server.client()
        insert(client, order, now)
        now += order.choice([0, 1, 3, 12, 60])
        if step >= 7 and order.random() < 0.6:
            client.run("FLUSH")
            check_closed(server, client)
    client.run("FLUSH")
    check_closed(server, client)


def test_a_restart_keeps_the_watermark_and_what_it_lets_go(server: Server) -> None:
    client = server.client()
    client.run(TABLE)
    client.run("CREATE MATERIALIZED VIEW final AS SELECT ts, id FROM t EMIT ON WINDOW CLOSE")
    client.run("INSERT INTO t VALUES (1, '2024-01-01 00:00:00', 1), (2, '2024-01-01 00:01:00', 1)")
    client.run("SELECT * FROM t")  # in an epoch of its own; what it lets go may be in the next
    server.restart()
    client = server.client()
    client.run("FLUSH")
    assert [row[1] for row in client.run("SELECT * FROM final")] == [1]
    client.run("INSERT INTO t VALUES (3, '2024-01-01 00:00:30', 1)")
    assert client.run("SELECT count(*) FROM t") == [(2,)]


def test_an_epoch_more_only_where_rows_wait(server: Server) -> None:
    client = server.client()
    client.run(TABLE)
    client.run("CREATE MATERIALIZED VIEW live AS SELECT id, count(*) AS n FROM t GROUP BY id")
    client.run("INSERT INTO t VALUES (1, '2024-01-01 00:00:00', 1)")
    client.run("FLUSH")
    before = len(server.runner.ran)
    client.run("INSERT INTO t VALUES (1, '2024-01-01 00:10:00', 1)")
    client.run("FLUSH")
    client.run("INSERT INTO t VALUES (1, '2024-01-01 00:20:00', 1)")
    client.run("FLUSH")
    assert len(server.runner.ran) == before + 2


@pytest.mark.on_spark
def test_the_state_of_closed_windows_goes(server: Server) -> None:
    client = server.client()
    client.run(TABLE)
    client.run(f"CREATE MATERIALIZED VIEW groups AS {QUERIES['groups']}")
    for minute in range(5):
        client.run(f"INSERT INTO t VALUES (1, '2024-01-01 00:0{minute}:00', 1), (2, '2024-01-01 00:0{minute}:01', 1)")
        client.run("FLUSH")
    assert client.run("SELECT count(*) FROM groups") == [(10,)]
    job = server.database.reads.state.jobs[relation(server, "groups").relation_id]
    kept = [client.run(f"SELECT count(*) FROM {t.name}")[0][0] for t in job.state_tables if "backfill" not in t.name]
    assert kept
    assert max(kept) <= 4  # of the last window, and of that which the last epoch's watermark has not passed


def test_a_dropped_table_has_no_watermark_any_more(server: Server) -> None:
    client = server.client()
    client.run(TABLE)
    client.run("INSERT INTO t VALUES (1, '2024-01-01 00:00:00', 1)")
    client.run("FLUSH")
    assert watermark(server) == START - timedelta(seconds=5)
    client.run("DROP TABLE t")
    client.run("CREATE TABLE u (a INT)")
    client.run("INSERT INTO u VALUES (1)")
    client.run("FLUSH")
    assert server.database.reads.state.committed.watermarks == {}


def write_file(path: Path, rows: list[tuple[int, datetime]]) -> None:
    """A source's file, complete when it is there."""
    ids, times = zip(*rows, strict=True)
    table = pa.table({"id": pa.array(ids, pa.int32()), "ts": pa.array(times, pa.timestamp("us"))})
    with pa.ipc.new_file(path.with_suffix(".new"), table.schema) as out:
        out.write_table(table)
    path.with_suffix(".new").rename(path)


def test_a_source_has_one_per_view(server: Server, tmp_path: Path) -> None:
    write_file(tmp_path / "a.arrow", [(1, START), (2, START + timedelta(seconds=40))])
    client = server.client()
    client.run(
        "CREATE SOURCE s (id INT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL '5 seconds') "
        f"WITH (connector = 'file', path = '{tmp_path}/*.arrow')"
    )
    windows = "FROM TUMBLE(s, ts, INTERVAL '10 seconds') GROUP BY window_start EMIT ON WINDOW CLOSE"
    client.run(f"CREATE MATERIALIZED VIEW first AS SELECT window_start, count(*) AS n {windows}")
    assert client.run("SELECT * FROM first") == [(START, 1)]
    write_file(tmp_path / "b.arrow", [(3, START + timedelta(seconds=1)), (4, START + timedelta(minutes=2))])
    client.run("FLUSH")
    rows = [(START, 1), (START + timedelta(seconds=40), 1)]
    assert sorted(client.run("SELECT * FROM first")) == rows
    # Another view reads the files from the beginning, all in one epoch: nothing is late.
    client.run(f"CREATE MATERIALIZED VIEW second AS SELECT window_start, count(*) AS n {windows}")
    assert sorted(client.run("SELECT * FROM second")) == [(START, 2), rows[1]]
    with pytest.raises(SqlError, match="cannot be used for aggregation"):
        client.run("CREATE MATERIALIZED VIEW no AS SELECT count(*) FROM s EMIT ON WINDOW CLOSE")
