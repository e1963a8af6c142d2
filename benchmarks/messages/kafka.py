"""A Kafka topic counted by a view, beside the raw consumer; how soon a message is visible; what an idle source costs.

The broker is noida-db, started for the run as the tests start it (`pip install 'risingpy[kafka,systems]'`); without it
nothing is measured.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from typing import Any

from benchmarks.measurement import RISINGPY, Measurement, Meter, latency_figures
from benchmarks.throughput import IN_PROCESS, running_server
from tests.connectors.kafka.topics import Topic
from tests.connectors.systems.kafka import KafkaBroker, broker, missing_reason

CASE = "kafka"
CONSUMER = "confluent-kafka's consumer"
PARTITIONS = 8  # noida-db answers a fetch with the whole partition, which must be less than 100 MB
COLUMNS = (
    "(auction BIGINT, bidder BIGINT, price DOUBLE PRECISION, channel VARCHAR, url VARCHAR, at TIMESTAMP, extra VARCHAR)"
)
BYTES = (240, 1_000)  # of a message
IDLE = "one idle source"


def measure(messages: int, samples: int, idle_seconds: float) -> Iterator[Measurement]:
    """The rates at each size of a message, the time until a message is visible, and the CPU of an idle source."""
    if (reason := missing_reason()) is not None:
        print(f"  {reason}")
        return
    with broker() as started:
        for size in BYTES:
            yield from _rates(started, size, messages)
        yield _freshness(started, samples)
        yield _idle(started, idle_seconds)


def message(size: int) -> str:
    """A JSON object of seven members and that many bytes."""
    members = {"auction": 1234567, "bidder": 7654321, "price": 99.25, "channel": "channel-1234", "url": ""}
    members |= {"at": "2026-01-01 00:00:00.123", "extra": "y" * 20}
    members["url"] = "x" * (size - len(json.dumps(members)))
    return json.dumps(members)


def _rates(started: KafkaBroker, size: int, messages: int) -> Iterator[Measurement]:
    topic, text = Topic(started, PARTITIONS), message(size)
    for partition in range(PARTITIONS):
        topic.write((text for _ in range(messages // PARTITIONS)), partition)
    variant = f"{size:,} bytes"
    yield Measurement(CASE, variant, CONSUMER, _consumed(topic, messages))
    with running_server(engine=IN_PROCESS) as server, server.connect() as connection:
        connection.execute(topic.source("s", COLUMNS))
        connection.execute("CREATE MATERIALIZED VIEW warm AS SELECT count(*) AS n FROM s")  # the server is just started
        with Meter(server.process.pid) as meter:
            began = time.perf_counter()
            connection.execute("CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM s")
            seconds = time.perf_counter() - began
        counted = connection.execute("SELECT n FROM v").fetchone()
    yield Measurement(CASE, variant, RISINGPY, _figures(messages, seconds, meter), counted == (messages,))


def _consumed(topic: Topic, messages: int) -> dict[str, float]:
    consumer = topic.consumer(PARTITIONS)
    with Meter(os.getpid()) as meter:
        began, left = time.perf_counter(), messages
        while left > 0:
            left -= len([found.value() for found in consumer.consume(10_000, 0.05)])
        seconds = time.perf_counter() - began
    consumer.close()
    return _figures(messages, seconds, meter)


def _figures(messages: int, seconds: float, meter: Meter) -> dict[str, float]:
    used = meter.usage
    rates = {"messages_per_second": messages / seconds, "messages_per_cpu_second": messages / used.cpu_seconds}
    return {**rates, **used.figures()}


def _freshness(started: KafkaBroker, samples: int) -> Measurement:
    """From the send of a message until a query of the view returns it."""
    topic = Topic(started)
    producer = topic.producer(linger_ms="0")
    seconds = []
    with running_server(engine=IN_PROCESS) as server, server.connect() as connection:
        connection.execute(topic.source("s", "(id BIGINT)"))
        connection.execute("CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM s")
        for number in range(samples):
            time.sleep(0.05)
            began = time.perf_counter()
            producer.produce(topic.name, value=f'{{"id": {number}}}')
            producer.flush(10)
            _await(connection, number + 1)
            seconds.append(time.perf_counter() - began)
    return Measurement(CASE, "message to visible", RISINGPY, latency_figures(seconds))


def _await(connection: Any, count: int) -> None:
    while connection.execute("SELECT n FROM v").fetchone() != (count,):
        time.sleep(0.002)


def _idle(started: KafkaBroker, idle_seconds: float) -> Measurement:
    topic = Topic(started)
    with running_server(engine=IN_PROCESS) as server, server.connect() as connection:
        connection.execute(topic.source("s", "(id BIGINT)"))
        connection.execute("CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM s")
        time.sleep(3)
        with Meter(server.process.pid) as meter:
            time.sleep(idle_seconds)
    share = meter.usage.cpu_seconds / meter.usage.wall_seconds
    return Measurement(CASE, IDLE, RISINGPY, {"cpu_cores": share, **meter.usage.figures()})
