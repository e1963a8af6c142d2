"""`WITH (connector = 'mqtt', url, topic, qos, username, password, …)`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from risingpy.connectors.mqtt_client import MqttAddress, mqtt_address
from risingpy.errors import FeatureNotSupported, InvalidParameterValue

CLIENT = "client.id"
_KNOWN = ("url", "topic", "qos", "username", "password", "client_prefix", CLIENT)
_QOS = {"0": 0, "at_most_once": 0, "1": 1, "at_least_once": 1}
_EXACTLY_ONCE = ("2", "exactly_once")


@dataclass(frozen=True, slots=True)
class MqttOptions:
    """Where the messages are. `client` is empty before the source is created."""

    address: MqttAddress
    topic: str
    qos: int
    client: str
    client_prefix: str


def mqtt_options(options: Mapping[str, str]) -> MqttOptions:
    """Raises InvalidParameterValue if an option is missing, unknown or wrong, FeatureNotSupported for QoS 2."""
    for name in options:
        if name not in _KNOWN:
            hint = f"Options are {', '.join(sorted(_KNOWN))}."
            raise InvalidParameterValue(f'unknown option "{name}" of the mqtt connector', hint=hint)
    for name in ("url", "topic"):
        if not options.get(name):
            raise InvalidParameterValue(f"the mqtt connector needs the option {name}")
    qos = options.get("qos", "at_least_once").lower()
    if qos in _EXACTLY_ONCE:
        hint = (
            "qos = 'at_least_once': no message is lost, and one may come again. With a primary key it changes nothing."
        )
        raise FeatureNotSupported("qos = 'exactly_once' of an mqtt source loses messages when it is killed", hint=hint)
    if qos not in _QOS:
        hint = f"Values are {', '.join(sorted(_QOS))}."
        raise InvalidParameterValue(f'invalid value "{qos}" of the option qos', hint=hint)
    return MqttOptions(
        mqtt_address(options["url"], options.get("username", ""), options.get("password", "")),
        _topic(options["topic"]),
        _QOS[qos],
        options.get(CLIENT, ""),
        options.get("client_prefix", "risingpy"),
    )


def _topic(topic: str) -> str:
    """A topic or a filter: `+` is one level, `#` all levels that are left."""
    levels = topic.split("/")
    wrong = "#" in "".join(levels[:-1]) or any(len(level) > 1 and set(level) & set("+#") for level in levels)
    if wrong or "\0" in topic:
        hint = "A level is a name or + for any one; # as the last one is for all that follow."
        raise InvalidParameterValue(f'invalid topic "{topic}" of MQTT', hint=hint)
    return topic
