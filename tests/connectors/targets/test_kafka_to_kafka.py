"""docs/connectors/kafka-to-kafka.md from start to end: each block runs, and prints the lines that the page says.

Messages of different keys have no order among each other within an epoch."""

from __future__ import annotations

import re
import subprocess
import sys
import uuid
from pathlib import Path

from tests.connectors.systems.kafka import KafkaBroker
from tests.meta.conftest import Server

PAGE = Path(__file__).parents[3] / "docs" / "connectors" / "kafka-to-kafka.md"


def test_the_page_from_start_to_end(server: Server, kafka_broker: KafkaBroker) -> None:
    client, ending = server.client(), uuid.uuid4().hex[:8]
    shown, outputs = "", 0
    for language, written in re.findall(r"^```(\w*)\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE):
        block = written.replace("127.0.0.1:9092", kafka_broker.address)
        for topic in ("orders", "spent"):  # topics of this test's own, on the broker of the test run
            block = re.sub(
                rf"(topic = '|NewTopic\(\"|\)\[\"|produce\(\"|TopicPartition\(\"){topic}\b",
                rf"\g<1>{topic}{ending}",
                block,
            )
        match language:
            case "SQL":
                shown = "".join(" | ".join(map(str, row)) + "\n" for row in client.run(block))
            case "python":
                command = [sys.executable, "-c", block]
                ran = subprocess.run(command, capture_output=True, text=True, timeout=60)
                assert ran.returncode == 0, ran.stderr
                shown = ran.stdout
            case "text":
                assert sorted(shown.splitlines()) == sorted(written.splitlines())
                outputs += 1
            case other:
                assert other == "", "a block that nothing runs"
    assert outputs == 3
