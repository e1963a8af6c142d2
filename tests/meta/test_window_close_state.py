"""EMIT ON WINDOW CLOSE, window functions ordered by a watermark: rows that were given out go, and no result changes."""

from __future__ import annotations

import random
from datetime import datetime, timedelta

import pytest

from tests.meta.conftest import Server
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
