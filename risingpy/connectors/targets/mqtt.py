"""Sinks to a topic of MQTT 5: `connector = 'mqtt'`."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

import paho.mqtt.client as mqtt
import pyarrow as pa
from paho.mqtt.enums import CallbackAPIVersion, MQTTErrorCode
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from risingpy.connectors.formats.decoder import MessageFormat
from risingpy.connectors.targets.encoders.changes import whole
from risingpy.connectors.targets.encoders.choice import append_only_encoder
from risingpy.connectors.targets.options import Options
from risingpy.connectors.targets.target import SinkSchema
from risingpy.errors import InvalidParameterValue, SqlError, TargetUnavailable

_OPTIONS = ("url", "topic", "qos", "retain", "username", "password")
_SCHEMES = {"tcp": 1883, "mqtt": 1883, "ssl": 8883, "mqtts": 8883}
_QOS = {"1": 1, "2": 2, "at_least_once": 1, "exactly_once": 2}
_ID = "risingpy-id"
_IN_FLIGHT = 1000
_CONNECT_SECONDS = 4.0
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
        url = urlsplit(self._options.required("url"))
        if url.scheme not in _SCHEMES or not url.hostname:
            raise InvalidParameterValue("the option url is no URL of tcp:// or ssl://")
        self._host, self._port = url.hostname, url.port or _SCHEMES[url.scheme]
        self._encrypted = _SCHEMES[url.scheme] == _SCHEMES["ssl"]
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
        client = mqtt.Client(CallbackAPIVersion.VERSION2, protocol=mqtt.MQTTv5, reconnect_on_failure=False)
        client.max_inflight_messages_set(_IN_FLIGHT)
        if self._options.text("username"):
            client.username_pw_set(self._options.text("username"), self._options.text("password") or None)
        if self._encrypted:
            client.tls_set()
        answered, answers = threading.Event(), deque[ReasonCode](maxlen=1)

        def on_connect(_: mqtt.Client, __: object, ___: object, reason: ReasonCode, ____: object) -> None:
            answers.append(reason)
            answered.set()

        client.on_connect = on_connect
        client.connect_timeout = _CONNECT_SECONDS / 2
        try:
            client.connect(self._host, self._port)
        except OSError as error:
            raise TargetUnavailable(f"MQTT: {self._options.masked(str(error))}") from None
        client.loop_start()
        self._client = client
        if not answered.wait(_CONNECT_SECONDS / 2):
            self.close()
            raise TargetUnavailable("MQTT: the broker does not answer")
        if answers[0].is_failure:
            self.close()
            raise SqlError(f"MQTT: the broker refuses the connection: {answers[0]}", sqlstate="28000")
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
            client.disconnect()
            client.loop_stop()

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
