"""The example of docs/connectors/kafka.md, with a broker of its own."""

from __future__ import annotations

import re
from pathlib import Path

from tests.connectors.kafka.topics import Topic
from tests.connectors.systems.kafka import KafkaBroker
from tests.meta.conftest import Server

PAGE = Path(__file__).parents[3] / "docs" / "connectors" / "kafka.md"


def test_the_example_of_the_page(server: Server, kafka_broker: KafkaBroker) -> None:
    (example,) = re.findall(r"^```SQL\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    topic = Topic(kafka_broker)
    topic.write(['{"id": 1, "page": "/a", "at": "2026-01-01T00:00:00Z"}', '{"id": 2, "page": "/a"}', '{"page": "/b"}'])
    client = server.client()
    client.run(example.replace("127.0.0.1:9092", kafka_broker.address).replace("'clicks'", f"'{topic.name}'"))
    assert client.run("SELECT * FROM clicks_by_page ORDER BY page") == [("/a", 2), ("/b", 1)]
