"""The rows of a view in another system, from CREATE SINK until WAIT SINK, each beside its raw client.

The raw client writes as many rows, made ready before, in the same run: `benchmarks.sinks` has both targets alone.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from benchmarks.measurement import RISINGPY, Measurement, Meter
from benchmarks.sinks import TABLE_COLUMNS, copying, durable, producing, rows_of
from benchmarks.throughput import IN_PROCESS, running_server
from tests.connectors.kafka.topics import Topic
from tests.connectors.systems import kafka
from tests.postgres_oracle import missing_reason, postgres_server

CASE = "sinks"
KAFKA, POSTGRES = "a view to Kafka, upsert", "a view to PostgreSQL, upsert"
TABLE_ROWS = (
    "SELECT g AS id, 'customer number ' || g AS name, (g % 1000)::int AS n, g / 7.0::float8 AS price,"
    " to_timestamp(1700000000 + g) AS at, g % 2 = 0 AS ok, 'a note of some length that says nothing' AS note"
    " FROM generate_series(0, {}) g"
)


def measure(rows: int) -> Iterator[Measurement]:
    """Both systems are started for the run; what is not installed is not measured."""
    with running_server(engine=IN_PROCESS) as server, server.connect() as connection:
        connection.execute(f"CREATE TABLE t ({TABLE_COLUMNS.replace('text', 'varchar')})")
        connection.execute(f"INSERT INTO t {TABLE_ROWS.format(rows - 1)}")
        connection.execute("CREATE MATERIALIZED VIEW m AS SELECT * FROM t")
        if (reason := kafka.missing_reason()) is None:
            with kafka.broker() as broker:
                topic, raw = Topic(broker), Topic(broker)
                options = {**topic.options(), "type": "upsert"}
                yield _delivered(server.process.pid, connection, KAFKA, options, rows, lambda: len(topic.read_all()))
                with producing(broker.address, raw.name) as write:
                    yield _raw(KAFKA, "confluent-kafka's producer", write, rows)
        else:
            print(f"  {reason}")
        if (reason := missing_reason()) is not None:
            print(f"  {reason}")
            return
        with postgres_server() as target, target.connect() as upstream:
            durable(upstream)
            upstream.execute(f"CREATE TABLE t ({TABLE_COLUMNS}); CREATE TABLE raw ({TABLE_COLUMNS})")
            where = {"host": str(target.directory), "port": str(target.port), "user": "postgres"}
            options = {"connector": "postgres", **where, "database": "postgres", "table": "t", "type": "upsert"}

            def count() -> int:
                ((found,),) = upstream.execute("SELECT count(*) FROM t").fetchall()
                assert isinstance(found, int)
                return found

            yield _delivered(server.process.pid, connection, POSTGRES, options, rows, count)
            yield _raw(POSTGRES, "psycopg's COPY of text", copying(upstream), rows)


def _delivered(
    server: int, connection: Any, what: str, options: dict[str, str], rows: int, count: Callable[[], int]
) -> Measurement:
    shown = ", ".join(f"{name} = '{value}'" for name, value in options.items())
    with Meter(server) as meter:
        began = time.perf_counter()
        connection.execute(f"CREATE SINK s FROM m WITH ({shown}, primary_key = 'id')")
        connection.execute("WAIT SINK s")
        seconds = time.perf_counter() - began
    connection.execute("DROP SINK s")
    return Measurement(CASE, what, RISINGPY, _figures(rows, seconds, meter), count() == rows)


def _raw(what: str, client: str, write: Callable[[pa.Table], Callable[[], None]], rows: int) -> Measurement:
    ready = write(rows_of(1, rows))
    with Meter(os.getpid()) as meter:
        began = time.perf_counter()
        ready()
        seconds = time.perf_counter() - began
    return Measurement(CASE, what, client, _figures(rows, seconds, meter))


def _figures(rows: int, seconds: float, meter: Meter) -> dict[str, float]:
    used = meter.usage
    return {"rows_per_second": rows / seconds, "rows_per_cpu_second": rows / used.cpu_seconds, **used.figures()}
