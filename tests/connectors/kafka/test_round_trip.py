"""Kafka to a view and to Kafka again, with kills: what is there is the query over the source, and nothing twice."""

from __future__ import annotations

import json
import os
import random
import time
from pathlib import Path

import pytest

from risingpy.server_process import ServerProcess
from tests.connectors.kafka.test_kill import QUERY, SEED, Writer
from tests.connectors.kafka.topics import Topic
from tests.connectors.systems.kafka import KafkaBroker

ROUNDS = int(os.environ.get("RISINGPY_CRASH_ROUNDS", "4"))


def sink(name: str, query: str, topic: Topic, format_: str, type_: str) -> str:
    options = ", ".join(f"{key} = '{value}'" for key, value in topic.options().items())
    return f"CREATE SINK {name} {query} WITH ({options}, type = '{type_}') FORMAT {format_} ENCODE JSON"


def folded(messages: list[tuple[bytes | None, bytes | None]]) -> list[tuple[int, ...]]:
    """The rows that an upsert topic leaves."""
    rows: dict[bytes, tuple[int, ...]] = {}
    for key, value in messages:
        assert key is not None
        if value is None:
            del rows[key]
        else:
            rows[key] = tuple(int(cell) for cell in json.loads(value).values())
    return sorted(rows.values())


@pytest.mark.parametrize("on_spark", [False, pytest.param(True, marks=[pytest.mark.slow, pytest.mark.timeout(3600)])])
def test_kafka_to_kafka_through_kills(tmp_path: Path, kafka_broker: KafkaBroker, on_spark: bool) -> None:
    source, counts, passed = Topic(kafka_broker, 2), Topic(kafka_broker), Topic(kafka_broker)
    chance, writer, data_dir = random.Random(SEED), Writer(source), tmp_path / "data"
    for number in range(ROUNDS):
        server = ServerProcess(data_dir)
        try:
            if number == 0:
                with server.connect() as connection:
                    connection.execute(source.source("s", "(id BIGINT, v BIGINT)"))
                    connection.execute("CREATE MATERIALIZED VIEW m AS " + QUERY.format("s"))
                    connection.execute(sink("counts", "FROM m", counts, "UPSERT", "upsert"))
                    connection.execute(sink("passed", "AS SELECT id FROM s", passed, "PLAIN", "append-only"))
                writer.start()
            if on_spark:
                server.wait_for_spark()
            time.sleep(chance.uniform(0.2, 2.5))
        finally:
            server.kill()
    written = writer.stop()
    server = ServerProcess(data_dir)
    try:
        with server.connect() as connection:
            connection.execute("WAIT SINK counts; WAIT SINK passed")
    finally:
        server.stop()
    expected = [(g, len(range(g, written, 7)), sum(k % 100 for k in range(g, written, 7))) for g in range(7)]
    assert folded(counts.read_all()) == expected
    ids = [json.loads(value)["id"] for _, value in passed.read_all() if value is not None]
    assert len(ids) == written
    assert sorted(ids) == list(range(written))
