"""A client that publishes, and waits for the broker to have it."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from typing import Any

import pytest

_SECONDS = 30.0


class Publisher:
    """Publishes below a topic of its own, `topic`, with QoS 1."""

    def __init__(self, url: str) -> None:
        library: Any = pytest.importorskip(
            "paho.mqtt.client", reason="paho-mqtt is not installed: make test-connectors installs it"
        )
        self.url = url
        self.topic = f"t{uuid.uuid4().hex[:8]}"
        host, port = url.removeprefix("tcp://").split(":")
        self._client = library.Client(library.CallbackAPIVersion.VERSION2, protocol=library.MQTTv5)
        self._client.max_queued_messages_set(0)
        self._client.connect(host, int(port))
        self._client.loop_start()

    def write(self, *payloads: str | bytes, below: str = "a", retain: bool = False, **properties: str) -> None:
        """Returns when the broker has acknowledged all."""
        from paho.mqtt.packettypes import PacketTypes
        from paho.mqtt.properties import Properties

        own = Properties(PacketTypes.PUBLISH)
        if properties:
            own.UserProperty = list(properties.items())
        sent = [
            self._client.publish(f"{self.topic}/{below}", payload, 1, retain, properties=own) for payload in payloads
        ]
        for each in sent:
            each.wait_for_publish(_SECONDS)
            assert each.is_published()

    def table(self, columns: str = "(id INT PRIMARY KEY, v INT)", include: str = "", **options: str) -> str:
        """CREATE TABLE t of all topics below this one."""
        chosen = {"connector": "mqtt", "url": self.url, "topic": f"{self.topic}/#", **options}
        shown = ", ".join(f"{name} = '{value}'" for name, value in chosen.items())
        return f"CREATE TABLE t {columns} {include} WITH ({shown}) FORMAT PLAIN ENCODE JSON"

    def close(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()


def until(condition: Callable[[], bool]) -> None:
    """Waits for what comes by itself."""
    deadline = time.monotonic() + _SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)
