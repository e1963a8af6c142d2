"""A PostgreSQL table, copied and counted by a view, beside a raw reader of its stream; how soon a commit is visible.

The PostgreSQL is started for the run, as the tests start it; where its programs are missing, nothing is measured.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

from benchmarks.measurement import RISINGPY, Measurement, Meter, latency_figures
from benchmarks.throughput import IN_PROCESS, running_server
from risingpy.connectors.postgres_cdc.options import postgres_cdc_options
from risingpy.connectors.postgres_cdc.replication import ReplicationStream, replicating
from tests.connectors.postgres_cdc.upstream import Upstream
from tests.connectors.systems.postgres import SETTINGS
from tests.postgres_oracle import missing_reason, postgres_server

CASE = "postgres-cdc"
READER = "psycopg's COPY BOTH, not decoded"
STREAM, SNAPSHOT = "rows of one transaction", "rows of the snapshot"
_TABLE = "CREATE TABLE t (id bigint PRIMARY KEY, grp int, amount numeric, at timestamptz, note text)"
_ROWS = "SELECT g, g % 100, g * 1.25, now(), 'a note of row ' || g FROM generate_series({}, {}) g"
_VIEW = "CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n, sum(grp) AS total FROM t"
_COUNT = "SELECT n FROM v"


def measure(rows: int, samples: int) -> Iterator[Measurement]:
    """The rates of a snapshot and of a large transaction, each row five columns of some 60 bytes; and the freshness."""
    if (reason := missing_reason()) is not None:
        print(f"  {reason}")
        return
    with (
        postgres_server(SETTINGS) as started,
        running_server(engine=IN_PROCESS) as server,
        server.connect() as connection,
    ):
        upstream = Upstream.create(started)
        upstream.run(_TABLE)
        upstream.run(f"INSERT INTO t {_ROWS.format(1, rows)}")
        connection.execute(upstream.source())
        with Meter(server.process.pid) as meter:
            began = time.perf_counter()
            connection.execute("CREATE TABLE t (*) FROM pg TABLE 't'")
            seconds = time.perf_counter() - began
        yield Measurement(CASE, SNAPSHOT, RISINGPY, _figures(rows, seconds, meter))
        connection.execute(_VIEW)
        upstream.run("SELECT pg_create_logical_replication_slot('raw', 'pgoutput')")
        upstream.run(f"INSERT INTO t {_ROWS.format(rows + 1, 2 * rows)}")  # it returns with the commit
        with Meter(server.process.pid) as meter:
            began = time.perf_counter()
            connection.execute("FLUSH")
            seconds = time.perf_counter() - began
        counted = connection.execute(_COUNT).fetchone() == (2 * rows,)
        yield Measurement(CASE, STREAM, RISINGPY, _figures(rows, seconds, meter), counted)
        yield Measurement(CASE, STREAM, READER, _raw(upstream, rows))
        yield Measurement(
            CASE, "commit to visible", RISINGPY, latency_figures(_freshness(upstream, connection, samples))
        )


def _raw(upstream: Upstream, rows: int) -> dict[str, float]:
    options = {
        "hostname": str(upstream.server.directory),
        "port": str(upstream.server.port),
        "username": "postgres",
        "database.name": upstream.name,
        "slot.name": "raw",
        "publication.name": "published",
    }
    checked = postgres_cdc_options(options)
    with replicating(checked) as connection, Meter(os.getpid()) as meter:
        began, left = time.perf_counter(), rows
        stream = ReplicationStream(connection, checked, 0)
        while left:
            message = stream.next()
            if message is None:
                stream.wait(0.1)
            elif message[25:26] == b"I":
                left -= 1
        seconds = time.perf_counter() - began
    return _figures(rows, seconds, meter)


def _freshness(upstream: Upstream, connection: Any, samples: int) -> list[float]:
    """From the return of a COMMIT until a query of the view shows it."""
    (count,) = connection.execute(_COUNT).fetchone()
    seconds = []
    with upstream.connect() as writer:
        for number in range(1, samples + 1):
            time.sleep(0.05)
            writer.execute("INSERT INTO t VALUES (%s, 1, 1, now(), 'x')", (-number,))
            began = time.perf_counter()
            while connection.execute(_COUNT).fetchone() != (count + number,):
                time.sleep(0.002)
            seconds.append(time.perf_counter() - began)
    return seconds


def _figures(rows: int, seconds: float, meter: Meter) -> dict[str, float]:
    used = meter.usage
    return {"rows_per_second": rows / seconds, "rows_per_cpu_second": rows / used.cpu_seconds, **used.figures()}
