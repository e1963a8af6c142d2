"""Connections to a broker of MQTT 5, for the source and the sink."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass
from urllib.parse import urlsplit

import paho.mqtt.client as mqtt
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from risingpy.errors import InvalidParameterValue

CONNECT_SECONDS = 4.0
_SCHEMES = {"tcp": 1883, "mqtt": 1883, "ssl": 8883, "mqtts": 8883}


class MqttUnavailable(Exception):
    """The broker does not answer, or not as it should."""


class MqttRefused(Exception):
    """The broker refuses the client: its name, its password or its rights."""


@dataclass(frozen=True, slots=True)
class MqttAddress:
    """Where a broker is, and who connects."""

    host: str
    port: int
    encrypted: bool
    username: str = ""
    password: str = ""


def mqtt_address(url: str, username: str = "", password: str = "") -> MqttAddress:
    """The address of `tcp://host:1883` or `ssl://host:8883`. Raises InvalidParameterValue."""
    found = urlsplit(url)
    if found.scheme not in _SCHEMES or not found.hostname:
        raise InvalidParameterValue("the option url is no URL of tcp:// or ssl://")
    encrypted = _SCHEMES[found.scheme] == _SCHEMES["ssl"]
    return MqttAddress(found.hostname, found.port or _SCHEMES[found.scheme], encrypted, username, password)


def mqtt_client(address: MqttAddress, client_id: str = "", *, manual_ack: bool = False) -> mqtt.Client:
    """A client that is not connected, and does not connect again by itself."""
    client = mqtt.Client(
        CallbackAPIVersion.VERSION2,
        client_id,
        protocol=mqtt.MQTTv5,
        reconnect_on_failure=False,
        manual_ack=manual_ack,
    )
    if address.username:
        client.username_pw_set(address.username, address.password or None)
    if address.encrypted:
        client.tls_set()
    client.connect_timeout = CONNECT_SECONDS / 2
    return client


def connect(
    client: mqtt.Client, address: MqttAddress, *, clean_start: bool = True, properties: Properties | None = None
) -> bool:
    """Connects, and starts the client's thread: whether the broker has kept the client's session.

    Raises MqttUnavailable or MqttRefused within `CONNECT_SECONDS`.
    """
    answered, answers = threading.Event(), deque[tuple[ReasonCode, bool]](maxlen=1)

    def on_connect(_: mqtt.Client, __: object, flags: mqtt.ConnectFlags, reason: ReasonCode, ___: object) -> None:
        answers.append((reason, flags.session_present))
        answered.set()

    client.on_connect = on_connect
    try:
        client.connect(address.host, address.port, clean_start=clean_start, properties=properties)
    except OSError as error:
        raise MqttUnavailable(str(error)) from None
    client.loop_start()
    if not answered.wait(CONNECT_SECONDS / 2):
        disconnect(client)
        raise MqttUnavailable("the broker does not answer")
    reason, is_kept = answers[0]
    if reason.is_failure:
        disconnect(client)
        raise MqttRefused(f"the broker refuses the connection: {reason}")
    return bool(is_kept)


def disconnect(client: mqtt.Client) -> None:
    """Ends the connection and the client's thread."""
    client.disconnect()
    client.loop_stop()
