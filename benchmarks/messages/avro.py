"""Avro through Kafka and back: a sink of a view, then a view that counts the sink's topic, each beside fastavro.

fastavro takes a row at a time from Python's objects, without a broker: it is the yardstick of the encoding alone. The
broker and the schema registry are started for the run; what is not installed is not measured.
"""

from __future__ import annotations

import io
import json
import os
import time
from collections.abc import Iterator
from typing import Any

from benchmarks.deliveries import TABLE_ROWS
from benchmarks.measurement import RISINGPY, Measurement, Meter
from benchmarks.sinks import TABLE_COLUMNS
from benchmarks.throughput import IN_PROCESS, running_server
from tests.connectors.kafka.topics import Topic
from tests.connectors.systems.kafka import broker, missing_reason
from tests.connectors.systems.schema_registry import Registry, schema_registry

CASE = "avro"
SINK, SOURCE = "a view to a topic", "a topic counted by a view"
FASTAVRO = "fastavro, a row at a time"
_YARDSTICK_ROWS = 20_000


def measure(rows: int) -> Iterator[Measurement]:
    """The sink's topic is what the source reads: seven columns, a schema that the sink has registered."""
    if (reason := missing_reason()) is not None:
        print(f"  {reason}")
        return
    with broker() as started, schema_registry() as registry:
        topic = Topic(started)
        named = ", ".join(f"{name} = '{value}'" for name, value in topic.options().items())
        encode = f"ENCODE AVRO (schema.registry = '{registry.address}')"
        with running_server(engine=IN_PROCESS) as server, server.connect() as connection:
            connection.execute(f"CREATE TABLE t ({TABLE_COLUMNS.replace('text', 'varchar')})")
            connection.execute(f"INSERT INTO t {TABLE_ROWS.format(rows - 1)}")
            connection.execute("CREATE MATERIALIZED VIEW m AS SELECT * FROM t")
            with Meter(server.process.pid) as meter:
                began = time.perf_counter()
                connection.execute(f"CREATE SINK s FROM m WITH ({named}, primary_key = 'id') FORMAT UPSERT {encode}")
                connection.execute("WAIT SINK s")
                seconds = time.perf_counter() - began
            yield Measurement(CASE, SINK, RISINGPY, _figures(rows, seconds, meter))
        with running_server(engine=IN_PROCESS) as server, server.connect() as connection:
            connection.execute(f"CREATE SOURCE a (*) WITH ({named}) FORMAT PLAIN {encode}")
            connection.execute("CREATE MATERIALIZED VIEW warm AS SELECT count(*) AS n FROM a")
            with Meter(server.process.pid) as meter:
                began = time.perf_counter()
                connection.execute("CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM a")
                seconds = time.perf_counter() - began
            counted = connection.execute("SELECT n FROM v").fetchone()
        yield Measurement(CASE, SOURCE, RISINGPY, _figures(rows, seconds, meter), counted == (rows,))
        yield from _yardsticks(topic, registry)


def _yardsticks(topic: Topic, registry: Registry) -> Iterator[Measurement]:
    """fastavro reads the topic's first messages, and writes them again."""
    try:
        import fastavro
    except ImportError:
        print("  fastavro is not installed")
        return
    [values] = [ids for subject, ids in registry.subjects.items() if subject.endswith("-value")]
    schema: Any = fastavro.parse_schema(json.loads(registry.schemas[values[-1] - 1]["schema"]))
    payloads = [value for _, value in topic.read_all()[:_YARDSTICK_ROWS] if value is not None]
    with Meter(os.getpid()) as meter:
        began = time.perf_counter()
        records = [fastavro.schemaless_reader(io.BytesIO(payload[5:]), schema, None) for payload in payloads]
        seconds = time.perf_counter() - began
    yield Measurement(CASE, SOURCE, FASTAVRO, _figures(len(payloads), seconds, meter))
    with Meter(os.getpid()) as meter:
        began = time.perf_counter()
        for record in records:
            fastavro.schemaless_writer(io.BytesIO(), schema, record)
        seconds = time.perf_counter() - began
    yield Measurement(CASE, SINK, FASTAVRO, _figures(len(payloads), seconds, meter))


def _figures(rows: int, seconds: float, meter: Meter) -> dict[str, float]:
    used = meter.usage
    return {"rows_per_second": rows / seconds, "rows_per_cpu_second": rows / used.cpu_seconds, **used.figures()}
