"""The example of docs/connectors/nats.md, with a server of its own."""

from __future__ import annotations

import re
from pathlib import Path

from tests.connectors.jetstream.streams import Stream
from tests.meta.conftest import Server

PAGE = Path(__file__).parents[3] / "docs" / "connectors" / "nats.md"


def test_the_example_of_the_page(server: Server, nats_url: str) -> None:
    (example,) = re.findall(r"^```SQL\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    stream, client = Stream(nats_url), server.client()
    stream.write(
        [b'{"sensor": 1, "value": 2.5}', b'{"sensor": 1, "value": 3.5}', b'{"sensor": 2}'], headers={"unit": "K"}
    )
    example = example.replace("nats://127.0.0.1:4222", nats_url).replace("'readings.>'", f"'{stream.name}.>'")
    client.run(example.replace("stream = 'readings'", f"stream = '{stream.name}'"))
    assert client.run("FLUSH; SELECT * FROM highest ORDER BY sensor") == [(1, 3.5), (2, None)]
