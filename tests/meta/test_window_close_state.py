"""EMIT ON WINDOW CLOSE, window functions ordered by a watermark: rows that were given out go, and no result changes."""

from __future__ import annotations

import random
from datetime import datetime, timedelta

import pytest

from tests.meta.conftest import Client, Server
from tests.meta.test_watermarks import relation

START = datetime(2024, 1, 1)
USERS = 3
CALLS = {
    "numbered": "row_number() OVER w AS n, lag(v) OVER w AS before",
    "moving": "sum(v) OVER (PARTITION BY id ORDER BY ts ROWS 2 PRECEDING) AS s, lag(v, 3) OVER w AS third",
    "ahead": "lead(v, 2) OVER w AS after, lag(v) OVER w AS before, row_number() OVER w AS n",
}
# The rows of a partition that are kept: as far as a row looks back, and as far as one that waits looks ahead.
MOST_ROWS = {"numbered": 1, "moving": 3, "ahead": 3}


@pytest.mark.on_spark
def test_what_was_given_out_is_forgotten(server: Server) -> None:
    order = random.Random(7)
    client = server.client()
    client.run(
        "CREATE TABLE t (id INT, ts TIMESTAMP, v INT, WATERMARK FOR ts AS ts - INTERVAL '5 seconds') APPEND ONLY"
    )
    queries = {
        name: f"SELECT id, ts, v, {calls} FROM t WINDOW w AS (PARTITION BY id ORDER BY ts)"
        for name, calls in CALLS.items()
    }
    for name, query in queries.items():
        client.run(f"CREATE MATERIALIZED VIEW {name} AS {query} EMIT ON WINDOW CLOSE")
    now = START
    for step in range(24):
        rows = []
        for _ in range(order.randrange(1, 20)):
            now += timedelta(milliseconds=order.randrange(1, 1500))
            rows.append(f"({order.randrange(USERS)}, '{now}', {order.randrange(100)})")
        order.shuffle(rows)
        client.run(f"INSERT INTO t VALUES {', '.join(rows)}")
        client.run("FLUSH")
        if step == 12:
            server.restart()
            client = server.client()
    far = [f"({user}, '{now + timedelta(days=day)}', 0)" for day in (1, 2, 3) for user in range(USERS)]
    for row in far:
        client.run(f"INSERT INTO t VALUES {row}")
    client.run(f"INSERT INTO t VALUES (0, '{now + timedelta(days=4)}', 0)")
    client.run("FLUSH")
    for name, query in queries.items():
        final = f"SELECT * FROM ({query}) AS q WHERE ts <= '{now}' ORDER BY id, ts"
        assert client.run(f"SELECT * FROM {name} WHERE ts <= '{now}' ORDER BY id, ts") == client.run(final)
        job = server.database.reads.state.jobs[relation(server, name).relation_id]
        (table,) = [table.name for table in job.state_tables if "over_window" in table.name]
        ((kept,),) = client.run(f"SELECT count(*) FROM {table}")
        assert kept == USERS * MOST_ROWS[name]


TIED = {
    "ranked": ("rank() OVER w AS r, dense_rank() OVER w AS d", "PARTITION BY id ORDER BY ts"),
    "near": ("sum(v) OVER w AS s, rank() OVER w AS r", "PARTITION BY id ORDER BY ts RANGE {} PRECEDING"),
    "before": ("max(v) OVER w AS m", "PARTITION BY id ORDER BY ts RANGE BETWEEN {} PRECEDING AND {} PRECEDING"),
    "groups": ("min(v) OVER w AS m, dense_rank() OVER w AS d", "PARTITION BY id ORDER BY ts GROUPS 2 PRECEDING"),
    "alone": ("rank() OVER w AS r", "ORDER BY ts"),
}
# Groups of peers at the end of a partition that are kept, after rows that are far from each other.
MOST_GROUPS = {"ranked": 1, "near": 1, "before": 1, "groups": 2, "alone": 1}


@pytest.mark.parametrize("type_", ["timestamp", "date"])
def test_ranks_and_ranges_keep_the_end_of_each_partition(server: Server, type_: str) -> None:
    """Rows with equal times come, and the state stays as small as what lies within reach of the last one."""
    order = random.Random(type_)
    client = server.client()
    step, distances = {
        "timestamp": ("INTERVAL '1 second'", ("INTERVAL '20 seconds'", "INTERVAL '5 seconds'")),
        "date": ("1", ("INTERVAL '20 days'", "INTERVAL '5 days'")),
    }[type_]
    origin = {"timestamp": f"TIMESTAMP '{START}'", "date": f"DATE '{START.date()}'"}[type_]
    client.run(f"CREATE TABLE t (id INT, ts {type_}, v INT, WATERMARK FOR ts AS ts - 5 * {step}) APPEND ONLY")
    queries = {
        name: f"SELECT id, ts, v, {calls} FROM t WINDOW w AS ({window.format(*distances)})"
        for name, (calls, window) in TIED.items()
    }
    for name, query in queries.items():
        client.run(f"CREATE MATERIALIZED VIEW {name} AS {query} EMIT ON WINDOW CLOSE")
    now, most = 0, 0
    for epoch in range(8):
        rows = []
        for _ in range(order.randrange(1, 25)):
            now += order.choice((0, 0, 1, 1, 2))
            rows.append(f"({order.randrange(USERS)}, {origin} + {now} * {step}, {order.randrange(100)})")
        order.shuffle(rows)
        client.run(f"INSERT INTO t VALUES {', '.join(rows)}")
        client.run("FLUSH")
        most = max(most, *(kept_rows(server, client, name) for name in queries))
        if epoch == 4:
            server.restart()
            client = server.client()
    last = now
    for _ in range(3):
        now += 1000
        for user in range(USERS):
            client.run(f"INSERT INTO t VALUES ({user}, {origin} + {now} * {step}, 0)")
        client.run("FLUSH")
    client.run(f"INSERT INTO t VALUES (0, {origin} + {now + 1000} * {step}, 0)")
    client.run("FLUSH")
    assert most < 80  # of about 100 in each of five views, which end with few
    for name, query in queries.items():
        until = f"ts <= {origin} + {last} * {step}"
        final = f"SELECT * FROM ({query}) AS q WHERE {until}"
        assert sorted(client.run(f"SELECT * FROM {name} WHERE {until}")) == sorted(client.run(final)), name
        assert kept_rows(server, client, name) == USERS * MOST_GROUPS[name], name


def kept_rows(server: Server, client: Client, name: str) -> int:
    job = server.database.reads.state.jobs[relation(server, name).relation_id]
    (table,) = [table.name for table in job.state_tables if "over_window" in table.name]
    ((kept,),) = client.run(f"SELECT count(*) FROM {table}")
    return int(str(kept))
