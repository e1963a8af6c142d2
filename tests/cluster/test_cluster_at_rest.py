"""A cluster of machines at rest: how long epochs take, and that shards follow cores. `make cluster-test` runs it."""

from __future__ import annotations

import os
import statistics
import time
from pathlib import Path

import pytest
from psycopg import Connection

from risingpy.meta.adaptive_parallelism import MORE_SECONDS
from tests.cluster.machines import network, why_not
from tests.cluster.site import Site
from tests.cluster.views import change_rows, make_views, require_right

MEASURES = bool(int(os.environ.get("RISINGPY_CLUSTER_ROUNDS", "0")))
EPOCHS = 40
ROWS = 10
BOUNDS = {0: 0.6, 1: 0.6, 2: 0.9}  # seconds, on a quiet machine of two cores
VIEWS = {  # by the number of exchanges: a view's epoch has the stages of the deepest view that there is
    0: "SELECT id, v + 1 AS w FROM t",
    1: "SELECT g, count(*) AS n, sum(v) AS s FROM t GROUP BY g",
    2: "SELECT n, count(*) AS groups FROM (SELECT g, count(*) AS n FROM t GROUP BY g) AS counted GROUP BY n",
}


@pytest.mark.skipif(not MEASURES, reason="RISINGPY_CLUSTER_ROUNDS is not set")
@pytest.mark.timeout(600)
def test_epochs_are_short(tmp_path: Path) -> None:
    if (reason := why_not()) is not None:
        pytest.skip(reason)
    with network(3, tmp_path) as machines:
        site = Site(machines, tmp_path)
        try:
            site.server.wait_for_spark()
            with site.connect() as connection:
                connection.execute("CREATE TABLE t (id BIGINT PRIMARY KEY, g INT, v INT)")
                for exchanges, query in VIEWS.items():
                    connection.execute(f"CREATE MATERIALIZED VIEW v{exchanges} AS {query}")
                    seconds = _epochs(connection, exchanges)
                    median = statistics.median(seconds)
                    print(
                        f"{exchanges} exchanges: p50 {median:.2f} s, {min(seconds):.2f} to {max(seconds):.2f}",
                        flush=True,
                    )
                    assert median <= BOUNDS[exchanges]
        finally:
            site.server.kill()


@pytest.mark.skipif(not MEASURES, reason="RISINGPY_CLUSTER_ROUNDS is not set")
@pytest.mark.timeout(600)
def test_shards_follow_cores(tmp_path: Path) -> None:
    if (reason := why_not()) is not None:
        pytest.skip(reason)
    with network(4, tmp_path) as machines:
        site = Site(machines, tmp_path)
        try:
            site.server.wait_for_spark()
            with site.connect() as connection:
                make_views(connection)
                connection.execute("ALTER SYSTEM SET parallelism = adaptive")
                end = time.monotonic() + MORE_SECONDS + 120
                number = 0
                while _shards(connection) != len(site.workers):
                    assert time.monotonic() < end
                    number += 1
                    change_rows(connection, number)
                    require_right(connection, number)
                change_rows(connection, number + 1)
                require_right(connection, "with a shard for each worker")
        finally:
            site.server.kill()


def _shards(connection: Connection[tuple[object, ...]]) -> int:
    shown = {str(row[0]): str(row[1]) for row in connection.execute("SHOW PARAMETERS").fetchall()}
    return int(shown["parallelism"])


def _epochs(connection: Connection[tuple[object, ...]], exchanges: int) -> list[float]:
    """Seconds of epochs of a few rows, after two that do not count."""
    seconds = []
    for number in range(2 + EPOCHS):
        first = (exchanges * 1000 + number) * ROWS
        connection.execute(
            f"INSERT INTO t SELECT i, i % 7, i FROM generate_series({first}, {first + ROWS - 1}) AS s(i)"
        )
        connection.execute("FLUSH")
        row = connection.execute(
            "SELECT stages, total_ms FROM rw_epochs WHERE rows > 0 ORDER BY epoch DESC LIMIT 1"
        ).fetchone()
        assert row is not None
        stages, milliseconds = row
        assert stages == exchanges + 1, "the epoch ran on the cluster"
        seconds.append(float(str(milliseconds)) / 1e3)
    return seconds[2:]
