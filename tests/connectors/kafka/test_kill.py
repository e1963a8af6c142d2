"""kill -9 of the server while a topic is written: each message counts once."""

from __future__ import annotations

import json
import os
import random
import threading
import time
from pathlib import Path

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


def test_kills_lose_and_repeat_nothing(tmp_path: Path, kafka_broker: KafkaBroker) -> None:
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
            writer.start()
        time.sleep(chance.uniform(0.2, 3.0))
        server.kill()
    written = writer.stop()
    server = ServerProcess(data_dir)
    with server.connect() as connection:
        connection.execute("FLUSH")
        connection.execute("CREATE MATERIALIZED VIEW after AS " + QUERY.format("s"))
        expected = [(g, len(range(g, written, 7)), sum(k % 100 for k in range(g, written, 7))) for g in range(7)]
        for view in ("v", "after"):
            assert connection.execute(f"SELECT * FROM {view} ORDER BY grp").fetchall() == expected
    assert server.stop() == 0
