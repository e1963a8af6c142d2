"""A subscription: messages as the client's thread gets them, in order, until somebody takes them."""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass

import paho.mqtt.client as mqtt
import pyarrow as pa
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode
from paho.mqtt.subscribeoptions import SubscribeOptions

from risingpy.connectors.mqtt.options import MqttOptions
from risingpy.connectors.mqtt_client import MqttRefused, MqttUnavailable, connect, disconnect, mqtt_client
from risingpy.connectors.seekable import MESSAGES
from risingpy.errors import SourceUnavailable

_FOREVER = 0xFFFFFFFF  # a session's expiry: the broker decides
_UNACKNOWLEDGED = 20_000  # how many messages the broker may have sent that were not acknowledged
_SUBSCRIBE_SECONDS = 4.0
TOPIC = pa.field("topic", pa.string())


@dataclass(frozen=True, slots=True)
class ReceivedMessage:
    """A message, and when it came."""

    message: mqtt.MQTTMessage
    at: int  # microseconds since 1970


class MqttSession:
    """The client's session at the broker, which keeps what comes while nobody is connected. Close it."""

    def __init__(self, options: MqttOptions) -> None:
        """Connects and subscribes. Raises SourceUnavailable."""
        self._received: deque[ReceivedMessage] = deque()
        self._came = threading.Condition()
        self._client = mqtt_client(options.address, options.client, manual_ack=True)
        self._client.on_message = self._on_message
        properties = Properties(PacketTypes.CONNECT)
        properties.SessionExpiryInterval = _FOREVER
        properties.ReceiveMaximum = _UNACKNOWLEDGED
        with mqtt_errors():
            self.is_kept = connect(self._client, options.address, clean_start=False, properties=properties)
        try:
            self._subscribe(options)
        except BaseException:
            self.close()
            raise

    @property
    def is_connected(self) -> bool:
        return bool(self._client.is_connected())

    def take(self, most: int, wait: float) -> list[ReceivedMessage]:
        """The next messages, of which there may be none after the wait."""
        with self._came:
            self._came.wait_for(lambda: self._received, wait)
            return [self._received.popleft() for _ in range(min(most, len(self._received)))]

    def acknowledge(self, taken: list[ReceivedMessage]) -> None:
        """Lets the broker forget messages."""
        for each in taken:
            if each.message.qos:
                self._client.ack(each.message.mid, each.message.qos)

    def close(self) -> None:
        disconnect(self._client)

    def _subscribe(self, options: MqttOptions) -> None:
        subscribed, answers = threading.Event(), deque[ReasonCode](maxlen=1)

        def on_subscribe(_: mqtt.Client, __: object, ___: int, reasons: list[ReasonCode], ____: object) -> None:
            answers.extend(reasons)
            subscribed.set()

        self._client.on_subscribe = on_subscribe
        of_new = SubscribeOptions.RETAIN_SEND_IF_NEW_SUB  # retained messages come with the first subscription only
        self._client.subscribe(options.topic, options=SubscribeOptions(qos=options.qos, retainHandling=of_new))
        if not subscribed.wait(_SUBSCRIBE_SECONDS):
            raise SourceUnavailable("MQTT: the broker does not answer")
        if answers[0].is_failure:
            raise SourceUnavailable(f'MQTT: the broker refuses topic "{options.topic}": {answers[0]}')

    def _on_message(self, _: mqtt.Client, __: object, message: mqtt.MQTTMessage) -> None:
        received = ReceivedMessage(message, time.time_ns() // 1000)
        with self._came:
            self._received.append(received)
            self._came.notify_all()


class mqtt_errors:
    """Within it, what a broker's answers raise is SourceUnavailable."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if isinstance(error, MqttUnavailable | MqttRefused):
            raise SourceUnavailable(f"MQTT: {error}") from None


def messages_of(taken: list[ReceivedMessage], first: int) -> pa.Table:
    """The messages as `seekable.MESSAGES`, numbered from `first`, and their topics."""
    payloads = [each.message.payload for each in taken]
    numbers = pa.array(range(first, first + len(taken)), pa.int64())
    times = pa.array([each.at for each in taken], pa.timestamp("us", tz="UTC"))
    headers = pa.array([_properties(each.message) for each in taken], MESSAGES.field("headers").type)
    columns = [pa.nulls(len(taken), pa.binary()), pa.array(payloads, pa.binary()), numbers, times, headers]
    topics = pa.array([each.message.topic for each in taken], pa.string())
    return pa.Table.from_arrays([*columns, topics], schema=MESSAGES.append(TOPIC))


def _properties(message: mqtt.MQTTMessage) -> list[dict[str, object]] | None:
    found = getattr(message.properties, "UserProperty", None)
    return None if found is None else [{"key": name, "value": value.encode()} for name, value in found]
