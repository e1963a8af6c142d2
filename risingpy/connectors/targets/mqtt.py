"""Sinks to a topic of MQTT 5: `connector = 'mqtt'`."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping, Sequence

import paho.mqtt.client as mqtt
import pyarrow as pa
from paho.mqtt.enums import MQTTErrorCode
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from risingpy.connectors.formats.decoder import MessageFormat
from risingpy.connectors.mqtt_client import (
    MqttRefused,
    MqttUnavailable,
    connect,
    disconnect,
    mqtt_address,
    mqtt_client,
)
from risingpy.connectors.targets.encoders.changes import whole
from risingpy.connectors.targets.encoders.choice import append_only_encoder
from risingpy.connectors.targets.options import Options
from risingpy.connectors.targets.target import SinkSchema
from risingpy.errors import InvalidParameterValue, SqlError, TargetUnavailable

_OPTIONS = ("url", "topic", "qos", "retain", "username", "password")
_QOS = {"1": 1, "2": 2, "at_least_once": 1, "exactly_once": 2}
_ID = "risingpy-id"
_IN_FLIGHT = 1000
_ACK_SECONDS = 30.0


class MqttTarget:
    """A `SinkTarget` that publishes messages to a topic. At least once, since `qos` is 1 or 2.

    Each message has the user property `risingpy-id`, `<sink>:<epoch>:<number>`, the same whenever it is sent. An epoch
    is delivered when the broker has acknowledged all its messages. MQTT has no memory of epochs: after a crash the
    epoch that was under way is sent again.
    """

    keeps_epochs = False

    def __init__(
        self, options: Mapping[str, str], schema: SinkSchema, message_format: MessageFormat | None = None
    ) -> None:
        """Raises InvalidParameterValue or FeatureNotSupported; connects to nothing."""
        self._options = Options("the mqtt sink", options)
        self._options.refuse_unknown(_OPTIONS)
        self._address = mqtt_address(
            self._options.required("url"), self._options.text("username"), self._options.text("password")
        )
        self._topic = self._options.required("topic")
        self._qos = _qos(self._options)
        self._retain = self._options.flag("retain")
        self._encoder = append_only_encoder(message_format, schema, self._options.owner)
        self._name = schema.name
        self._client: mqtt.Client | None = None

    def check(self) -> None:
        self.open()
        self.close()

    def open(self) -> int | None:
        self.close()
        client = mqtt_client(self._address)
        client.max_inflight_messages_set(_IN_FLIGHT)
        try:
            connect(client, self._address)
        except MqttUnavailable as error:
            raise TargetUnavailable(f"MQTT: {self._options.masked(str(error))}") from None
        except MqttRefused as error:
            raise SqlError(f"MQTT: {error}", sqlstate="28000") from None
        self._client = client
        return None

    def deliver(self, epoch: int, changes: Sequence[pa.Table]) -> None:
        if not any(table.num_rows for table in changes):
            return
        if self._client is None or not self._client.is_connected():
            self.open()
        assert self._client is not None
        values = self._encoder.encode(whole(changes)).values
        waiting: deque[mqtt.MQTTMessageInfo] = deque()
        for number, value in enumerate(values.to_pylist()):
            properties = Properties(PacketTypes.PUBLISH)
            properties.UserProperty = (_ID, f"{self._name}:{epoch}:{number}")
            sent = self._client.publish(self._topic, value, self._qos, self._retain, properties)
            if sent.rc != MQTTErrorCode.MQTT_ERR_SUCCESS:
                self._fail(mqtt.error_string(sent.rc))
            waiting.append(sent)
            if len(waiting) >= _IN_FLIGHT:
                self._await(waiting.popleft())
        while waiting:
            self._await(waiting.popleft())

    def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            disconnect(client)

    def _await(self, sent: mqtt.MQTTMessageInfo) -> None:
        """Waits for the broker's acknowledgement, which never comes when the connection is lost."""
        deadline = time.monotonic() + _ACK_SECONDS
        while not sent.is_published():
            assert self._client is not None
            if not self._client.is_connected() or time.monotonic() > deadline:
                self._fail("the connection is lost")
            sent.wait_for_publish(0.1)

    def _fail(self, text: str) -> None:
        self.close()
        raise TargetUnavailable(f"MQTT: {text}")


def _qos(options: Options) -> int:
    """`qos`, by its number or by its name in RisingWave. 0, at_most_once, would lose rows."""
    if options.text("qos").lower() in ("0", "at_most_once"):
        raise InvalidParameterValue("a sink loses no rows: qos cannot be at_most_once", hint="qos = 'at_least_once'")
    return _QOS[options.one_of("qos", _QOS, "at_least_once")]
