"""Nexmark's events through Kafka into views and out again into topics, with lag and rates while they flow.

A view is judged twice when all events have come: it must equal DuckDB's answer over the messages that a plain consumer
reads of the topics, and the topic that its sink wrote must fold to its rows.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa

from risingpy.config import default_parallelism
from risingpy.connectors.generators.nexmark_tables import NexmarkTable
from risingpy.demo.kafka_broker import local_broker
from risingpy.demo.pipeline_queries import EVENTS, PARTITIONS, VIEWS, readers, writers
from risingpy.server_process import ServerProcess

if TYPE_CHECKING:
    from psycopg import Connection

SHOWN_EVERY_SECONDS = 1.0
PATIENCE_SECONDS = 120  # after the last event was due
ANSWER_SECONDS = 20
_WHOLE_PARTITIONS = {"receive.message.max.bytes": 1_000_000_000}  # what noida-db may answer a fetch with
_LAGS = """
    SELECT sum(CASE WHEN source_name = 'bids' AND job_name = 'progress' THEN lag END),
           sum(CASE WHEN source_name = 'generated_bids' THEN end_position END)
    FROM rw_catalog.rw_source_lag"""
_DELIVERED = """
    SELECT sum(CASE WHEN sink_name LIKE '%_out' THEN delivered_rows END),
           max(CASE WHEN sink_name LIKE '%_out' THEN lag_milliseconds END), max(failure)
    FROM rw_catalog.rw_sink_lag"""

Say = Callable[[str], None]
Text = bytes | None
Message = tuple[Text, Text]  # key and value


@dataclass(frozen=True, slots=True)
class PipelineState:
    """What is known of the pipeline at one time, in bids, changes and milliseconds.

    `age`: of the newest bid that the view has; `failure`: why a sink does not deliver.
    """

    at: float
    generated: int
    read: int
    waiting: int
    age: float | None
    delivered: int
    sink_lag: int
    failure: str | None


def run_pipeline(events: int, seconds: float, say: Say) -> bool:
    """Runs the pipeline on a broker and a server of its own, `events` spread over `seconds`; True if all is equal.

    The packages of `kafka_broker` must be there. Raises RuntimeError if the broker or the server does not start.
    """
    with tempfile.TemporaryDirectory(prefix="risingpy-demo-") as directory, local_broker() as broker:
        say(f"A Kafka broker listens on {broker.address}. Starting a server …")
        _create_topics(broker.address)
        server = ServerProcess(Path(directory) / "data", parallelism=default_parallelism())
        try:
            with server.connect() as connection:
                return _run(connection, broker.address, events, seconds, say)
        finally:
            # Where it takes too long it is killed: its data are deleted now, and the answer is known.
            with contextlib.suppress(subprocess.TimeoutExpired):
                server.stop()


def _run(connection: Connection[Any], address: str, events: int, seconds: float, say: Say) -> bool:
    gap = max(1, int(seconds * 1e9 / events))
    for statement in readers(address):
        connection.execute(statement)
    say(f"{events:,} events of Nexmark in {seconds:g} s: topics {' and '.join(EVENTS)} → views {' and '.join(VIEWS)} → "
        "topics of their names.")  # fmt: skip
    begin = time.time_ns() // 1_000_000
    for statement in writers(address, events=events, gap_nanoseconds=gap, begin_milliseconds=begin):
        connection.execute(statement)
    expected = NexmarkTable("bid", 0, gap).rows_of(events)
    if not _follow(connection, expected, seconds + PATIENCE_SECONDS, say):
        return False
    for name in VIEWS:
        connection.execute(f"WAIT SINK {name}_out")
    good = _check(connection, address, expected, say)
    say("What came out of Kafka is what the views hold, and what went in." if good else "SOMETHING IS WRONG.")
    return good


def _follow(connection: Connection[Any], expected: int, patience: float, say: Say) -> bool:
    """Shows the pipeline until the views have `expected` bids; False if they have not after `patience` seconds."""
    began = before = _state(connection)
    while True:
        time.sleep(SHOWN_EVERY_SECONDS)
        now = _state(connection)
        say(_line(began, before, now))
        if now.failure is not None:
            say(f"  a sink waits: {now.failure}")
        if now.read >= expected:
            say(f"All {now.read:,} bids are in the views, {now.read / (now.at - began.at):,.0f} a second.")
            return True
        if now.at - began.at > patience:
            say(f"Only {now.read:,} of {expected:,} bids have come within {patience:g} s.")
            return False
        before = now


def _state(connection: Connection[Any]) -> PipelineState:
    read, newest = _row(connection, "SELECT bids, newest FROM progress")
    waiting, generated = _row(connection, _LAGS)
    delivered, sink_lag, failure = _row(connection, _DELIVERED)
    age = None if newest is None else (datetime.now(UTC) - newest).total_seconds() * 1000
    return PipelineState(
        time.perf_counter(), int(generated or 0), int(read or 0), int(waiting or 0), age, int(delivered or 0),
        int(sink_lag or 0), failure,
    )  # fmt: skip


def _row(connection: Connection[Any], query: str) -> tuple[Any, ...]:
    """The one row of a query without GROUP BY."""
    row: tuple[Any, ...]
    (row,) = connection.execute(query).fetchall()
    return row


def _line(began: PipelineState, before: PipelineState, now: PipelineState) -> str:
    passed = now.at - before.at
    age = "" if now.age is None else f"newest {now.age:,.0f} ms old"
    return (
        f"{now.at - began.at:5.1f} s  {now.generated:>9,} bids made  {now.read:>9,} in views "
        f"{(now.read - before.read) / passed:>8,.0f}/s  lag {now.waiting:>6,}  {age:<20}  "
        f"out {now.delivered:>9,} changes "
        f"{(now.delivered - before.delivered) / passed:>8,.0f}/s, {now.sink_lag} ms after"
    )


def _check(connection: Connection[Any], address: str, expected: int, say: Say) -> bool:
    judge = duckdb.connect()
    for name, table in EVENTS.items():
        values = [value for _, value in _messages(address, name)]
        judge.register(f"{name}_messages", pa.table({"text": pa.array(values, pa.binary()).cast(pa.string())}))
        columns = ", ".join(f"(text ->> '{column}') :: {type_} AS {column}" for column, type_ in table.columns.items())
        judge.execute(f"CREATE TABLE {name} AS SELECT {columns} FROM {name}_messages")
    (written,) = judge.execute("SELECT count(*) FROM bids").fetchall()[0]
    good = bool(written == expected)
    say(f"  {'bids':<12} {written:>9,} messages, {'each event once' if good else f'NOT {expected:,}'}")
    for name, view in VIEWS.items():
        rows = _texts(connection.execute(f"SELECT * FROM {name}").fetchall())
        messages = list(_messages(address, name))
        answers = {"DuckDB": _texts(judge.execute(view.query).fetchall()), "its topic": _texts(_folded(messages))}
        for other, answer in answers.items():
            same = rows == answer
            good &= same
            say(f"  {name:<12} {len(rows):>9,} rows {'equal' if same else 'DIFFERENT from'} {other}")
        say(f"  {'':<12} {len(messages):>9,} changes written")
    return good


def _texts(rows: Sequence[Sequence[object]]) -> list[tuple[str, ...]]:
    """Rows in an order of their own. A number is a text in JSON or not, by its type: so all become texts."""
    return sorted(tuple(map(str, row)) for row in rows)


def _folded(messages: Sequence[Message]) -> list[tuple[object, ...]]:
    """The rows that an upsert topic leaves."""
    rows: dict[Text, tuple[object, ...]] = {}
    for key, value in messages:
        if value is None:
            rows.pop(key, None)
        else:
            rows[key] = tuple(json.loads(value).values())
    return list(rows.values())


def _create_topics(address: str) -> None:
    from confluent_kafka.admin import AdminClient, NewTopic  # noqa: PLC0415 - an optional package

    admin = AdminClient({"bootstrap.servers": address, "log_level": 0})
    for made in admin.create_topics([NewTopic(name, PARTITIONS, 1) for name in (*EVENTS, *VIEWS)]).values():
        made.result(ANSWER_SECONDS)


def _messages(address: str, topic: str) -> Iterator[Message]:
    """Every committed message, in the order of its partition. Only while nobody writes."""
    from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition  # noqa: PLC0415 - optional

    consumer = Consumer(
        {"bootstrap.servers": address, "group.id": "risingpy-demo", "enable.auto.commit": False, "log_level": 0,
         "isolation.level": "read_committed", "enable.partition.eof": True, **_WHOLE_PARTITIONS}
    )  # fmt: skip
    consumer.assign([TopicPartition(topic, partition, 0) for partition in range(PARTITIONS)])
    open_partitions = PARTITIONS
    try:
        while open_partitions:
            for message in consumer.consume(10_000, 0.1):
                error = message.error()
                if error is None:
                    yield message.key(), message.value()
                elif error.code() == KafkaError._PARTITION_EOF:
                    open_partitions -= 1
                else:
                    raise KafkaException(error)
    finally:
        consumer.close()
