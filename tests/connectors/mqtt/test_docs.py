"""The example of docs/connectors/mqtt.md, with a broker of its own."""

from __future__ import annotations

import re
from pathlib import Path

from tests.connectors.mqtt.publishing import Publisher, until
from tests.meta.conftest import Server

PAGE = Path(__file__).parents[3] / "docs" / "connectors" / "mqtt.md"


def test_the_example_of_the_page(server: Server, mqtt_url: str) -> None:
    (example,) = re.findall(r"^```SQL\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    publisher, client = Publisher(mqtt_url), server.client()
    client.run(example.replace("tcp://127.0.0.1:1883", mqtt_url).replace("'plant/", f"'{publisher.topic}/"))
    publisher.write('{"sensor": 1, "number": 1, "value": 2.5}', below="north/readings", unit="K")
    publisher.write('{"sensor": 1, "number": 2, "value": 3.5}', below="south/readings")
    publisher.write('{"sensor": 1, "number": 3, "value": 9}', below="south/other")
    until(lambda: client.run("FLUSH; SELECT count(*) FROM readings") == [(2,)])
    assert client.run("SELECT sensor, value FROM highest") == [(1, 3.5)]
    publisher.close()
