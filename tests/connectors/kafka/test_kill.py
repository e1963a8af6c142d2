"""kill -9 of the server while a topic is written: each message counts once."""

from __future__ import annotations

import json
import os
import random
import threading
import time
from pathlib import Path

import pytest

from risingpy.server_process import ServerProcess
from tests.connectors.kafka.topics import Topic
from tests.connectors.systems.kafka import KafkaBroker

ROUNDS = int(os.environ.get("RISINGPY_CRASH_ROUNDS", "3"))
SEED = int(os.environ.get("RISINGPY_CRASH_SEED", "1"))
QUERY = "SELECT id % 7 AS grp, count(*) AS n, sum(v) AS total FROM {} GROUP BY 1"


class Writer(threading.Thread):
    """Writes numbered messages to both partitions until it is told to stop."""

    def __init__(self, topic: Topic) -> None:
        super().__init__(daemon=True)
        self._topic = topic
        self._stopping = threading.Event()
        self.written = 0

    def run(self) -> None:
        while not self._stopping.is_set():
            first = self.written
            rows = [json.dumps({"id": k, "v": k % 100}) for k in range(first, first + 200)]
            self._topic.write(rows, partition=(first // 200) % 2)
            self.written += len(rows)
            time.sleep(0.01)

    def stop(self) -> int:
        self._stopping.set()
        self.join(30)
        return self.written


@pytest.mark.parametrize("on_spark", [False, pytest.param(True, marks=[pytest.mark.slow, pytest.mark.timeout(1800)])])
def test_kills_lose_and_repeat_nothing(tmp_path: Path, kafka_broker: KafkaBroker, on_spark: bool) -> None:
    """A server that was just started runs its epochs itself; with `on_spark` Spark has them before each kill."""
    topic = Topic(kafka_broker, partitions=2)
    chance = random.Random(SEED)
    writer = Writer(topic)
    data_dir = tmp_path / "data"
    for number in range(ROUNDS):
        server = ServerProcess(data_dir)
        if number == 0:
            with server.connect() as connection:
                connection.execute(topic.source("s", "(id BIGINT, v BIGINT)"))
                connection.execute("CREATE MATERIALIZED VIEW v AS " + QUERY.format("s"))
                table = topic.source("t", "(id BIGINT, v BIGINT)").replace("CREATE SOURCE", "CREATE TABLE")
                connection.execute(table)
                connection.execute("CREATE MATERIALIZED VIEW of_t AS " + QUERY.format("t"))
                connection.execute(table.replace(" t (id BIGINT", " keyed (id BIGINT PRIMARY KEY"))
                connection.execute("CREATE MATERIALIZED VIEW of_keyed AS " + QUERY.format("keyed"))
            writer.start()
        if on_spark:
            server.wait_for_spark()
        time.sleep(chance.uniform(0.2, 3.0))
        server.kill()
    written = writer.stop()
    server = ServerProcess(data_dir)
    if on_spark:
        server.wait_for_spark()
    with server.connect() as connection:
        connection.execute("FLUSH")
        connection.execute("CREATE MATERIALIZED VIEW after AS " + QUERY.format("s"))
        expected = [(g, len(range(g, written, 7)), sum(k % 100 for k in range(g, written, 7))) for g in range(7)]
        for view in ("v", "after", "of_t", "of_keyed"):
            assert connection.execute(f"SELECT * FROM {view} ORDER BY grp").fetchall() == expected
        for table in ("t", "keyed"):
            assert connection.execute(QUERY.format(table) + " ORDER BY 1").fetchall() == expected
        assert connection.execute("SELECT count(DISTINCT _row_id) FROM t").fetchall() == [(written,)]
    assert server.stop() == 0
